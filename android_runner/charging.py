"""Holding a battery at a level where the phone itself can: asked for in shell text, and pure: what came of it.

Kernels have one file for this (`charge_control_end_threshold`: Documentation/ABI/testing/sysfs-class-power), Pixels
another (`charge_stop_level` of their google,charger driver). Both need root to write. It outlasts our run, not a boot.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from enum import StrEnum

from android_runner.deadline import Deadline
from android_runner.device import Device, PhonePath, quoted
from android_runner.facts import whole_number
from android_runner.preparing.knobs import AS_ROOT

SWITCHES = (
    "/sys/class/power_supply/battery/charge_control_end_threshold",
    "/sys/devices/platform/google,charger/charge_stop_level",
)
LEVELS = range(40, 101)
"""A phone that is held lower may go out under load."""
_MAX_ANSWER_BYTES = 4096


class Charge(StrEnum):
    """What came of it."""

    HELD = "held"
    REFUSED = "refused"
    NOT_OFFERED = "not offered"


@dataclass(frozen=True, slots=True)
class Held:
    """`level` is where the phone now stops charging, in per cent; None where it does not tell."""

    charge: Charge
    level: int | None = None

    def words(self, wanted: int) -> str:
        """For people, with what to do."""
        match self.charge:
            case Charge.HELD:
                return f"battery held at {wanted} %"
            case Charge.REFUSED:
                return f"battery can't be held at {wanted} %: its switch takes no value from us (root?)"
            case Charge.NOT_OFFERED:
                return f"battery can't be held at {wanted} %: this phone has no switch for it; look in its settings"


def hold_command(level: int, marker: str) -> str:
    """Shell text that sets the first switch that is there, unless it stands so, and tells what stands there then."""
    if level not in LEVELS:
        raise ValueError(f"{level} is no level to hold a battery at")
    parts = [f"{AS_ROOT}", 'hold() { [ -e "$1" ] || return 1;']
    parts += [f'v=$(cat "$1" 2>/dev/null); [ "$v" = {level} ] || as_root "echo {level} >\\"$1\\"" >/dev/null 2>&1;']
    parts += [f'echo "{marker}$(cat "$1" 2>/dev/null)"; }};']
    tries = " || ".join(f"hold {quoted(PhonePath(path))}" for path in SWITCHES)
    return f"{' '.join(parts)} {tries}; echo {marker}end"


def held_from(answer: str, marker: str, level: int) -> Held:
    """What the answer says."""
    said = re.findall(rf"^{re.escape(marker)}(\S*)$", answer, re.M)
    if not said or said[0] == "end":
        return Held(Charge.NOT_OFFERED)
    now = whole_number(said[0], highest=100)
    return Held(Charge.HELD if now == level else Charge.REFUSED, now)


def hold_level(device: Device, level: int, *, deadline: Deadline) -> Held:
    """Let the phone stop charging at a level. Raises LinkError, and ValueError for a level not in `LEVELS`."""
    marker = f"charge-{secrets.token_hex(8)}:"
    result = device.shell(hold_command(level, marker), deadline=deadline, max_output_bytes=_MAX_ANSWER_BYTES)
    return held_from(result.text(), marker, level)
