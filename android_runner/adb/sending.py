"""Files onto the phone: sent under temporary names, checked by sha256 there, then renamed, in one shell call.

DATA packets are filled in place from the file (`preadv`) and sent 16 at a time; a sha256 that is not known beforehand
is computed by a second thread meanwhile. adbd answers at once when it cannot write, so answers are looked for between
sends: a full phone does not cost the rest of the transfer.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from android_runner.adb.sync import DATA_BYTES, SyncSession, request, staging_error
from android_runner.adb.translate import words
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PushedFile, PushItem, ShellResult, quoted
from android_runner.errors import HostileAnswer, LinkLost, PhoneRefused, TransferCorrupt
from android_runner.phone_digest import DIGEST_TOOL, NO_DIGEST_TOOL

_PACKETS = 16
_SLOT = 8 + DATA_BYTES
_HEAD = struct.Struct("<4sI")
_REGULAR = 0o100000
DIGEST_DIFFERS = 98
"""Exit code of the finishing command, outside of what `mv` and `chmod` use."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file on its way: where it waits, what it becomes."""

    item: PushItem
    temporary: PhonePath


@dataclass(frozen=True, slots=True)
class Sent:
    """A part that the phone acknowledged, with the sender's own figures."""

    part: Part
    size_bytes: int
    sha256: str


def parts_of(items: Sequence[PushItem], nonce: str) -> list[Part]:
    """Temporary names beside the targets. Raises ValueError for targets that we would never name so."""
    parts = []
    for number, item in enumerate(items):
        folder, _, name = item.target.rpartition("/")
        pieces = item.target.split("/")
        if not name or any(piece in (".", "..") for piece in pieces) or re.search(r"[\x00-\x1f\x7f]", item.target):
            raise ValueError(f"not a file's name for the phone: {item.target!r}")
        if len(name.encode()) > 255:
            raise ValueError(f"a name of more than 255 bytes: {item.target!r}")
        parts.append(Part(item, PhonePath(f"{folder}/.part-{nonce}-{number}")))
    return parts


def send_parts(session: SyncSession, serial: str, parts: Sequence[Part], deadline: Deadline) -> list[Sent]:
    """Send every part over one session, each after the answer to the one before.

    A FAIL ends the session, and what is queued behind it can make the server's socket lose the phone's words.
    Raises `PhoneFull` or `PhoneRefused` with the phone's words, and OSError when a source cannot be read.
    """
    sent: list[Sent] = []
    mtime_s = int(deadline.clock.now().timestamp()) & 0xFFFFFFFF
    with ThreadPoolExecutor(1) as hasher:
        for part in parts:
            known = part.item.sha256
            session.stream.send(_opening(part), deadline)
            digest = hashlib.sha256()
            hashing: Future[None] | None = None
            size = 0
            for packets, payload in _packets(part.item.source):
                if not known:
                    hashing = _after(hashing, hasher.submit(_hash, digest, payload))
                size += sum(map(len, payload))
                _send_watching(session, serial, packets, part, deadline)
            _after(hashing, None)
            session.stream.send(_HEAD.pack(b"DONE", mtime_s), deadline)
            sent.append(Sent(part, size, known or digest.hexdigest()))
            _acknowledge(session, serial, part, deadline)
    return sent


def _after(before: Future[None] | None, then: Future[None] | None) -> Future[None] | None:
    if before is not None:
        before.result()
    return then


def _hash(digest: hashlib._Hash, payload: Sequence[memoryview]) -> None:
    for view in payload:
        digest.update(view)


def _opening(part: Part) -> bytes:
    """SEND takes `path,mode`, the mode in decimal with the file type."""
    return request(b"SEND", f"{part.temporary},{_REGULAR | part.item.mode & 0o777}")


