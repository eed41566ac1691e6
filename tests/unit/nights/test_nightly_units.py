"""What has a nightly run by itself: units that systemd itself verifies, a line of cron that a shell reads back."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
import subprocess
from datetime import time
from pathlib import Path

import pytest

from orchestrator.nights.units import Installed, cron_line, has_line, service_text, timer_text, with_line, without_line


def installed(folder: Path, *words: str) -> Installed:
    return Installed(
        name="lab", home=str(folder), command=("/bin/sh", "-c", *words), folder=str(folder),
        environment=str(folder / "secret words.env"), start=time(22, 5),
    )  # fmt: skip


def verified(units: Path) -> tuple[int, str]:
    """What systemd-analyze says of the units in a folder."""
    runtime = units.parent / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *sorted(map(str, units.iterdir()))],
        env={"PATH": "/usr/bin:/bin", "HOME": str(units.parent), "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing: make system-deps")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    folder = tmp_path / "a b%c"
    folder.mkdir()
    what = installed(folder, 'echo "$HOME" 100% \\')
    units = tmp_path / "units"
    units.mkdir()
    (units / "orch-nightly-lab.service").write_text(service_text(what))
    (units / "orch-nightly-lab.timer").write_text(timer_text(what))
    assert verified(units) == (0, "")
    (units / "orch-nightly-lab.service").write_text(service_text(what).replace("Type=oneshot", "Type=never"))
    assert "Failed to parse service type" in verified(units)[1], "what is wrong in a unit is found this way"


def test_what_a_unit_must_say(tmp_path: Path) -> None:
    what = installed(tmp_path, "true")
    service, timer = service_text(what).splitlines(), timer_text(what).splitlines()
    assert {"Type=oneshot", "Restart=on-abnormal", "KillMode=process", "TimeoutStartSec=infinity"} <= set(service)
    assert {"OnCalendar=*-*-* 22:05:00", "Persistent=true", "WantedBy=timers.target"} <= set(timer)
    assert service[0] == timer[0] == f"# orch nightly lab of {tmp_path}"


def test_a_shell_reads_crons_line_back(tmp_path: Path) -> None:
    folder = tmp_path / "it's a % b"
    folder.mkdir()
    out = folder / "said"
    what = installed(folder, f"echo $TOKEN 100% >{shlex.quote(str(out))}")
    (folder / "secret words.env").write_text("TOKEN='x y'\n")
    line = cron_line(what, str(folder / "log"))
    minutes, rest = line.split(" * * * * ", 1)
    assert minutes == "5,15,25,35,45,55"
    command = rest.replace("\\%", "%")  # as crontab(5) has it; a bare % would end the line
    assert "%" not in rest.replace("\\%", "")
    subprocess.run(["/bin/sh", "-c", command], check=True, timeout=10, cwd="/")
    assert out.read_text() == "x y 100%\n"
    assert (folder / "log").read_text() == ""


def test_a_crontab_is_otherwise_left_alone(tmp_path: Path) -> None:
    what = installed(tmp_path, "true")
    other = dataclasses.replace(what, name="lab2")
    before = "# mine\n0 1 * * * true\n"
    once = with_line(before, what, cron_line(what, "log"))
    twice = with_line(once, what, cron_line(what, "log"))
    assert once == twice
    assert once.startswith(before)
    both = with_line(once, other, cron_line(other, "log"))
    assert (has_line(both, what), has_line(both, other), has_line(before, what)) == (True, True, False)
    assert without_line(without_line(both, what), other) == before
