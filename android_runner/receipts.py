"""Pure: what is staged on a phone, told from receipts there.

A unit lies in `staged/<digest>/`; beside it, written only after its files were verified, `staged/<digest>.receipt`:

    orch-receipt 1 <digest>
    sha <sha256> <name>                     one line a file
    <size> <mtime> <inode> <digest>/<name>  one line a file, as `stat -c '%s %Y %i %n'` printed it then
    end <digest>

A unit whose files still have the size, mtime and inode of the receipt is taken as verified without reading them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from android_runner.block import ORCH_DIR
from android_runner.device import quoted
from android_runner.phone_digest import DIGEST_TOOL

STAGED_DIR = ORCH_DIR / "staged"
DIGEST_SHAPE = re.compile(r"[0-9a-f]{8,64}")
NAME_SHAPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,120}(?:/[A-Za-z0-9][A-Za-z0-9._+-]{0,120}){0,3}")
_SHA = re.compile(r"[0-9a-f]{64}")
_STAT_LINE = re.compile(r"(\d{1,19}) (\d{1,19}) (\d{1,20}) ([0-9a-f]{8,64}/\S{1,500})")
_ENTER = f"cd {quoted(STAGED_DIR)} 2>/dev/null || exit 0; "

Stat = tuple[int, int, int]
"""Size in bytes, mtime in seconds, inode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFile:
    """One file of a unit: its name there (relative, our own), where it comes from, its sha256 ("" if not known)."""

    name: str
    source: Path | bytes
    sha256: str = ""
    mode: int = 0o644

    def __post_init__(self) -> None:
        """Raise ValueError for a name that we would not give."""
        if not NAME_SHAPE.fullmatch(self.name) or ".." in self.name.split("/"):
            raise ValueError(f"not a name for a staged file: {self.name!r}")
        if self.sha256 and not _SHA.fullmatch(self.sha256):
            raise ValueError(f"not a sha256: {self.sha256!r}")

    def size_bytes(self) -> int:
        """Size of the source. Raises OSError."""
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size


@dataclass(frozen=True, slots=True, kw_only=True)
class StageUnit:
    """Files that are staged together under the digest of what was asked for; never others under the same digest."""

    digest: str
    files: tuple[StageFile, ...]

    def __post_init__(self) -> None:
        """Raise ValueError for a digest that is none, and for names given twice."""
        if not DIGEST_SHAPE.fullmatch(self.digest):
            raise ValueError(f"not a digest: {self.digest!r}")
        if len({file.name for file in self.files}) != len(self.files) or not self.files:
            raise ValueError(f"unit {self.digest[:12]}: no files, or one name twice")

    def paths(self) -> list[str]:
        """The files' paths in the staging folder."""
        return [f"{self.digest}/{file.name}" for file in self.files]


