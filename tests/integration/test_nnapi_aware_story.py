"""On a phone the NNAPI-aware variant runs as `.onnx` with `-e nnapi -o 99` does, where NNAPI is asked before fusion."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.orch_cli import Orch
from tests.unit.variants import nets
from tests.unit.variants.hostile_net import hostile_middle

FUSED = {"NNAPI": 2, "Gelu": 1, "Reshape": 1, "FusedConv": 1}
PLAIN = {"NNAPI": 2, "Div": 1, "Erf": 1, "Add": 1, "Mul": 2, "Reshape": 1, "Conv": 1, "HardSigmoid": 1}


def traces(home: Path) -> Iterator[Counter[str]]:
    """What ran in each trace that the home has evidence of, NNAPI's models under one name."""
    for path in (one for one in (home / "evidence").rglob("*") if one.is_file()):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if b"_kernel_time" in data and data.startswith(b"["):
            events = [one for one in json.loads(data) if one.get("name", "").endswith("_kernel_time")]
            ran = {one["name"]: one["args"] for one in events}
            yield Counter("NNAPI" if args["provider"].startswith("Nnapi") else args["op_name"] for args in ran.values())


@pytest.mark.timeout(300)
def test_traces_of_both_are_one(orch: Orch, tmp_path: Path) -> None:
    nets.save(hostile_middle(), tmp_path / "hostile.onnx")
    plan = tmp_path / "aware.toml"
    plan.write_text(
        'models = ["hostile.onnx"]\nrounds = 1\niterations = 5\ntrace = true\n'
        'device = ["virtual:pixel-3", "virtual:pixel-8"]\n'
        '[[matrix]]\nrecipe = ["onnx", "basic", "nnapi-aware"]\nep = ["nnapi"]\n'
    )
    ended = orch("run", plan)
    assert ended.code == 0, ended
    told = [ran for ran in traces(orch.home) if ran["NNAPI"]]
    assert told.count(Counter(FUSED)) == 4, "onnx and nnapi-aware, on two phones"
    assert told.count(Counter(PLAIN)) == 2, "basic, on two phones"
    assert len(told) == 6
    phones = json.loads(orch("report", "--format", "json").out)["models"][0]["phones"]
    for phone in phones:
        cases = {case["row"]: case for case in phone["nnapi"]["cases"]}
        assert all(case["as_predicted"] for case in cases.values())
        claimed = {row: (case["nodes_claimed"], case["partitions"]) for row, case in cases.items()}
        assert set(claimed.values()) == {(7, 2)}
        assert cases["nnapi nnapi-aware"]["nodes"] == 10, "of the phone with the least API level, 28, on both"
