"""Pure: the shell commands that start, probe and end a block's processes, and what they answer.

A process is known by pid and start time (field 22 of /proc/PID/stat) within one boot, so that a number that was given
away again is never taken for ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from android_runner.block import ORCH_DIR, Block
from android_runner.device import PhonePath, quoted

BLOCKS = ORCH_DIR / "blocks"

_BOOT = (
    'boot=; for f in "${ORCH_ROOT-}/proc/sys/kernel/random/boot_id" /proc/sys/kernel/random/boot_id; do '
    '[ -z "$boot" ] && [ -r "$f" ] && read -r boot <"$f"; done; '
)
_RUNS = (
    'runs() { [ -n "$2" ] && [ -r "/proc/$1/stat" ] || return 1; line=; '
    'while read -r piece; do line="$line$piece "; done <"/proc/$1/stat"; '
    'set -- "$2" ${line##*) }; [ "$1" = "${21-}" ] && [ "$2" != Z ]; }; '
)
_END = (
    'end() { runs "$2" "$3" || return 0; kill -KILL "-$2" || kill -KILL "$2"; echo "$1 $2 ${d##*/}"; }; '
    'for d in "$base"/$only; do x= y= b= w= v= p= s=; '
    '[ -r "$d/pid" ] && read -r x y b w v <"$d/pid"; [ "$b" = "$boot" ] || continue; '
    'end script "$x" "$y"; end watchdog "$w" "$v"; '
    '[ -r "$d/current" ] && read -r p s x <"$d/current" && end trial "$p" "$s"; done; '
)
_END_BY_FOLDER = (
    'for turn in 1 2; do found=; for q in /proc/[0-9]*; do [ "${q#/proc/}" != $$ ] || continue; '
    'cd -P "$q/cwd" || continue; r=$(pwd -P)/; cd /; case $r in "$base"/$only/*) '
    'r=${r#"$base"/}; kill -KILL "${q#/proc/}" && found=1 && echo "process ${q#/proc/} ${r%%/*}" ;; esac; done; '
    '[ -n "$found" ] || break; sleep 1; done; '
)
_ENDED = re.compile(r"(script|watchdog|trial|process) ([0-9]{1,10}) ([a-z0-9][a-z0-9-]{0,63})")
_PROBED = re.compile(r"boot ([0-9a-f-]{36}) (running|gone)")


@dataclass(frozen=True, slots=True)
class Probe:
    """What a phone says of a block: its boot now, and whether the block's script lives."""

    boot_id: str
    running: bool


def start_command(block: Block, script: PhonePath) -> str:
    """Start the script detached; its answer is a file, `started` or `refused`, in the block's folder."""
    folder = quoted(block.directory)
    # Groups and uclamp of a task are its children's, too.
    profile = f"settaskprofile $$ {quoted(block.task_profile)} >/dev/null 2>&1; " if block.task_profile else ""
    return (
        f"cd {folder} || exit 1; rm -f started refused stop kill; {profile}"
        f"setsid sh {quoted(script)} {folder} {block.epoch} </dev/null >/dev/null 2>>log &"
    )


def probe_command(block: Block) -> str:
    """Ask for boot id and whether the script lives; `read_probe` reads the answer. Starts no process but the shell."""
    pid = quoted(block.directory / "pid")
    return (
        f"{_BOOT}{_RUNS}x= y= b=; [ -r {pid} ] && read -r x y b z <{pid}; "
        'if [ "$b" = "$boot" ] && runs "$x" "$y"; then echo "boot $boot running"; else echo "boot $boot gone"; fi'
    )


def read_probe(text: str) -> Probe | None:
    """The answer to `probe_command`; None when it is none."""
    found = _PROBED.fullmatch(text.strip())
    return Probe(found[1], found[2] == "running") if found else None


def end_command(block: Block | None) -> str:
    """SIGKILL all that is left of `block`, or of any block: script, watchdog, trial, then all that works in there.

    `read_ended` reads the answer.
    """
    only = block.block_id if block is not None else "*"
    return (
        f"exec 2>/dev/null; cd {quoted(BLOCKS)} || exit 0; base=$(pwd -P); only='{only}'; cd /; "
        f"{_BOOT}{_RUNS}{_END}{_END_BY_FOLDER}"
    )


def read_ended(text: str) -> list[str]:
    """What `end_command` ended, a sentence each; lines of any other form are left out."""
    found = (_ENDED.fullmatch(line) for line in text.splitlines()[:1000])
    return [f"block {match[3]}: {match[1]} {match[2]}" for match in found if match is not None]