@dataclass(slots=True)
class Receipt:
    """One receipt as read; `whole` when its last line was there. Keys of `stats` are paths in the staging folder."""

    shas: dict[str, str] = field(default_factory=dict)
    stats: dict[str, Stat] = field(default_factory=dict)
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look at the phone showed: receipts by digest, and how the wanted files are now."""

    receipts: dict[str, Receipt]
    stats: dict[str, Stat]


def unit_cost_bytes(unit: StageUnit) -> int:
    """About how much shell text a unit takes in the commands below."""
    return 500 + sum(2 * len(path) + 100 for path in unit.paths())


def look_command(units: Sequence[StageUnit], marker: str) -> str:
    """Print all receipts, then the state of all files, in three processes; marks the units as used just now.

    What an interrupted push left in the units' folders is taken away, by one process more where there is something.
    """
    receipts = " ".join(f"{unit.digest}.receipt" for unit in units)
    files = " ".join(path for unit in units for path in unit.paths())
    return (
        f'{_ENTER}for f in {_leftovers(units)}; do [ ! -f "$f" ] || rm -f "$f"; done; '
        f"touch -c {receipts} 2>/dev/null; cat {receipts} 2>/dev/null; echo {marker}; "
        f"stat -c '%s %Y %i %n' {files} 2>/dev/null; true"
    )


def _leftovers(units: Sequence[StageUnit]) -> str:
    """Where halves of pushes lie, as patterns of the shell."""
    return " ".join(f"{unit.digest}/.part-* {unit.digest}/*/.part-*" for unit in units)


def parse_look(text: str, marker: str) -> Seen:
    """Read the answer to `look_command`; lines of no known form are left out."""
    before, _, after = text.partition(f"{marker}\n")
    receipts: dict[str, Receipt] = {}
    current = Receipt()
    for line in before.splitlines():
        words = line.split(" ")
        if words[:2] == ["orch-receipt", "1"] and len(words) == 3:
            current = receipts.setdefault(words[2], Receipt())
        elif words[0] == "sha" and len(words) == 3 and _SHA.fullmatch(words[1]):
            current.shas[words[2]] = words[1]
        elif words[0] == "end" and len(words) == 2:
            current.whole = receipts.get(words[1]) is current
            current = Receipt()
        else:
            current.stats.update(_stat_of(line))
    stats: dict[str, Stat] = {}
    for line in after.splitlines():
        stats.update(_stat_of(line))
    return Seen(receipts, stats)


def _stat_of(line: str) -> dict[str, Stat]:
    found = _STAT_LINE.fullmatch(line)
    return {found[4]: (int(found[1]), int(found[2]), int(found[3]))} if found else {}


def is_ready(unit: StageUnit, seen: Seen) -> bool:
    """Whether the unit stands on the phone as its receipt says, and the receipt says what is wanted."""
    receipt = seen.receipts.get(unit.digest)
    if receipt is None or not receipt.whole or set(receipt.shas) != {file.name for file in unit.files}:
        return False
    for file, path in zip(unit.files, unit.paths(), strict=True):
        if file.sha256 and receipt.shas[file.name] != file.sha256:
            return False
        if path not in seen.stats or receipt.stats.get(path) != seen.stats[path]:
            return False
    return True


def hash_command(paths: Sequence[str]) -> str:
    """Hash files that are there already."""
    return f"{_ENTER}{DIGEST_TOOL}$H {' '.join(paths)} 2>/dev/null; true"


def receipts_command(units: Sequence[StageUnit], shas: dict[str, str]) -> str:
    """Write the receipts of verified units; `shas` by path in the staging folder.

    What a push left that was tried again meanwhile is taken away.
    """
    texts = [f"cd {quoted(STAGED_DIR)} || exit 1; rm -f {_leftovers(units)}"]
    for unit in units:
        lines = "; ".join(f"echo 'sha {shas[path]} {path.partition('/')[2]}'" for path in unit.paths())
        new, final = f"{unit.digest}.receipt.$$", f"{unit.digest}.receipt"
        texts.append(
            f"{{ echo 'orch-receipt 1 {unit.digest}'; {lines}; stat -c '%s %Y %i %n' {' '.join(unit.paths())}; "
            f"echo 'end {unit.digest}'; }} >{new} && mv -f {new} {final} || exit 1"
        )
    return "; ".join(texts)


@dataclass(frozen=True, slots=True)
class Resident:
    """A unit on the phone that could make room: when it was last used (seconds, 0 unknown), its size."""

    digest: str
    used_s: int
    size_bytes: int


SPACE_COMMAND = f'D={quoted(STAGED_DIR)}; [ -d "$D" ] || D={quoted(ORCH_DIR)}; [ -d "$D" ] || ' + (
    f'D={quoted(ORCH_DIR)}/..; df -k "$D"'
)
RESIDENTS_COMMAND = f"{_ENTER}stat -c '%Y %n' *.receipt 2>/dev/null; du -sk [0-9a-f]* 2>/dev/null; true"


def parse_residents(text: str) -> list[Resident]:
    """Read the answer to `RESIDENTS_COMMAND`; only names of a digest's shape count."""
    used: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for line in text.splitlines():
        if found := re.fullmatch(r"(\d{1,19}) ([0-9a-f]{8,64})\.receipt", line):
            used[found[2]] = int(found[1])
        elif found := re.fullmatch(r"(\d{1,15})\s+([0-9a-f]{8,64})", line):
            sizes[found[2]] = int(found[1]) * 1024
    return [Resident(digest, used.get(digest, 0), size) for digest, size in sizes.items()]


def victims(residents: Sequence[Resident], keep: Collection[str], wanted_bytes: int) -> list[Resident]:
    """Least recently used first, until `wanted_bytes` are free; all there are when that is not enough."""
    chosen: list[Resident] = []
    freed = 0
    for resident in sorted(residents, key=lambda one: (one.used_s, one.digest)):
        if freed >= wanted_bytes:
            break
        if resident.digest not in keep:
            chosen.append(resident)
            freed += resident.size_bytes
    return chosen


def evict_command(chosen: Sequence[Resident]) -> str:
    """Take units away, receipts first."""
    receipts = " ".join(f"{one.digest}.receipt" for one in chosen)
    return f"{_ENTER}rm -f {receipts}; rm -rf {' '.join(one.digest for one in chosen)}"
