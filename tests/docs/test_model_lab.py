"""docs/model-lab.md quotes what `orch model table` prints: made again for the small nets, read for the large ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

from orchestrator.variants.samples import ALL, write_samples
from tests.orch_cli import Orch

PAGE = Path(__file__).parent.parent.parent / "docs" / "model-lab.md"
MARK = "<!-- Below this line stands what `make model-lab` wrote. -->\n"
SMALL = ("control_flow", "mnist", "nhwc", "qdq_u8u8", "shufflenet", "transformer")
COLUMNS = ["variant", "nodes", "fused", "own", "NNAPI", "parts", "multiply-adds", "size", "build", "error"]


@dataclass(frozen=True)
class Section:
    """A model's part of the page: rows by variant, and every other line."""

    rows: dict[str, dict[str, str]]
    words: list[str]


def sections(text: str) -> dict[str, Section]:
    head, *parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    assert head.startswith("onnxruntime ")
    found = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        lines = body.splitlines()
        cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
        assert cells[0] == COLUMNS
        rows = {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in cells[2:]}
        found[name] = Section(rows, [line for line in lines if line and not line.startswith("|")])
    return found


def quoted() -> str:
    return PAGE.read_text(encoding="utf-8").partition(MARK)[2]


def without_what_differs_by_computer(row: dict[str, str]) -> dict[str, str]:
    """Build time, and the last digits of an error: another CPU adds up in another order."""
    return {**row, "build": "", "error": row["error"].partition(" ")[0] if row["error"].startswith("cos") else ""}


@pytest.mark.timeout(300)
def test_the_small_nets_come_out_as_quoted(orch: Orch, tmp_path: Path) -> None:
    write_samples(tmp_path / "samples", SMALL)
    ended = orch("model", "table", tmp_path / "samples")
    assert ended.code == 0, ended
    made, told = sections(ended.out), sections(quoted())
    assert ended.out.partition(",")[0] == f"onnxruntime {version('onnxruntime')}"
    assert ended.out.splitlines()[0].split(", x86_64")[0] == quoted().splitlines()[0].split(", x86_64")[0]
    assert tuple(made) == SMALL
    for name in SMALL:
        assert made[name].words == told[name].words
        assert list(made[name].rows) == list(told[name].rows)
        for variant, row in made[name].rows.items():
            assert without_what_differs_by_computer(row) == without_what_differs_by_computer(told[name].rows[variant])
            require_within(row)
    again = orch("model", "table", tmp_path / "samples" / "mnist.onnx")
    assert sections(again.out)["mnist"] == made["mnist"], "what is on the shelf is told again, build times too"


def test_every_sample_and_every_step_is_on_the_page_within_its_tolerance() -> None:
    told = sections(quoted())
    assert set(told) == set(ALL)
    for section in told.values():
        assert {"onnx", "extended"} <= {name.strip("`") for row in section.rows for name in row.split(" = ")}
        assert all(float(row["nodes"]) > 0 for row in section.rows.values())
        for row in section.rows.values():
            require_within(row)
    whole = quoted()
    for step in (
        "opset=15",
        "qdq-u8u8",
        "qdq-u8s8",
        "fp16",
        "no-tf-transposes",
        "transformer-fusions",
        "nnapi-rewrites",
    ):
        assert re.search(rf"^\| `[^|]*\+{step}", whole, flags=re.MULTILINE), step


def require_within(row: dict[str, str]) -> None:
    """Cosines as for 8 bits, which is the least; shares as for float32."""
    error = row["error"]
    assert float(error[4:]) >= 0.98 if error.startswith("cos ") else float(error) <= 1e-4, row
