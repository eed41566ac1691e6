"""What a phone's faults do to its files, and how that is mended: everything that needs no process and no transport.

Paths are below the phone's root on the host. Each deed returns how it is undone.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from android_runner.block import ORCH_DIR
from android_runner.lease import HIGHEST_EPOCH, LEASE
from android_runner.virtual.fault_kinds import FaultKind
from android_runner.virtual.identity import BATTERY, THERMAL_STATUS, battery_temperature
from android_runner.virtual.root_tree import PROPERTY_DIR

Undo = Callable[[], None]

LOST_TOOLS = (
    "toybox", "sha256sum", "sha1sum", "md5sum", "stat", "timeout", "taskset", "setsid", "dumpsys", "getprop", "df",
)  # fmt: skip
"""What a phone of an odd maker, or one whose /system is damaged, may lack."""
_ASIDE = "system/lost"
_KEPT = "before-faults"
"""Beside a phone's root: what files held before faults changed them. It outlasts a phone that dies meanwhile."""
_TWIN = "virtual-twin-1"
_BLOCKS = f"{ORCH_DIR}/blocks".lstrip("/")
_CURRENT = "current"
TOOL_FAULT = "dev/orch/tool_fault"
"""Where a perf_test of virtual phones looks for what it is to do wrong; it takes the file away."""
TOOL_WORDS: Mapping[FaultKind, str] = {
    FaultKind.TOOL_CRASHED_LATE: "crash-late",
    FaultKind.RESULT_CUT: "cut",
    FaultKind.TOOL_FLOODS: "flood",
    FaultKind.TOOL_GARBLES: "garble",
}
_GARBAGE = b"17 exited 3 x\xff\xfe 0\n\x00\x00"


def do_to_files(kind: FaultKind, root: Path) -> Undo | None:
    """Do what a fault of this kind does to files; how to undo it, None where there is nothing to undo.

    Raises OSError.
    """
    match kind:
        case FaultKind.LOST_TOOLS:
            return _lose_tools(root)
        case FaultKind.DUPLICATE:
            return _texts(
                root, {f"{PROPERTY_DIR}/{name}": f"{_TWIN}\n" for name in ("ro.serialno", "ro.boot.serialno")}
            )
        case FaultKind.NEW_FINGERPRINT:
            path = f"{PROPERTY_DIR}/ro.build.fingerprint"
            before = (root / path).read_text(encoding="utf-8").strip()
            return _texts(root, {path: f"{before}-updated\n"})
        case FaultKind.FOREIGN_LEASE:
            return _texts(root, {str(LEASE).lstrip("/"): f"{HIGHEST_EPOCH}\n"})
        case FaultKind.HOT:
            return _texts(root, {f"{BATTERY}/temp": battery_temperature(60.0), THERMAL_STATUS: "3\n"})
        case FaultKind.BATTERY_LOW:
            return _texts(root, {f"{BATTERY}/capacity": "3\n"})
        case FaultKind.FOLDER_LOST:
            shutil.rmtree(root / str(ORCH_DIR).lstrip("/"), ignore_errors=True)
        case FaultKind.JOURNAL_TORN:
            _tear_journals(root)
        case _:
            pass
    return None


def running_trials(root: Path) -> Iterator[str]:
    """`BLOCK/TASK` of every trial that the phone scripts say is running."""
    for path in (root / _BLOCKS).glob(f"*/{_CURRENT}"):
        with suppress(OSError, UnicodeDecodeError):
            words = path.read_text(encoding="ascii").split()
            if len(words) == 5 and (path.parent / "part" / words[3]).is_dir() and not words[3].startswith("."):
                yield f"{path.parent.name}/{words[3]}"


def asks_nnapi(root: Path, trial: str) -> bool:
    """Whether a trial, `BLOCK/TASK`, is given to NNAPI: what its block's list says."""
    block, _, task = trial.partition("/")
    with suppress(OSError):
        lines = (root / _BLOCKS / block / "list").read_text(encoding="utf-8", errors="replace").splitlines()
        return any(line.startswith(f"t {task} ") and " nnapi" in line for line in lines)
    return False


def signal_command(kind: FaultKind) -> str:
    """Shell text that does to processes what a fault of this kind does; empty where it does nothing."""
    match kind:
        case FaultKind.SCRIPT_KILLED:
            return _SIGNAL.format(file="pid", word="pid", targets='"$pid"', number="KILL")
        case FaultKind.TOOL_KILLED:
            return _SIGNAL.format(file=_CURRENT, word="pid", targets='"-$pid" || kill -KILL "$pid"', number="KILL")
        case FaultKind.TOOL_CRASHED:
            return _SIGNAL.format(file=_CURRENT, word="pid", targets='"-$pid" || kill -SEGV "$pid"', number="SEGV")
        case FaultKind.TOOL_HUNG:
            return _SIGNAL.format(file=_CURRENT, word="pid", targets='"-$pid" || kill -STOP "$pid"', number="STOP")
        case _:
            return ""


_SIGNAL = (
    f'for f in "${{{{ORCH_ROOT-}}}}"{ORCH_DIR}/blocks/*/{{file}}; do [ -r "$f" ] || continue; pid=; '
    'read -r {word} rest <"$f"; [ -z "$pid" ] || kill -{number} {targets}; done 2>/dev/null'
)


def mend_files(root: Path) -> None:
    """Undo what faults did to files and nobody undid: the phone died first. Raises OSError."""
    kept = root.parent / _KEPT
    if kept.is_dir():
        _write_back(root, [one.name.replace("%", "/") for one in kept.iterdir() if not one.name.startswith(".")])
    _bring_back_tools(root)


def _lose_tools(root: Path) -> Undo:
    aside = root / _ASIDE
    aside.mkdir(exist_ok=True)
    for name in LOST_TOOLS:
        with suppress(FileNotFoundError):
            (root / "system/bin" / name).rename(aside / name)
    return lambda: _bring_back_tools(root)


def _bring_back_tools(root: Path) -> None:
    aside = root / _ASIDE
    for path in aside.iterdir() if aside.is_dir() else ():
        path.rename(root / "system/bin" / path.name)


def _texts(root: Path, wanted: Mapping[str, str]) -> Undo:
    """Overwrite files in place: a bind mount and an open reader keep seeing them. What they first held is kept."""
    kept = root.parent / _KEPT
    kept.mkdir(exist_ok=True)
    for name, text in wanted.items():
        path, copy = root / name, kept / name.replace("/", "%")
        if not copy.exists():
            part = copy.with_name(f".{copy.name}")
            part.write_bytes(b"=" + path.read_bytes() if path.exists() else b"")
            part.replace(copy)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return lambda: _write_back(root, list(wanted))


def _write_back(root: Path, names: Iterable[str]) -> None:
    """Give files what they held before the first fault; nothing where that was done already."""
    for name in names:
        path, copy = root / name, root.parent / _KEPT / name.replace("/", "%")
        with suppress(FileNotFoundError):
            held = copy.read_bytes()
            if not held:
                path.unlink(missing_ok=True)
            elif path.exists():
                path.write_bytes(held.removeprefix(b"="))
            copy.unlink()


def _tear_journals(root: Path) -> None:
    for path in (root / _BLOCKS).glob("*/journal"):
        with path.open("r+b") as file:
            file.truncate(max(0, path.stat().st_size - 3))
            file.seek(0, 2)
            file.write(_GARBAGE)
