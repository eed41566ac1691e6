"""How long a warm phone needs."""

from __future__ import annotations

import pytest

from android_runner.cooling import Cooling, cooling_c_per_s, cooling_words


def wait(from_c: float, to_c: float, waited_s: float) -> Cooling:
    return Cooling(from_c=from_c, to_c=to_c, waited_s=waited_s)


def test_the_median_of_its_waits_counts() -> None:
    waits = [wait(40.0, 37.0, 300.0), wait(41.0, 37.0, 200.0), wait(39.0, 37.0, 400.0)]
    assert cooling_c_per_s(waits) == pytest.approx(0.01)


@pytest.mark.parametrize("waits", [[], [wait(37.2, 37.0, 3.0)], [wait(37.0, 37.4, 600.0)]])
def test_a_short_wait_and_one_that_did_not_cool_it_say_nothing(waits: list[Cooling]) -> None:
    assert cooling_c_per_s(waits) is None


@pytest.mark.parametrize(
    ("now_c", "limit_c", "c_per_s", "words"),
    [
        (41.0, 38.0, 0.0125, "cooling, ~4 min"),
        (38.01, 38.0, 0.01, "cooling, ~1 min"),
        (41.0, 38.0, None, "cooling"),
        (38.0, 38.0, 0.01, ""),
        (None, 38.0, 0.01, ""),
        (41.0, None, 0.01, ""),
    ],
)
def test_in_words(now_c: float | None, limit_c: float | None, c_per_s: float | None, words: str) -> None:
    assert cooling_words(now_c, limit_c, c_per_s) == words
