"""Pure: the shell text that reads and sets many knobs at once, and what it answers.

A host may die while the phone still carries out its last command. So whoever changes knobs holds a lock on the phone
while it does, and a token stands there: who comes later puts its own in place, under the lock, and from then on nothing
of the dead one's is carried out. The lock is a link that names its shell: one that died without letting go is passed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from android_runner.block import ORCH_DIR
from android_runner.device import quoted
from android_runner.preparing.knobs import AS_ROOT, CPUFREQ, Knob, change_command, read_command, value_of
from android_runner.preparing.steps import TASK_PROFILE

OVERTAKEN = 97
"""Exit code of a command whose token no longer stands."""
FOLDER = ORCH_DIR / "preparing"
_LOCK_TRIES = 150
"""Tenths of a second to wait for a lock whose holder lives; longer than any settings command takes."""


def _locked(body: str) -> str:
    folder = quoted(FOLDER)
    return (
        f"trap '' HUP; d={folder}; mkdir -p \"$d\" || exit 1; n=0; "
        'until ln -s $$ "$d/lock" 2>/dev/null; do p=$(readlink "$d/lock"); n=$((n + 1)); '
        f'if [ ! -d "/proc/$p" ] || [ $n -gt {_LOCK_TRIES} ]; then rm -f "$d/lock"; else sleep 0.1; fi; done; '
        f'{body}; rm -f "$d/lock"'
    )


def reading_command(nonce: str, token: str, knobs: Sequence[Knob]) -> str:
    """Put our token in place, then print every knob's value; `answers` reads it."""
    begin = f'echo {token} >"$d/token.$$" && mv -f "$d/token.$$" "$d/token" || {{ rm -f "$d/lock"; exit 1; }}'
    return f"{_locked(begin)}; {_reads(nonce, knobs)}"


def changing_command(nonce: str, token: str, targets: Sequence[tuple[Knob, str]]) -> str:
    """Set knobs in this order, then print what each reads now; does nothing when our token no longer stands."""
    changes = "; ".join(
        f'e=$({{ {change_command(knob, value)}; }} 2>&1); echo "{nonce} c {index} $? $e"'
        for index, (knob, value) in enumerate(targets)
    )
    check = f't=; read -r t <"$d/token"; [ "$t" = {token} ] || {{ rm -f "$d/lock"; exit {OVERTAKEN}; }}'
    return f"{AS_ROOT}{_locked(f'{check}; {changes}')}; {_reads(nonce, [knob for knob, _ in targets])}"


def reread_command(nonce: str, knobs: Sequence[Knob]) -> str:
    """Print every knob's value."""
    return _reads(nonce, knobs)


def _reads(nonce: str, knobs: Sequence[Knob]) -> str:
    reads = [
        f'v=$({read_command(knob)} 2>/dev/null); echo "{nonce} v {index} $? $v"' for index, knob in enumerate(knobs)
    ]
    return "; ".join([*reads, f'echo "{nonce} end 0 0 "'])


def values_in(text: str, nonce: str, knobs: Sequence[Knob]) -> dict[Knob, str | None] | None:
    """The knobs' values in an answer; None when the answer is not whole."""
    found = answers(text, nonce)
    if ("end", 0) not in found:
        return None
    return {knob: value_of(knob, *found.get(("v", index), (1, ""))) for index, knob in enumerate(knobs)}


def complaints_in(text: str, nonce: str, count: int) -> list[str]:
    """What the phone said while each of `count` knobs was set; empty where it said nothing."""
    found = answers(text, nonce)
    return [found.get(("c", index), (0, ""))[1].strip() for index in range(count)]


def answers(text: str, nonce: str) -> dict[tuple[str, int], tuple[int, str]]:
    """(letter, index) -> exit code and text, of lines that begin with our nonce; further lines belong to the text."""
    found: dict[tuple[str, int], tuple[int, str]] = {}
    for piece in ("\n" + text).split(f"\n{nonce} ")[1:]:
        match = re.match(r"([a-z]{1,3}) ([0-9]{1,4}) ([0-9]{1,3}) (.*)", piece, re.S)
        if match:
            found.setdefault((match[1], int(match[2])), (int(match[3]), match[4]))
    return found


ROOT_COMMAND = f"{AS_ROOT}as_root 'id -u'"
"""Prints 0 where we get root."""


def clocks_command() -> str:
    """What `steps.fixed_clocks` reads."""
    folder = quoted(CPUFREQ)
    return f"grep -sH '' {folder}/policy*/cpuinfo_max_freq {folder}/policy*/scaling_available_frequencies; true"


def profile_command() -> str:
    """Give this shell the task profile, and print where it then is: exit code 127 without the tool."""
    return (
        "command -v settaskprofile >/dev/null || exit 127; "
        f"settaskprofile $$ {TASK_PROFILE} 2>&1; cat /proc/$$/cgroup 2>/dev/null"
    )


def profile_applied(text: str) -> bool:
    """Whether `settaskprofile` says that it did it (AOSP `libprocessgroup/tools/settaskprofile.cpp`)."""
    return f"Profile {TASK_PROFILE} is applied successfully" in text
