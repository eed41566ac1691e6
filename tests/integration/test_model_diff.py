"""`orch model diff` through the command line: what the seeds' MNIST loses to NNAPI, and what can't be compared."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from rich.cells import cell_len

from orchestrator.variants.samples import ALL, write_samples
from tests.orch_cli import Orch


def difference(orch: Orch, *words: str | Path) -> dict[str, object]:
    ended = orch("model", "diff", *words, "--json")
    assert ended.code == 0, ended
    found: dict[str, object] = json.loads(ended.out)
    return found


def steps(found: dict[str, object], change: str) -> list[tuple[list[str], list[str]]]:
    rows = found["steps"]
    assert isinstance(rows, list)
    return [
        ([label for label, _ in row["before"]], [label for label, _ in row["after"]])
        for row in rows
        if row["change"] == change
    ]


def nnapi(found: dict[str, object], side: str) -> tuple[int, int, int]:
    part = found[side]["nnapi"]  # type: ignore[index]
    return part["claimed"], part["nodes"], len(part["partitions"])


def test_fusing_takes_nodes_from_nnapi(orch: Orch, mnist: Path) -> None:
    found = difference(orch, f"{mnist}:basic", f"{mnist}:extended")
    assert steps(found, "fused") == [(["Conv", "Relu"], ["com.microsoft:FusedConv"])] * 2
    assert nnapi(found, "before") == (8, 8, 1)
    assert nnapi(found, "after") == (4, 6, 2)
    lost = [row for row in found["steps"] if row["nnapi_before"][0] and not row["nnapi_after"][0]]  # type: ignore[attr-defined]
    assert [row["change"] for row in lost] == ["fused", "fused"]
    ended = orch("model", "diff", f"{mnist}:basic", f"{mnist}:extended")
    assert "2× Conv+Relu → com.microsoft:FusedConv (NNAPI takes it no more)" in ended.out
    assert "1 partition with 8/8 nodes → 2 partitions with 4/6 nodes" in ended.out


def test_the_source_beside_a_variant_and_another_api_level(orch: Orch, mnist: Path) -> None:
    found = difference(orch, mnist, f"{mnist}:basic", "--api", "27")
    assert steps(found, "fused") == [
        (["Conv", "Add"], ["Conv"]),
        (["Conv", "Add"], ["Conv"]),
        (["MatMul", "Add"], ["Gemm"]),
    ]
    assert steps(found, "folded") == [(["Reshape"], [])]
    assert steps(found, "added") == steps(found, "removed") == []
    assert nnapi(found, "before") == nnapi(found, "after") == (2, 8, 2)


def test_a_renamed_model_is_the_same_nodes(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    model = onnx.load(mnist)
    for node in model.graph.node:
        node.name = f"other/{node.name}"
        for names in (node.input, node.output):
            names[:] = [f"other_{name}" for name in names]
    for item in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        item.name = f"other_{item.name}"
    other = tmp_path / "other.onnx"
    onnx.save(model, other)
    found = difference(orch, mnist, other)
    assert {row["change"] for row in found["steps"]} == {"renamed"}  # type: ignore[attr-defined]
    assert len(found["steps"]) == 12  # type: ignore[arg-type]


@pytest.mark.timeout(300)
# the large ones say the same of more nodes
@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith(("resnet", "densenet", "inception"))])
def test_every_sample_beside_its_all_fits_the_screen(orch: Orch, tmp_path: Path, name: str) -> None:
    (path,) = write_samples(tmp_path / "samples", [name])
    for more in ((), ("--all",)):
        ended = orch("model", "diff", path, f"{path}:all", *more)
        assert ended.code == 0, ended
        assert [line for line in ended.out.splitlines() if cell_len(line) > 80] == []
        assert "nodes" in ended.out


def test_what_cannot_be_compared_says_what_and_the_mend(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    for words, said in (
        ((mnist, tmp_path / "none.onnx"), "none.onnx: no such file"),
        ((mnist, f"{mnist}:basik"), "basic"),
        ((mnist, f"{mnist}:basic", "--api", "26"), "--api: 26: NNAPI begins with 27"),
        ((mnist, f"{tmp_path / 'none.onnx'}:basic"), "no such file"),
    ):
        ended = orch("model", "diff", *words)
        assert ended.code == 2, ended
        assert said in ended.err, ended
        assert "a bug" not in ended.err
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(mnist.read_bytes()[:-2000])
    ended = orch("model", "diff", cut, mnist)
    assert ended.code == 2, ended
    assert "cut.onnx" in ended.err
