"""A real PostgreSQL for tests: a cluster of its own, an unprivileged user, a free port of loopback, gone at the end.

Debian's package is used (`make system-deps`). Nothing of an installed cluster is touched.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

NAME = "postgresql"
"""The system package that tests name when they skip."""


def programs() -> Path | None:
    """The folder of the newest initdb and pg_ctl; None where none is installed."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")]
    if found:
        return max(found, key=lambda path: int(path.parent.parent.name)).parent
    on_path = shutil.which("pg_ctl")
    return Path(on_path).resolve().parent if on_path else None


class PostgresServer:
    """A running cluster. `fresh()` gives the URL of an empty database; `stop` and `start` are what an outage is."""

    def __init__(self, folder: Path, bin_dir: Path) -> None:
        self._folder, self._bin = folder, bin_dir
        self._numbers = count(1)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def _run(self, program: str, *words: object) -> None:
        command = [str(self._bin / program), *map(str, words)]
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]
        done = subprocess.run(
            command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=60, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout.decode(errors="replace")

    def init(self) -> None:
        """Make the cluster; the test's user may do all there, from this computer only."""
        self._run(
            "initdb", "-D", self._folder / "data", "-U", "orch", "-A", "trust", "--no-sync", "--locale=C.UTF-8",
            "--encoding=UTF8",
        )  # fmt: skip

    def start(self) -> None:
        """Up, and answering."""
        options = f"-h 127.0.0.1 -p {self.port} -k {self._folder} -c fsync=off -c max_connections=60"
        self._run("pg_ctl", "-D", self._folder / "data", "-l", self._folder / "log", "-w", "-o", options, "start")

    def stop(self) -> None:
        """Down at once, as by a crash."""
        self._run("pg_ctl", "-D", self._folder / "data", "-m", "immediate", "-w", "stop")

    def fresh(self, *more: str) -> str:
        """The URL of a new, empty database; `more` goes to createdb."""
        name = f"orch_{next(self._numbers)}"
        self._run(
            "createdb", "-h", "127.0.0.1", "-p", self.port, "-U", "orch", "--template=template0", "--encoding=UTF8",
            "--locale=C.UTF-8", *more, name,
        )  # fmt: skip
        return f"postgresql://orch@127.0.0.1:{self.port}/{name}"


@contextmanager
def postgres_server(bin_dir: Path) -> Iterator[PostgresServer]:
    """A cluster that runs inside the block."""
    folder = Path(tempfile.mkdtemp(prefix="orch-pg-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        server = PostgresServer(folder, bin_dir)
        server.init()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def use(home: Path, url: str) -> None:
    """Let a home keep its ledger there."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "lab.toml").write_text(f'[lab]\nledger = "{url}"\n', encoding="utf-8")
