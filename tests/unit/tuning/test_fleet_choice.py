"""One setting for all phones, against brute force."""

from __future__ import annotations

import random

import pytest

from orchestrator.tuning.fleet import fleet_choice

TABLES = 1500


def brute_force(figures: dict[str, dict[str, float]]) -> tuple[str, float] | None:
    """Every setting on every phone, as one would do it by hand."""
    names: list[str] = []
    for own in figures.values():
        names += [name for name in own if name not in names]
    found: tuple[float, float, int, str] | None = None
    for place, name in enumerate(names):
        worst, total, there = 0.0, 0.0, True
        for own in figures.values():
            if name not in own:
                there = False
                break
            least = sorted(own.values())[0]
            worst = max(worst, own[name] / least - 1.0)
            total += own[name] / least - 1.0
        if there and (found is None or (worst, round(total, 9), place) < found[:3]):
            found = (worst, round(total, 9), place, name)
    return None if found is None else (found[3], found[0])


def table(dice: random.Random) -> dict[str, dict[str, float]]:
    phones, settings = dice.randint(1, 7), dice.randint(1, 9)
    lacks = dice.choice((0.0, 0.0, 0.1, 0.5))
    whole = dice.random() < 0.3  # few different figures, so that there are ties

    def figure() -> float:
        return float(dice.randint(1, 3)) if whole else dice.lognormvariate(0.0, 0.3)

    return {f"phone{p}": {f"s{s}": figure() for s in range(settings) if dice.random() >= lacks} for p in range(phones)}


def test_the_choice_is_that_of_brute_force() -> None:
    dice = random.Random(20)
    none = 0
    for _ in range(TABLES):
        figures = table(dice)
        found, wanted = fleet_choice(figures), brute_force(figures)
        if wanted is None or found is None:
            assert (wanted, found) == (None, None)
            none += 1
            continue
        assert (found.setting, found.worst) == wanted
        assert found.worst == max(price.over for price in found.prices)
        assert [price.over for price in found.prices] == sorted((price.over for price in found.prices), reverse=True)
    assert 0 < none < TABLES / 2


def test_what_it_costs_each_phone_and_who_lacks_what() -> None:
    found = fleet_choice({"a": {"x": 1.0, "y": 1.1, "z": 9.0}, "b": {"x": 2.4, "y": 2.0}, "c": {"x": 3.0, "y": 3.0}})
    assert found is not None
    assert found.setting == "y"
    assert [(price.phone, price.best, round(price.over, 3)) for price in found.prices] == [
        ("a", "x", 0.1),
        ("b", "y", 0.0),
        ("c", "x", 0.0),
    ]
    assert found.left_out == (("z", ("b", "c")),)
    assert found.holds(0.11)
    assert not found.holds(0.05)


@pytest.mark.parametrize("figures", [{}, {"a": {}}, {"a": {"x": 1.0}, "b": {}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}])
def test_no_setting_that_all_phones_have(figures: dict[str, dict[str, float]]) -> None:
    assert fleet_choice(figures) is None
