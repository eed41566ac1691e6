"""`orch model check` on what is no model, beside `test_bad_everywhere`; and one over 2 GB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.bad_input.conftest import Refused
from tests.orch_cli import Orch
from tests.unit.variants import check_nets

Make = Callable[[Path], Path]


def a_plan(folder: Path) -> Path:
    (folder / "plan.toml").write_text('models = ["net.onnx"]\n')
    return folder / "plan.toml"


BAD: Mapping[str, tuple[Make, str]] = {
    "no such file": (lambda folder: folder / "nowhere.onnx", "no such file"),
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
