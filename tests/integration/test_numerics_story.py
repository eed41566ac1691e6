"""Through the command line: variants beside their sources, and one that computes something else never wins."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from orchestrator.variants.samples import ALL, write_samples
from tests.orch_cli import Orch

PHONE = ("--device", "virtual:pixel-8", "--iterations", "20", "--rounds", "3")


def with_a_layer_scaled(path: Path, target: Path) -> Path:
    """MNIST with 1.01 times the weights of its second convolution, under the same name."""
    model = onnx.load(path)
    tensor = next(one for one in model.graph.initializer if one.name == "Parameter87")
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1.01), tensor.name))
    target.mkdir()
    (target / path.name).write_bytes(model.SerializeToString())
    return target / path.name


def replace_file(path: Path, other: Path) -> None:
    """What a converter with a bug would have put on the shelf: another file, with its own sha256."""
    shutil.copyfile(other, path)
    entry = path.parent.parent / "variant.json"
    data = json.loads(entry.read_text())
    entry.write_text(json.dumps({**data, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}))


def built(orch: Orch, *words: str | Path) -> dict[str, dict[str, object]]:
    ended = orch("model", "build", *words, "--json")
    assert ended.code == 0, ended
    return {row["recipe"]: row for row in json.loads(ended.out)}


@pytest.mark.timeout(300)
def test_a_variant_with_one_layer_changed_by_one_per_cent_never_wins(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    recipes = ("--recipe", "all", "--recipe", "basic")
    wrong = built(orch, with_a_layer_scaled(mnist, tmp_path / "wrong"), *recipes)["all"]["path"]
    mine = built(orch, mnist, *recipes)
    assert "verdict" not in mine["all"], "nobody has compared it yet"
    replace_file(Path(str(mine["all"]["path"])), Path(str(wrong)))
    plan = tmp_path / "three.toml"
    plan.write_text(f'models = ["{mnist}"]\n[[matrix]]\nrecipe = ["onnx", "all", "basic"]\n')
    ended = orch("run", plan, *PHONE, "--all")
    assert ended.code == 0, ended
    assert "mnist all is out of tolerance and can't win: output Plus214_Output_0 is off by 0.01" in ended.err
    report = json.loads(orch("report", "--format", "json").out)
    (phone,) = report["models"][0]["phones"]
    rows = {row["row"]: row for row in phone["rows"]}
    assert rows["cpu all"]["rank"] is None
    assert rows["cpu all"]["p50_s"] > 0
    assert rows["cpu all"]["reason"].startswith("out of tolerance: output Plus214_Output_0 is off by 0.01")
    assert {rows["default"]["rank"], rows["cpu basic"]["rank"]} <= {1, 2}
    assert phone["best"]["row"] != "cpu all"
    verdicts = {row["recipe"]: row["verdict"] for row in report["models"][0]["variants"]}
    assert verdicts == {"onnx": "the source itself", "all": "out of tolerance", "basic": "within"}
    again = orch("run", plan, *PHONE)  # known from the start now
    assert again.code == 0, again
    (phone,) = json.loads(orch("report", "--format", "json").out)["models"][0]["phones"]
    assert next(row for row in phone["rows"] if row["row"] == "cpu all")["rank"] is None
    checked = orch("model", "build", mnist, *recipes, "--check")
    assert checked.code == 1
    assert "out of tolerance: output Plus214_Output_0 is off by 0.01" in " ".join(checked.out.split())


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", list(ALL))
def test_every_recipe_of_every_sample_computes_what_its_source_does(orch: Orch, tmp_path: Path, name: str) -> None:
    (path,) = write_samples(tmp_path / "samples", [name])
    ended = orch("model", "build", path, "--check", "--json")
    assert ended.code == 0, ended
    rows = json.loads(ended.out)
    assert len(rows) >= 9
    for row in rows:
        assert row["verdict"] in ("within", "the source itself"), row
        assert row["error"] <= 1e-4
        assert row["cosine"] >= 0.9999
    assert {row["precision"] for row in rows if row["recipe"] != "onnx"} == {"int8" if "qdq" in name else "float32"}


def test_inputs_of_one_s_own_are_what_is_compared_on(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    zeros = numpy_helper.from_array(np.zeros((1, 1, 28, 28), np.float32), "Input3")
    (folder / "input_0.pb").write_bytes(zeros.SerializeToString())
    mine, seeded = (built(orch, mnist, "--check", *more)["all"]["outputs"] for more in (("--inputs", folder), ()))
    assert isinstance(mine, list)
    assert isinstance(seeded, list)
    assert 0 < mine[0]["max_ref"] != seeded[0]["max_ref"] > 0
