"""Pure: the things of a phone that are set for measuring. Each can be read, set, and read again, by shell text.

A value is one printable line. Of a setting `UNSET` ("null", as `settings get` says it) means that there is none.
Sources: AOSP `frameworks/base` (SettingsService, PowerManagerService, DeviceIdleController, ConnectivityService'
s shell commands) and the kernel's `Documentation/admin-guide/pm/cpufreq.rst`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum

from android_runner.device import PhonePath, quoted

UNSET = "null"
AWAKE, ASLEEP = "Awake", "Asleep"
MAX_VALUE = 200
AS_ROOT = 'as_root() { if [ "$(id -u)" = 0 ]; then eval "$1"; else echo "$1" | su; fi; }; '
"""Shell text that the commands below need: by stdin, which every `su` takes (AOSP's, Magisk's)."""
_WAKEUP, _SLEEP = 224, 223  # KeyEvent.KEYCODE_WAKEUP, KEYCODE_SLEEP


class Kind(StrEnum):
    """What is behind a knob."""

    SETTING = "setting"
    AIRPLANE = "airplane"
    AIRPLANE_AS_ROOT = "airplane-as-root"
    DOZE = "doze"
    WAKEFULNESS = "wakefulness"
    CLOCK = "clock"


_WHERE = {
    Kind.SETTING: r"(?:global|system|secure) [a-z0-9_]{1,80}",
    Kind.AIRPLANE: r"mode",
    Kind.AIRPLANE_AS_ROOT: r"mode",
    Kind.DOZE: r"deep|light",
    Kind.WAKEFULNESS: r"screen",
    Kind.CLOCK: r"policy[0-9]{1,4}/scaling_(?:min|max)_freq",
}
CPUFREQ = PhonePath("/sys/devices/system/cpu/cpufreq")


@dataclass(frozen=True, slots=True)
class Knob:
    """One thing that can be set: `where` is a setting's namespace and key, doze's depth, a clock's file.

    Raises ValueError for a `where` that its kind does not have.
    """

    kind: Kind
    where: str

    def __post_init__(self) -> None:
        if not re.fullmatch(_WHERE[self.kind], self.where):
            raise ValueError(f"not a {self.kind}: {self.where!r}")

    def text(self) -> str:
        """`setting global airplane_mode_on`: how it is kept."""
        return f"{self.kind} {self.where}"

    @property
    def name(self) -> str:
        """`airplane_mode_on`, `deep doze`, `policy0 min`: how it is named to people."""
        match self.kind:
            case Kind.SETTING:
                return self.where.partition(" ")[2]
            case Kind.CLOCK:
                return self.where.removesuffix("_freq").replace("/scaling_", " ")
            case Kind.DOZE:
                return f"{self.where} doze"
            case Kind.WAKEFULNESS:
                return "screen"
            case _:
                return "airplane mode"


def knob_from_text(text: str) -> Knob:
    """Back from `Knob.text`. Raises ValueError for anything else."""
    kind, _, where = text.partition(" ")
    return Knob(Kind(kind), where)


def setting(namespace: str, key: str) -> Knob:
    """A setting as `settings get NAMESPACE KEY` has it."""
    return Knob(Kind.SETTING, f"{namespace} {key}")


def read_command(knob: Knob) -> str:
    """Shell text that prints the value, or fails."""
    match knob.kind:
        case Kind.SETTING:
            return f"settings get {knob.where}"
        case Kind.AIRPLANE:
            return "cmd connectivity airplane-mode"
        case Kind.AIRPLANE_AS_ROOT:
            return "settings get global airplane_mode_on"
        case Kind.DOZE:
            return f"dumpsys deviceidle enabled {knob.where}"
        case Kind.WAKEFULNESS:
            return "dumpsys power | grep -o 'mWakefulness=[A-Za-z]*'"
        case Kind.CLOCK:
            return f"cat {_clock(knob)}"


def value_of(knob: Knob, exit_code: int, text: str) -> str | None:
    """What `read_command` told; None where the phone has no such thing, or says what we can't put back."""
    value = text.strip()
    if exit_code != 0 or len(value) > MAX_VALUE or not value.isprintable():
        return None
    match knob.kind:
        case Kind.AIRPLANE:
            return value if value in ("enabled", "disabled") else None
        case Kind.AIRPLANE_AS_ROOT:
            return value if value in ("0", "1", UNSET) else None
        case Kind.DOZE:
            return value if value in ("0", "1") else None
        case Kind.WAKEFULNESS:
            word = value.removeprefix("mWakefulness=")
            return (AWAKE if word == AWAKE else ASLEEP) if word else None
        case Kind.CLOCK:
            return value if re.fullmatch(r"[0-9]{1,9}", value) else None
        case Kind.SETTING:
            return value


def change_command(knob: Knob, value: str) -> str:
    """Shell text that sets the value, one that `value_of` gave or that a step wants."""
    match knob.kind:
        case Kind.SETTING:
            return f"settings delete {knob.where}" if value == UNSET else f"settings put {knob.where} {_word(value)}"
        case Kind.AIRPLANE:
            return f"cmd connectivity airplane-mode {'enable' if value == 'enabled' else 'disable'}"
        case Kind.AIRPLANE_AS_ROOT:
            put = change_command(setting("global", "airplane_mode_on"), value)
            state = "true" if value == "1" else "false"
            # Only the system may send it since Android 7.
            cast = f"am broadcast -a android.intent.action.AIRPLANE_MODE --ez state {state}"
            return f"as_root {shlex.quote(f'{put} && {cast}')}"
        case Kind.DOZE:
            return f"dumpsys deviceidle {'enable' if value == '1' else 'disable'} {knob.where}"
        case Kind.WAKEFULNESS:
            return f"input keyevent {_WAKEUP if value == AWAKE else _SLEEP}"
        case Kind.CLOCK:
            return f"as_root {shlex.quote(f'echo {int(value)} >{_clock(knob)}')}"


def same(one: str | None, other: str | None) -> bool:
    """Whether two values mean the same: `0` and `0.0` do."""
    if one is None or other is None:
        return False
    return one == other or (_number(one) is not None and _number(one) == _number(other))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", text) else None


def _word(value: str) -> str:
    return shlex.quote(value)


def _clock(knob: Knob) -> str:
    return quoted(PhonePath(f"{CPUFREQ}/{knob.where}"))
