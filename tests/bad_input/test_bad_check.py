"""`orch model check` on what is no model: one clear error, exit 2, nothing on stdout; and one over 2 GB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.bad_input.conftest import Refused
from tests.orch_cli import Orch
from tests.unit.variants import check_nets, nets

Make = Callable[[Path], Path]


def cut(folder: Path) -> Path:
    (folder / "net.onnx").write_bytes(check_nets.plain().SerializeToString()[:-30])
    return folder / "net.onnx"


def no_data(folder: Path) -> Path:
    path = nets.external(folder / "net")
    (folder / "net" / "weights.bin").unlink()
    return path


def a_plan(folder: Path) -> Path:
    (folder / "plan.toml").write_text('models = ["net.onnx"]\n')
    return folder / "plan.toml"


BAD: Mapping[str, tuple[Make, str]] = {
    "cut off": (cut, "not an ONNX model"),
    "no such file": (lambda folder: folder / "nowhere.onnx", "no such file"),
    "missing external data": (no_data, "no such file"),
    "escaping external data": (lambda folder: nets.external(folder / "net", "../out.bin"), "leaves the model's folder"),
    "a cycle": (lambda folder: nets.save(check_nets.cyclic(), folder / "net.onnx"), "cycle"),
    "an undeclared tensor": (lambda folder: nets.save(check_nets.undeclared(), folder / "net.onnx"), "nothing makes"),
    "a custom domain": (
        lambda folder: nets.save(check_nets.foreign(), folder / "net.onnx"),
        "of domain com.example (Relu)",
    ),
    "a plan": (a_plan, "a plan is not a model"),
}


@pytest.mark.parametrize("what", BAD)
def test_one_clear_error(what: str, orch: Orch, refused: Refused, tmp_path: Path) -> None:
    make, words = BAD[what]
    ended = orch("model", "check", make(tmp_path))
    refused(ended, words)
    assert len(ended.err.splitlines()) == 1, ended


def test_over_2_gb_is_said_without_loading_it(orch: Orch, tmp_path: Path) -> None:
    """The weights are a hole in their file: it takes no room on the disk."""
    ended = orch("model", "check", check_nets.huge(tmp_path))
    assert ended.code == 0, ended
    assert "blocks  over-2gb" in ended.out
    assert "Mend these first: over 2 GB." in " ".join(ended.out.split())
    assert "NNAPI: not told: over 2 GB" in ended.out
