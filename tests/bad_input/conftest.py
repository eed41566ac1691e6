"""One home for a module, an adb server that sees no phone, and what a refusal looks like."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.no_phones import empty_server_port
from tests.orch_cli import Ended, Orch
from tests.unit.store.sample_home import make_home

Refused = Callable[..., None]


@pytest.fixture
def refused() -> Refused:
    """Check one clear refusal: the words on stderr, the exit code, no traceback, nothing on stdout."""

    def check(ended: Ended, *words: str, code: int = 2) -> None:
        assert ended.code == code, ended
        assert "Traceback" not in ended.err, ended
        assert "a bug" not in ended.err, ended
        for word in words:
            assert word in ended.err, ended
        assert ended.out == "", ended

    return check


@pytest.fixture
def model(mnist: Path, tmp_path: Path) -> Path:
    """A copy of the small model, to be named, cut or overwritten."""
    return Path(shutil.copy(mnist, tmp_path / "mnist.onnx"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Orch]:
    """The command line over one home for a module, so that its phone starts once."""
    cli = Orch(tmp_path_factory.mktemp("shared") / "home")
    yield cli
    cli.end()


@pytest.fixture(scope="session")
def empty_server() -> int:
    """The port of an adb server of our own that looks for no phone anywhere."""
    return empty_server_port()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run that has not ended, in one file: nothing of the ledger waits in its journal."""
    home = make_home(tmp_path_factory.mktemp("kept"))
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        ledger.execute("pragma wal_checkpoint(truncate)")
    ledger.close()
    return home


@pytest.fixture
def there(orch: Orch, kept: Path) -> Orch:
    """The command line over a copy of that home."""
    shutil.copytree(kept, orch.home)
    return orch