def _packets(source: Path | bytes) -> Iterator[tuple[memoryview, list[memoryview]]]:
    """DATA packets ready to send, with their payload; two buffers take turns, so that one can still be hashed."""
    if isinstance(source, bytes):
        for start in range(0, len(source), DATA_BYTES):
            chunk = source[start : start + DATA_BYTES]
            packet = memoryview(_HEAD.pack(b"DATA", len(chunk)) + chunk)
            yield packet, [packet[8:]]
        return
    with ExitStack() as stack:
        descriptor = os.open(source, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        buffers = [_empty_packets(), _empty_packets()]
        offset, turn = 0, 0
        while True:
            whole, slots = buffers[turn]
            count = os.preadv(descriptor, slots, offset)
            if not count:
                return
            yield _filled(whole, slots, count)
            offset += count
            turn = 1 - turn


def _empty_packets() -> tuple[memoryview, list[memoryview]]:
    whole = memoryview(bytearray(_PACKETS * _SLOT))
    return whole, [whole[start + 8 : start + _SLOT] for start in range(0, _PACKETS * _SLOT, _SLOT)]


def _filled(whole: memoryview, slots: list[memoryview], count: int) -> tuple[memoryview, list[memoryview]]:
    full, rest = divmod(count, DATA_BYTES)
    used = full + (1 if rest else 0)
    for number in range(used):
        length = DATA_BYTES if number < full else rest
        _HEAD.pack_into(whole, number * _SLOT, b"DATA", length)
    payload = slots[:full] + ([slots[full][:rest]] if rest else [])
    return whole[: (used - 1) * _SLOT + 8 + len(payload[-1])], payload


def _send_watching(session: SyncSession, serial: str, data: memoryview, part: Part, deadline: Deadline) -> None:
    """Send, unless the phone has said no already; when it closes meanwhile, its words say more than a broken pipe."""
    if session.stream.readable():
        _acknowledge(session, serial, part, deadline)
        raise HostileAnswer(f"{serial}: push {part.item.target}: answered before the file was sent")
    try:
        session.stream.send(data, deadline)
    except LinkLost as lost:
        if session.stream.readable():
            _last_words(session, serial, part, deadline, lost)
        raise


def _last_words(session: SyncSession, serial: str, part: Part, deadline: Deadline, lost: LinkLost) -> None:
    try:
        failed = session.acknowledgement(deadline)
    except (LinkLost, HostileAnswer):
        return
    if failed is not None:
        raise staging_error(serial, f"push {part.item.target}", failed.text) from lost


def _acknowledge(session: SyncSession, serial: str, part: Part, deadline: Deadline) -> None:
    failed = session.acknowledgement(deadline)
    if failed is not None:
        raise staging_error(serial, f"push {part.item.target}", failed.text)


def finishing_bytes(one: Sent) -> int:
    """About how much shell text a file takes in the finishing command."""
    return 2 * len(quoted(one.part.item.target)) + 3 * len(quoted(one.part.temporary)) + 160


def finishing_command(batch: Sequence[Sent]) -> str:
    """Hash the parts, compare with the sender's figures, and only then set modes and rename.

    Compares without a process, a sub-shell or a here-document (Android's mksh may have no place for one).
    """
    temporaries = " ".join(quoted(one.part.temporary) for one in batch)
    expected = " ".join(one.sha256 for one in batch)
    modes: dict[int, list[str]] = {}
    for one in batch:
        modes.setdefault(one.part.item.mode & 0o777, []).append(quoted(one.part.temporary))
    renames = [f"mv -f {quoted(one.part.temporary)} {quoted(one.part.item.target)}" for one in batch]
    guards = [f"[ ! -d {quoted(one.part.item.target)} ] || {{ echo {shlex.quote(_folder_text(one))} >&2; exit 1; }}"
              for one in batch]  # fmt: skip
    compare = (
        f"set -f; r=0; set -- {expected}; IFS='\n'; for l in $D; do [ $# = 0 ] && exit {DIGEST_DIFFERS}; "
        f'd=${{l%% *}}; d=${{d#\\\\}}; echo "$d"; [ "$d" = "$1" ] || r={DIGEST_DIFFERS}; shift; done; '
        f"[ $# = 0 ] || r={DIGEST_DIFFERS}; [ $r = 0 ] || exit $r; "
    )
    chmods = [f"chmod {mode:o} {' '.join(names)}" for mode, names in modes.items()]
    return f"{DIGEST_TOOL}D=$($H {temporaries}) || exit 1; {compare}{'; '.join(guards)}; " + " && ".join(
        [*chmods, *renames]
    )


def _folder_text(one: Sent) -> str:
    return f"{one.part.item.target}: Is a directory"


def judged(serial: str, batch: Sequence[Sent], result: ShellResult) -> list[PushedFile]:
    """What the finishing command's answer says. Raises `TransferCorrupt`, `PhoneFull` or `PhoneRefused`."""
    digests = result.text().split()
    expected = [one.sha256 for one in batch]
    said = words(result.stderr)
    if result.exit_code == NO_DIGEST_TOOL:
        raise PhoneRefused(f"{serial}: nothing can be verified there: {said}")
    if result.exit_code == DIGEST_DIFFERS or (result.exit_code == 0 and digests != expected):
        wrong = [
            str(one.part.item.target)
            for number, one in enumerate(batch)
            if number >= len(digests) or digests[number] != one.sha256
        ]
        raise TransferCorrupt(f"{serial}: sha256 on the phone differs from what was sent: {', '.join(wrong)[:500]}")
    if result.exit_code:
        raise staging_error(serial, f"finish push of {batch[0].part.item.target}", said)
    return [PushedFile(one.part.item.target, one.size_bytes, one.sha256) for one in batch]


def removing_command(parts: Sequence[Part]) -> str:
    """Take the parts away again; by folder and nonce, so that it is short for any number of them."""
    globs = {part.temporary.rpartition("-")[0] for part in parts}
    return "rm -f " + " ".join(quoted(PhonePath(glob)) + "-*" for glob in sorted(globs))
