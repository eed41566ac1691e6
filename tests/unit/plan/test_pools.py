"""What `any(…)` means: one phone, and those of its kind that stand by."""

from __future__ import annotations

import dataclasses

import pytest

from android_runner.facts import PhoneFacts
from orchestrator.errors import UsageError
from orchestrator.plan.pools import among, pools_of, spares
from orchestrator.plan.select import Candidate

FACTS = PhoneFacts(
    identity="", device_model="Pixel 8", manufacturer="m", fingerprint="f", soc="s", api_level=34, abis=("arm64-v8a",),
    exec_abis=("arm64-v8a",), cores=8, max_freq_khz=(), memory_bytes=0, rooted=False, virtual=False, confinement="",
    shell="mksh", tools=(), launcher="", profile="", free_bytes=0,
)  # fmt: skip


def phone(identity: str, model: str = "Pixel 8", **facts: object) -> Candidate:
    own = dataclasses.replace(FACTS, identity=identity, device_model=model, **facts)
    return Candidate(serial=f"usb-{identity}", label=identity, facts=own)


def virtual(number: int) -> Candidate:
    return phone(f"V{number}", virtual=True, profile="pixel-8")


LAB = [phone("R1", "Redmi"), phone("P1"), phone("P2"), phone("P3", api_level=33), phone("R2", "Redmi", api_level=29)]


@pytest.mark.parametrize(
    ("options", "pools", "superfluous"),
    [
        (["all"], [], set()),
        (["any(all)"], [("P1", "P2")], {"R1", "P3", "R2"}),
        (["any(api=29)"], [("R2",)], {"R1", "P1", "P2", "P3"}),
        (["any(all)", "P1"], [("R1",)], {"P2", "P3", "R2"}),
        (["any(all)", "any(all)"], [("P1", "P2"), ("R1",)], {"P3", "R2"}),
        (["any(all,!P1)", "R1"], [("P2",)], {"P1", "P3", "R2"}),
    ],
)
def test_any_means_one_kind_the_one_with_the_most_phones(
    options: list[str], pools: list[tuple[str, ...]], superfluous: set[str]
) -> None:
    found = pools_of(options, LAB)
    assert list(found.pools) == pools
    assert found.superfluous == superfluous


def test_of_virtual_phones_the_first_are_taken_and_each_is_asked_for_once() -> None:
    lab = [virtual(number) for number in range(1, 4)]
    assert pools_of(["any(virtual:pixel-8x3)"], lab).pools == (("V1", "V2", "V3"),)
    assert pools_of(["any(virtual:pixel-8x2)", "virtual:pixel-8"], lab).pools == (("V2", "V3"),)
    assert pools_of(["virtual:pixel-8x3"], lab).superfluous == frozenset()


def test_an_any_for_which_nothing_is_left_is_said() -> None:
    with pytest.raises(UsageError, match=r"any\(P1\): no usable phone is left"):
        pools_of(["P1", "any(P1)"], LAB)


def test_who_turns_out_unable_leaves_its_pool_and_the_next_is_asked() -> None:
    pools = among((("P1", "P2"), ("R1",)), {"P2"})
    assert pools == (("P2",),)
    assert spares([("P1", "P2", "P3"), ("R1",)]) == {"P2", "P3"}
