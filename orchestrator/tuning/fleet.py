"""Pure: one setting for many phones: the one whose worst price on any of them is the least."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a setting costs a phone: its `figure` there (seconds), the best one and whose, `over` as a share (0.05: 5 %
    slower than the best)."""

    phone: str
    figure: float
    best: str
    best_figure: float
    over: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChoice:
    """The setting for all phones, what it costs each (dearest first), and what it costs at worst.

    `left_out`: settings that were not measured on all phones, each with those it lacks; they can't be chosen.
    """

    setting: str
    worst: float
    prices: tuple[Price, ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]

    def holds(self, within: float) -> bool:
        """Whether it is nowhere more than this share off the best."""
        return self.worst <= within


def fleet_choice(figures: Mapping[str, Mapping[str, float]]) -> FleetChoice | None:
    """The choice from figures above 0, less is better, by phone and setting; None where no setting has one on all.

    The best of a phone is that of all its settings, also of those that other phones lack. Of settings that are equal at
    worst the one with the least mean price is chosen, then the first as they stand.
    """
    settings = list(dict.fromkeys(name for own in figures.values() for name in own))
    lacking = {name: tuple(phone for phone, own in figures.items() if name not in own) for name in settings}
    best = {phone: min(own, key=lambda name: own[name]) for phone, own in figures.items() if own}
    whole = [name for name in settings if not lacking[name]]
    if not whole:
        return None

    def price_of(name: str) -> tuple[float, float]:
        over = [own[name] / own[best[phone]] - 1.0 for phone, own in figures.items()]
        return max(over), math.fsum(over)

    chosen = min(whole, key=price_of)
    prices = [
        Price(
            phone=phone,
            figure=own[chosen],
            best=best[phone],
            best_figure=own[best[phone]],
            over=own[chosen] / own[best[phone]] - 1.0,
        )
        for phone, own in figures.items()
    ]
    return FleetChoice(
        setting=chosen,
        worst=price_of(chosen)[0],
        prices=tuple(sorted(prices, key=lambda one: -one.over)),
        left_out=tuple((name, lacking[name]) for name in settings if lacking[name]),
    )
