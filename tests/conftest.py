"""Fixtures that several folders share: a home of its own, the real CLI, models made once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.no_phones import mark_session, servers_for_real_phones
from tests.orch_cli import Orch
from tests.postgres_server import PostgresServer, postgres_server, programs

NO_SYSTEMD = "this computer lets nobody start a systemd of one's own"
"""Containers without the right to mount: systemd-analyze verifies the units there, too."""
OTHER_PYTHON = "ORCH_TEST_CONVERTER"
"""The path of a Python with another onnxruntime than ours, for the tests that convert with one."""
ON_A_REAL_PHONE = "a real phone"
"""How the reason begins for what a test does not do to a phone that is not its own."""
ROOT = Path(__file__).parent.parent

# The tests start hundreds of Pythons; none of them shall compile everything anew, nor each worker rewrite every assert.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nor keep threads that spin for work which never comes
mark_session()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two models of the demo."""
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, "-m", "orchestrator.variants.samples", str(folder)], check=True, cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def mnist(models: Path) -> Path:
    """The small model."""
    return next(path for path in models.iterdir() if "mnist" in path.name)


@pytest.fixture
def orch(tmp_path: Path) -> Iterator[Orch]:
    """The command line over a home of its own; its virtual phones are ended afterwards."""
    cli = Orch(tmp_path / "home")
    yield cli
    cli.end()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL of the tests' own."""
    bin_dir = programs()
    if bin_dir is None:
        pytest.skip("postgresql is not installed (make system-deps)")
    with postgres_server(bin_dir) as server:
        yield server


def pytest_configure(config: pytest.Config) -> None:
    """`ORCH_CI` makes a missing system tool a failure instead of a skip."""
    config.stash[_CI] = bool(os.environ.get("ORCH_CI"))


_CI = pytest.StashKey[bool]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Skips are said aloud, by name, at the end."""
    skipped = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        terminalreporter.write_line(f"SKIPPED {report.nodeid}: {report.longrepr[2] if report.longrepr else ''}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The adb server for real phones was left alone, unless a phone is to be tested. Under `ORCH_CI` a test that was
    skipped for want of a system tool fails the run; phones and other releases of onnxruntime are not system tools."""
    for_a_phone = bool(os.environ.get("ORCH_TEST_SERIAL"))
    if not for_a_phone and not hasattr(session.config, "workerinput") and (started := servers_for_real_phones()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        raise pytest.UsageError(f"a test has started the adb server for real phones: process {started}")
    if not session.config.stash.get(_CI, False) or exitstatus != 0:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    optional = ("ORCH_TEST_SERIAL", OTHER_PYTHON, NO_SYSTEMD, ON_A_REAL_PHONE)
    unwanted = [one.nodeid for one in skipped if not any(name in str(one.longrepr) for name in optional)]
    if unwanted:
        reporter.write_line(f"{len(unwanted)} skipped under ORCH_CI: {', '.join(unwanted)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
