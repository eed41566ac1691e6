"""Pure: who else computes on a phone, as two snapshots tell: the load, and others' shells."""

from __future__ import annotations

from android_runner.facts import Vitals


def others_computed(before: Vitals, after: Vitals) -> tuple[str, float, float] | None:
    """Who else's shells were there before or after, the seconds that they computed meanwhile, and the seconds that
    passed; None where there were none, or where that is not offered."""
    if before.shells is None or after.shells is None or not (names := sorted({*before.shells, *after.shells})):
        return None
    spent_s = sum(max(0.0, after.shells[name] - before.shells.get(name, 0.0)) for name in after.shells)
    passed_s = max(0.0, (after.uptime_s or 0.0) - (before.uptime_s or 0.0))
    return ", ".join(name.partition("@")[0] for name in names), spent_s, passed_s


def load_by_others(vitals: Vitals) -> float | None:
    """How many others want to compute; None when not offered.

    The lower of two: what was runnable in this very moment beside who asks, and the mean of the last minute. Our own
    last trial is still in the mean, and a moment may hit a short-lived process: only both together mean a load.
    """
    now = max(0, vitals.running - 1) if vitals.running is not None else None
    known = [float(load) for load in (now, vitals.load_1m) if load is not None]
    return min(known) if known else None
