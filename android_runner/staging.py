"""Units of files onto a phone, at most once: 0 bytes when what stands there is what is wanted.

A first look reads receipts (`receipts`); what they don't prove is hashed on the phone, what is wrong or missing is
pushed, and only then receipts are written. When space is short, units that were not used for longest go first.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from android_runner.batches import COMMAND_BYTES, batches
from android_runner.deadline import Deadline
from android_runner.device import Device, PhonePath, PushedFile, PushItem, ShellResult
from android_runner.errors import PhoneFull, PhoneRefused
from android_runner.facts import cleaned, parse_free_bytes
from android_runner.phone_digest import NO_DIGEST_TOOL, digest_lines
from android_runner.receipts import (
    RESIDENTS_COMMAND,
    SPACE_COMMAND,
    STAGED_DIR,
    Seen,
    StageFile,
    StageUnit,
    evict_command,
    hash_command,
    is_ready,
    look_command,
    parse_look,
    parse_residents,
    receipts_command,
    unit_cost_bytes,
    victims,
)

__all__ = ["StageFile", "StageUnit", "StagedReport", "stage", "staged_dir"]

RESERVE_BYTES = 16 * 1024 * 1024
"""Left free on the phone for what trials write."""
GROUP_BYTES = 64 * 1024 * 1024
"""Units are pushed in groups of about this size, each with its receipts: what a lost link costs at most."""

ANSWER_S = 60.0
ANSWER_BYTES = 1024 * 1024
"""What one answer may say: a hundred bytes for each file that is asked about, or that lies there."""
"""What one answer of the phone may take, beside the time for its bytes: one that hangs is found out then."""
SLOWEST_BYTES_S = 500_000
"""No phone takes or hashes files more slowly: full-speed USB (12 Mbit/s) carries some 1 MB/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedReport:
    """What staging did: bytes that travelled, digests of units that were there already, by receipt or by hash.

    `paths` says where each unit lies on the phone.
    """

    pushed_bytes: int
    reused_units: tuple[str, ...]
    hashed_units: tuple[str, ...]
    evicted_units: tuple[str, ...]
    paths: Mapping[str, PhonePath] = field(default_factory=dict)


def staged_dir(digest: str) -> PhonePath:
    """Where a unit lies on a phone."""
    return STAGED_DIR / digest


