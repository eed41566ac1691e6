"""A disk that is full: a small tmpfs of the test's own, in a mount namespace that nobody else sees. Whatever a command
was about to write is there whole or not at all, and with room the same command goes through."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.orch_cli import Ended, Orch

OnFull = Callable[..., tuple[Ended, list[str], Ended]]

_SCRIPT = """
set -e
mkdir -p "$1"
mount -t tmpfs -o size="$2" none "$1"
shift 2
set +e
{command} >"$TEXTS/out" 2>"$TEXTS/err"
echo $? >"$TEXTS/code"
find {full} -type f >"$TEXTS/left"
mount -o remount,size=200m {full}
{command} >"$TEXTS/out2" 2>"$TEXTS/err2"
echo $? >"$TEXTS/code2"
"""


@pytest.fixture
def on_full(orch: Orch, tmp_path: Path) -> OnFull:
    """Run a command with a folder on a disk of so many bytes, then again with room: how it ended, the files that the
    first left there, how the second ended."""
    unshare = shutil.which("unshare")
    if (
        unshare is None
        or subprocess.run([unshare, "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], check=False).returncode
    ):
        pytest.skip("no mount namespaces (unshare -rm): a full disk is not tested")

    def run(folder: Path, size: str, *words: str | Path, temporary: bool = False) -> tuple[Ended, list[str], Ended]:
        texts = tmp_path / "texts"
        texts.mkdir(exist_ok=True)
        command = shlex.join([sys.executable, "-m", "orchestrator", *map(str, words)])
        script = _SCRIPT.format(command=command, full=shlex.quote(str(folder)))
        env = {**orch.env, "TEXTS": str(texts), **({"TMPDIR": str(folder)} if temporary else {})}
        subprocess.run(
            [unshare, "-rm", "sh", "-c", script, "sh", str(folder), size],
            env=env, cwd=tmp_path, check=True, timeout=120,
        )  # fmt: skip
        said = {path.name: path.read_text() for path in texts.iterdir()}
        first, second = (Ended(int(said[f"code{at}"]), said[f"out{at}"], said[f"err{at}"]) for at in ("", "2"))
        return first, said["left"].split(), second

    return run


def variants(left: list[str]) -> list[str]:
    """Files of builds, finished or not, among what is left."""
    return [path for path in left if "/variants/" in path or "/tmp/" in path.partition("/shelf/")[2]]


def test_a_build(on_full: OnFull, orch: Orch, mnist: Path) -> None:
    words = ("model", "build", mnist, "--recipe", "basic", "--recipe", "onnx", "--check")
    first, left, second = on_full(orch.home, "28k", *words)
    assert "No space left on device" in first.out, first
    assert "bytes are free on the disk" in first.out, first
    assert variants([path for path in left if "/shelf/" in path]) == []
    assert second.code == 0, second
    assert "No space" not in second.out


@pytest.mark.parametrize("size", ["4k", "8k", "16k"])
def test_what_is_known_of_a_model_and_its_inputs(on_full: OnFull, orch: Orch, mnist: Path, size: str) -> None:
    """Before anything is built, the shelf and the inputs are written to."""
    first, left, second = on_full(orch.home, size, "model", "diff", mnist, f"{mnist}:basic")
    assert first.code == 2, first
    assert "No space left on device (make room, or give --home DIR" in first.err, first
    assert "Traceback" not in first.err
    assert not [path for path in left if path.endswith(".tmp")]
    assert second.code == 0, second


def test_a_diff(on_full: OnFull, orch: Orch, mnist: Path) -> None:
    first, left, second = on_full(orch.home, "28k", "model", "diff", mnist, f"{mnist}:basic")
    assert first.code == 2, first
    assert "bytes are free on the disk" in first.err, first
    assert variants(left) == []
    assert second.code == 0, second


def test_a_check_needs_room_for_what_is_temporary_only(on_full: OnFull, mnist: Path, tmp_path: Path) -> None:
    first, left, second = on_full(tmp_path / "full", "8k", "model", "check", mnist, temporary=True)
    assert first.code == 2, first
    assert "No space left on device (make room" in first.err, first
    assert left == []
    assert second.code == 0, second


def test_a_run(on_full: OnFull, orch: Orch, mnist: Path, tmp_path: Path) -> None:
    """The shelf alone is full: what could not be built is dropped with the reason, what is there is measured."""
    words = (
        "run",
        mnist,
        "--preset",
        "cpu",
        "--rounds",
        "1",
        "--iterations",
        "3",
        "--device",
        "virtual:pixel-8",
        "--all",
    )
    first, left, second = on_full(orch.home / "shelf", "40k", *words)
    assert first.code == 0, first
    assert "cpu onnx all" in first.out
    assert "bytes are free on the disk" in " ".join(first.out.split()), first
    kept = {Path(path).name for path in variants(left)}
    assert kept == {"variant.json", "model.onnx"}, left
    assert second.code == 0, second
    assert "bytes are free on the disk" not in " ".join(second.out.split())
