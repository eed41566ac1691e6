"""Pure: what has a nightly run by itself, as text: two systemd user units, or a line of cron.

Both call `orch nightly run NAME`, which does what is due and else nothing; so it may be called at any time: at the
start, after the computer came back, and when the night's process was killed.

Formats: systemd.service(5), systemd.timer(5), systemd.syntax(7) (quoting, `%` and `$` doubled); crontab(5) (`%` is a
line's end unless escaped).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time

MARK = "# orch nightly"
AGAIN_S = 30
"""A night whose process died by a signal goes on after so many seconds."""
AFTER_BOOT = "2min"
CRON_EVERY_MIN = 10
"""Cron knows no death of a process: it asks this often whether something is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What is to be called: `command` whole, in `folder`, at a time of day; `environment` a file of NAME=value lines
    that need not be there."""

    name: str
    home: str
    command: tuple[str, ...]
    folder: str
    environment: str
    start: time

    @property
    def unit(self) -> str:
        """The units' name, without `.service`, `.timer`."""
        return f"orch-nightly-{self.name}"

    @property
    def mark(self) -> str:
        """The line that says whose it is."""
        return f"{MARK} {self.name} of {shlex.quote(self.home)}"


def service_text(what: Installed) -> str:
    """`orch-nightly-NAME.service`. What a run leaves behind (an adb server, virtual phones, trials on phones) outlives
    it: only its own process is ended with it."""
    return f"""\
{what.mark}
[Unit]
Description=orch nightly {what.name}
StartLimitIntervalSec=1h
StartLimitBurst=20

[Service]
Type=oneshot
ExecStart={" ".join(_quoted(word) for word in what.command)}
WorkingDirectory={what.folder.replace("%", "%%")}
EnvironmentFile=-{what.environment.replace("%", "%%")}
Restart=on-abnormal
RestartSec={AGAIN_S}
TimeoutStartSec=infinity
TimeoutStopSec=120
KillMode=process
"""


def timer_text(what: Installed) -> str:
    """`orch-nightly-NAME.timer`: at the start, at once when the start was missed, and after each boot."""
    return f"""\
{what.mark}
[Unit]
Description=orch nightly {what.name}, each day at {what.start.isoformat("auto")}

[Timer]
OnCalendar=*-*-* {what.start.isoformat("seconds")}
OnStartupSec={AFTER_BOOT}
Persistent=true
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


def cron_line(what: Installed, log: str) -> str:
    """A crontab's line, its mark at its end; `log` takes what is said."""
    minutes = ",".join(str(one) for one in sorted((what.start.minute + step) % 60 for step in _STEPS))
    environment = shlex.quote(what.environment)
    call = f"cd {shlex.quote(what.folder)} && {{ set -a; [ ! -r {environment} ] || . {environment}; set +a; "
    call += f"exec {shlex.join(what.command)}; }} >>{shlex.quote(log)} 2>&1"
    return f"{minutes} * * * * {_in_crontab(call)} {_in_crontab(what.mark)}"


_STEPS = range(0, 60, CRON_EVERY_MIN)


def with_line(crontab: str, what: Installed, line: str) -> str:
    """A crontab with this nightly's line, in the place of an older one."""
    kept = without_line(crontab, what)
    return f"{kept}{line}\n"


def without_line(crontab: str, what: Installed) -> str:
    """A crontab without this nightly's line; everything else stays as it is."""
    kept: Sequence[str] = [line for line in crontab.splitlines() if not _is_ours(line, what)]
    return "".join(f"{line}\n" for line in kept)


def has_line(crontab: str, what: Installed) -> bool:
    """Whether a crontab has this nightly's line."""
    return any(_is_ours(line, what) for line in crontab.splitlines())


def _is_ours(line: str, what: Installed) -> bool:
    return line.endswith(f" {_in_crontab(what.mark)}")


def _in_crontab(text: str) -> str:
    return text.replace("%", "\\%")


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
