"""Having a nightly run by itself: systemd user units where a user's systemd answers, else a line of cron."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from enum import StrEnum
from pathlib import Path

from orchestrator.app.nightly.record import write_text
from orchestrator.app.nightly.suites import Nightly, nightly_folder
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.lock import user_name
from orchestrator.home import Home
from orchestrator.nights.units import MARK, Installed, cron_line, has_line, service_text, timer_text, with_line
from orchestrator.nights.units import without_line as _without_line

ANSWER_S = 30.0
"""systemctl, loginctl and crontab answer within this time."""


class By(StrEnum):
    """What starts a nightly."""

    SYSTEMD = "systemd"
    CRON = "cron"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an installation would leave: files with their content, or a crontab's line; `notes` are for people."""

    by: By
    what: Installed
    files: tuple[tuple[Path, str], ...] = ()
    line: str = ""
    notes: tuple[str, ...] = ()


def to_install(nightly: Nightly, adb_port: int, slots: int, by: By | None) -> Plan:
    """What would be installed; nothing is written. Raises UsageError: neither systemd nor cron is there, or another
    home's nightly bears this name."""
    what = _installed(nightly, adb_port, slots)
    by = by or _there()
    if by is By.CRON:
        return Plan(by=by, what=what, line=cron_line(what, str(nightly_folder(nightly.home) / f"{nightly.name}.log")))
    folder = _units_folder()
    files = tuple(
        (folder / f"{what.unit}.{kind}", text)
        for kind, text in (("service", service_text(what)), ("timer", timer_text(what)))
    )
    for path, _ in files:
        _refuse_anothers(path, what)
    return Plan(by=by, what=what, files=files, notes=_lingering())


def install(plan: Plan) -> None:
    """Do it; done again it changes nothing. Raises UsageError with what systemctl or crontab said."""
    if plan.by is By.CRON:
        _write_crontab(with_line(_crontab(), plan.what, plan.line))
        return
    for path, text in plan.files:
        write_text(path, text)
    _systemctl("daemon-reload")
    _systemctl("enable", "--now", f"{plan.what.unit}.timer")


def uninstall(name: str, home: Home) -> list[str]:
    """Take away what `install` left, and only that; what it was, in words. Raises UsageError as `install`."""
    what, taken = _named(name, home), []
    ours = [path for path in _unit_paths(what) if _mark_of(path) == what.mark]
    if ours:
        if _user_systemd():
            _systemctl("disable", "--now", f"{what.unit}.timer")
        for path in ours:
            path.unlink(missing_ok=True)
            taken.append(str(path))
        if _user_systemd():
            _systemctl("daemon-reload")
    if shutil.which("crontab") and has_line(crontab := _crontab(), what):
        _write_crontab(_without_line(crontab, what))
        taken.append("its line of the crontab")
    return taken


def installed_by(name: str, home: Home) -> By | None:
    """What starts a nightly; None: nothing does."""
    what = _named(name, home)
    if any(_mark_of(path) == what.mark for path in _unit_paths(what)):
        return By.SYSTEMD
    return By.CRON if shutil.which("crontab") and has_line(_crontab(), what) else None


def _installed(nightly: Nightly, adb_port: int, slots: int) -> Installed:
    in_home = nightly.path == nightly_folder(nightly.home) / f"{nightly.name}.toml"
    asked = nightly.name if in_home else str(nightly.path)
    command = [sys.executable, "-m", "orchestrator", "nightly", "run", asked, "--home", str(nightly.home.root)]
    command += ["--adb-port", str(adb_port)] + (["--virtual-slots", str(slots)] if slots else [])
    what = _named(nightly.name, nightly.home, tuple(command), nightly.suite.starts)
    for text in (*what.command, what.folder, what.environment):
        if not text.isprintable():
            raise UsageError(Problem(repr(text), "can't be written into a unit", "rename the folder"))
    return what


def _named(name: str, home: Home, command: tuple[str, ...] = (), start: time = time()) -> Installed:
    return Installed(
        name=name,
        home=str(home.root),
        command=command,
        folder=str(home.root),
        environment=str(_config_folder() / "orch" / f"nightly-{name}.env"),
        start=start,
    )


def _there() -> By:
    if _user_systemd():
        return By.SYSTEMD
    if shutil.which("crontab"):
        return By.CRON
    mend = "install cron, or call orch nightly run every ten minutes from what you have: it does only what is due"
    raise UsageError(Problem("nightly install", "neither a user's systemd nor crontab is there", mend))


def _user_systemd() -> bool:
    """Whether a user's systemd answers; a computer that has only its program has none."""
    return shutil.which("systemctl") is not None and _call(["systemctl", "--user", "show-environment"])[0] == 0


def _lingering() -> tuple[str, ...]:
    """What a person should know: without it a user's timers stop when the user logs out."""
    status, said = _call(["loginctl", "show-user", user_name(), "--property=Linger", "--value"])
    if status == 0 and said.strip() == "yes":
        return ()
    return (f"it runs while {user_name()} is logged in; always: loginctl enable-linger {user_name()}",)


def _config_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _units_folder() -> Path:
    return _config_folder() / "systemd" / "user"


def _unit_paths(what: Installed) -> list[Path]:
    return [_units_folder() / f"{what.unit}.{kind}" for kind in ("service", "timer")]


def _mark_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0]
    except (OSError, ValueError):
        return ""


def _refuse_anothers(path: Path, what: Installed) -> None:
    mark = _mark_of(path)
    if path.exists() and mark != what.mark:
        whose = f"is {mark.removeprefix(MARK).strip()}" if mark.startswith(MARK) else "is not one of ours"
        raise UsageError(Problem(str(path), whose, "rename this nightly's file, or uninstall the other one"))


def _systemctl(*words: str) -> None:
    status, said = _call(["systemctl", "--user", *words])
    if status != 0:
        raise UsageError(Problem(f"systemctl --user {' '.join(words)}", said.strip() or f"exit {status}"))


def _crontab() -> str:
    status, said = _call(["crontab", "-l"])
    if status != 0 and "no crontab" not in said:
        raise UsageError(Problem("crontab -l", said.strip() or f"exit {status}"))
    return said if status == 0 else ""


def _write_crontab(text: str) -> None:
    status, said = _call(["crontab", "-"], text)
    if status != 0:
        raise UsageError(Problem("crontab -", said.strip() or f"exit {status}"))


def _call(words: Sequence[str], stdin: str = "") -> tuple[int, str]:
    """A command's exit code, and what it said: stdout where it succeeded, else stderr."""
    try:
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr
