"""Pure: the command that a phone proves itself with, and what its answer says.

adb lists phones as `device` that answer nothing, and a phone may come back as another one, half booted, or with a
storage that takes no file. So it must say a word back that it can't know, who it is, and write and read a file.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from android_runner.block import ORCH_DIR
from android_runner.device import PhonePath, quoted
from android_runner.facts import cleaned
from android_runner.recovery.rungs import Seen, Sighting

MAX_ANSWER_BYTES = 64 * 1024
_BOOT_ID = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True)
class Expected:
    """Who should answer: `ro.serialno` (or, where it has none, its transport's name) and the build's fingerprint."""

    identity: str
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Nonce:
    """A word in two halves: only a shell that runs the command puts them together."""

    first: str
    second: str

    @classmethod
    def new(cls) -> Nonce:
        """One that was never asked before."""
        return cls(secrets.token_hex(8), secrets.token_hex(8))


def answer_command(nonce: Nonce) -> str:
    """What the phone is asked: each line of the answer is the whole nonce, a name, and what it says of it."""
    folder = quoted(ORCH_DIR)
    file = quoted(PhonePath(f"{ORCH_DIR}/.probe-{nonce.first}"))
    boot_id = quoted(PhonePath("/proc/sys/kernel/random/boot_id"))
    return "\n".join(
        [
            f"a={nonce.first}",
            f'b="${{a}}{nonce.second}"',
            'echo "$b serialno $(getprop ro.serialno)"',
            'echo "$b fingerprint $(getprop ro.build.fingerprint)"',
            f'echo "$b boot_id $(cat {boot_id})"',
            'echo "$b booted $(getprop sys.boot_completed)"',
            f"mkdir -p {folder}; rm -f {folder}/.probe-*",  # of a look that was cut off
            f'echo "$b" >{file} && echo "$b kept $(cat {file})"',
            f'rm -f {file}; echo "$b end"',
        ]
    )


def judged(text: str, nonce: Nonce, expected: Expected) -> Sighting:
    """What a phone's answer shows. An answer without its end, or without our word, is none."""
    whole = nonce.first + nonce.second
    said: dict[str, str] = {}
    for line in text[:MAX_ANSWER_BYTES].splitlines():
        head, _, rest = line.strip().partition(" ")
        if head == whole:
            name, _, value = rest.partition(" ")
            said[name] = value.strip()
    if "end" not in said:
        return Sighting(Seen.HUNG, f"its shell says {cleaned(text)[:80]!r}" if text.strip() else "its shell is silent")
    boot_id = said.get("boot_id", "") if _BOOT_ID.fullmatch(said.get("boot_id", "")) else ""
    serialno, fingerprint = cleaned(said.get("serialno", "")), cleaned(said.get("fingerprint", ""))
    if serialno and serialno != expected.identity:
        return Sighting(Seen.STRANGER, f"{serialno[:64]} answers instead", boot_id)
    if said.get("booted") != "1":
        return Sighting(Seen.BOOTING, "sys.boot_completed is not 1", boot_id)
    if expected.fingerprint and fingerprint and fingerprint != expected.fingerprint:
        return Sighting(Seen.UPDATED, f"its build is now {fingerprint[:120]}", boot_id)
    if said.get("kept") != whole:
        return Sighting(Seen.STORAGE, "/data/local/tmp takes no file", boot_id)
    return Sighting(Seen.ANSWERS, "", boot_id)