def stage(
    device: Device,
    units: Sequence[StageUnit],
    *,
    deadline: Deadline,
    verify: bool = False,
    keep: Collection[str] = (),
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> StagedReport:
    """See that all units stand verified on the phone.

    `verify` hashes on the phone whatever the receipts say: for after an unclean end, and when the user asks. Units in
    `keep` (digests) are never evicted; those of `units` aren't either. Each group of files is pushed inside a `turn`:
    who shares a cable may wait there. Raises `PhoneFull`, `PhoneRefused`,
    `TransferCorrupt` (also when a source is not what its sha256 says; nothing of it then stands under its name),
    `LinkError`, and OSError for unreadable sources.
    """
    return _Staging(device, units, deadline, frozenset(keep), turn).run(verify=verify)


class _Staging:
    """One call of `stage`."""

    def __init__(
        self,
        device: Device,
        units: Sequence[StageUnit],
        deadline: Deadline,
        keep: frozenset[str],
        turn: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.device = device
        self.turn = turn
        self.units = list({unit.digest: unit for unit in units}.values())
        self.deadline = deadline
        self.keep = keep | {unit.digest for unit in self.units}
        self.pushed_bytes = 0
        self.evicted: list[str] = []

    def run(self, *, verify: bool) -> StagedReport:
        """Look, hash, push, write receipts."""
        seen = self._look()
        doubtful = [unit for unit in self.units if verify or not is_ready(unit, seen)]
        proven = self._proven(doubtful, seen)
        pushed: set[str] = set()
        for group in batches(doubtful, lambda unit: _missing_bytes(unit, proven), GROUP_BYTES):
            pushed |= self._carry(group, proven)
        known = {unit.digest for unit in self.units} - pushed
        return StagedReport(
            pushed_bytes=self.pushed_bytes,
            reused_units=tuple(unit.digest for unit in self.units if unit.digest in known),
            hashed_units=tuple(unit.digest for unit in doubtful if unit.digest in known),
            evicted_units=tuple(self.evicted),
            paths={unit.digest: staged_dir(unit.digest) for unit in self.units},
        )

    def _look(self) -> Seen:
        receipts, stats = {}, {}
        for batch in batches(self.units, unit_cost_bytes, COMMAND_BYTES):
            marker = f"files-{secrets.token_hex(8)}"
            seen = parse_look(self._text(look_command(batch, marker)), marker)
            receipts.update(seen.receipts)
            stats.update(seen.stats)
        return Seen(receipts, stats)

    def _proven(self, units: Sequence[StageUnit], seen: Seen) -> dict[str, str]:
        """sha256 by path of the files that are there and right, hashed on the phone just now."""
        there = [path for unit in units for path in unit.paths() if path in seen.stats]
        found: dict[str, str] = {}
        for batch in batches(there, lambda path: len(path) + 1, COMMAND_BYTES):
            size_bytes = sum(seen.stats[path][0] for path in batch)
            result = self._shell(hash_command(batch), self._answer(size_bytes))
            if result.exit_code == NO_DIGEST_TOOL:
                said = cleaned(result.stderr.decode(errors="replace"))
                raise PhoneRefused(f"{self.device.serial}: nothing can be verified there: {said}")
            found.update({name: digest for digest, name in digest_lines(result.stdout)})
        proven: dict[str, str] = {}
        for unit in units:
            for file, path in zip(unit.files, unit.paths(), strict=True):
                if path in found and found[path] == (file.sha256 or _digest_of(file)):
                    proven[path] = found[path]
        return proven

    def _carry(self, group: Sequence[StageUnit], proven: dict[str, str]) -> set[str]:
        """Push what is missing of some units and write their receipts; digests of those that took bytes."""
        missing = [
            (unit, file, path)
            for unit in group
            for file, path in zip(unit.files, unit.paths(), strict=True)
            if path not in proven
        ]
        if missing:
            items = [
                PushItem(file.source, PhonePath(f"{STAGED_DIR}/{path}"), file.mode, file.sha256)
                for _, file, path in missing
            ]
            self._make_room(sum(file.size_bytes() for _, file, _ in missing))
            for (_, _, path), done in zip(missing, self._push(items), strict=True):
                proven[path] = done.sha256
                self.pushed_bytes += done.size_bytes
        for batch in batches(group, unit_cost_bytes, COMMAND_BYTES):
            result = self._shell(receipts_command(batch, proven), self._answer())
            if result.exit_code:
                said = cleaned(result.stderr.decode(errors="replace"))
                full = "no space" in said.lower()
                raise (PhoneFull if full else PhoneRefused)(f"{self.device.serial}: receipts: the phone says: {said}")
        return {unit.digest for unit, _, _ in missing}

    def _push(self, items: Sequence[PushItem]) -> list[PushedFile]:
        try:
            return self._push_in_turn(items)
        except PhoneFull:
            if not self._evict(_bytes_of(items)):
                raise
            return self._push_in_turn(items)

    def _push_in_turn(self, items: Sequence[PushItem]) -> list[PushedFile]:
        with self.turn():
            return self.device.push(items, deadline=self._answer(_bytes_of(items)))

    def _make_room(self, wanted_bytes: int) -> None:
        """Evict when `df` says that it will not fit. A phone whose df says nothing is found out by the push."""
        free = parse_free_bytes(self._text(SPACE_COMMAND))
        short = wanted_bytes + RESERVE_BYTES - free
        if not free or short <= 0:
            return
        freed = self._evict(short)
        if free + freed < wanted_bytes:
            raise PhoneFull(
                f"{self.device.serial}: {wanted_bytes} bytes to stage, {free + freed} free, nothing left to evict: "
                "free some space there"
            )

    def _evict(self, wanted_bytes: int) -> int:
        """Take the least recently used units away; about how many bytes that freed."""
        chosen = victims(parse_residents(self._text(RESIDENTS_COMMAND)), self.keep, wanted_bytes)
        if not chosen:
            return 0
        for batch in batches(chosen, lambda one: 2 * len(one.digest) + 12, COMMAND_BYTES):
            self._text(evict_command(batch))
        self.evicted += [one.digest for one in chosen]
        return sum(one.size_bytes for one in chosen)

    def _text(self, command: str) -> str:
        return self._shell(command, self._answer()).text()

    def _shell(self, command: str, deadline: Deadline) -> ShellResult:
        return self.device.shell(command, deadline=deadline, max_output_bytes=ANSWER_BYTES)

    def _answer(self, size_bytes: int = 0) -> Deadline:
        return self.deadline.clip(ANSWER_S + size_bytes / SLOWEST_BYTES_S)


def _bytes_of(items: Sequence[PushItem]) -> int:
    return sum(len(one.source) if isinstance(one.source, bytes) else one.source.stat().st_size for one in items)


def _missing_bytes(unit: StageUnit, proven: Mapping[str, str]) -> int:
    """What is still to be pushed of a unit."""
    return sum(file.size_bytes() for file, path in zip(unit.files, unit.paths(), strict=True) if path not in proven)


def _digest_of(file: StageFile) -> str:
    if isinstance(file.source, bytes):
        return hashlib.sha256(file.source).hexdigest()
    with file.source.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
