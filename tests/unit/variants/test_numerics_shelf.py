"""Figures on the shelf: computed once, shared by twins, and no worker's death costs more than its variant."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle
from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.inspect import load_model
from orchestrator.variants.numerics_shelf import Pair, known_numerics, numerics_of
from orchestrator.variants.recipe import Recipe, Variant
from orchestrator.variants.rules import ONNX
from orchestrator.variants.shelf import Shelf, build_variants
from orchestrator.variants.tolerance import Precision, Verdict, verdict
from tests.unit.variants import nets

LEVELS = ("basic", "extended", "layout", "all")


def ort(level: str) -> Recipe:
    return Recipe(format=ModelFormat.ORT, level=OptimizationLevel(level), style=OptimizationStyle.FIXED)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


def pairs_for(path: Path, shelf: Shelf, *recipes: Recipe) -> list[Pair]:
    model = load_model(path, shelf=shelf)
    inputs = inputs_for(model, shelf.root / "inputs", dims={}, shelf=shelf)
    built = build_variants([(model, recipe, ()) for recipe in recipes], shelf)
    return [(one, inputs) for one in built if isinstance(one, Variant)]


def test_twins_share_and_the_source_itself_is_not_run(shelf: Shelf, mnist: Path) -> None:
    pairs = pairs_for(mnist, shelf, ONNX, *map(ort, LEVELS))
    assert set(known_numerics(pairs, shelf)) == {pairs[0][0].variant_id}
    found = dict(numerics_of(pairs, shelf, processes=2))
    words = [verdict(found[variant.variant_id]) for variant, _ in pairs]
    assert words == [Verdict.SOURCE, *[Verdict.WITHIN] * 4]
    assert len(list((shelf.root / "numerics").iterdir())) == 2  # basic; extended = layout = all
    assert known_numerics(pairs, shelf) == found
    figures = found[pairs[1][0].variant_id]
    assert figures.inputs == pairs[1][1].digest
    assert figures.outputs[0].n == 10


def test_what_is_known_is_told_without_the_runtime(shelf: Shelf, mnist: Path) -> None:
    pairs = pairs_for(mnist, shelf, ort("all"))
    dict(numerics_of(pairs, shelf))
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from orchestrator.variants.inputs import kept_inputs\n"
        "from orchestrator.variants.numerics_shelf import known_numerics\n"
        "from orchestrator.variants.shelf import Shelf\n"
        f"shelf = Shelf(Path({str(shelf.root)!r}))\n"
        f"pair = shelf.get({pairs[0][0].variant_id!r}), kept_inputs(shelf.root / 'inputs', {pairs[0][1].digest!r})\n"
        "print(len(known_numerics([pair], shelf)), *sorted({'onnx', 'onnxruntime', 'numpy'} & set(sys.modules)))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"]


def test_a_changed_source_is_the_reason_and_is_not_kept(shelf: Shelf, tmp_path: Path) -> None:
    path = nets.save(nets.conv_relu(), tmp_path / "net.onnx")
    pairs = pairs_for(path, shelf, ort("basic"), ort("all"))
    before = path.read_bytes()
    nets.save(nets.conv_relu(out=(1, 2, "h", "w")), path)
    found = dict(numerics_of(pairs, shelf))
    assert {one.unknown for one in found.values()} == {"net has changed since it was read"}
    assert known_numerics(pairs, shelf) == {}
    path.write_bytes(before)
    assert {verdict(one) for one in dict(numerics_of(pairs, shelf)).values()} == {Verdict.WITHIN}


def test_quantized_nets_have_their_own_tolerance(shelf: Shelf, tmp_path: Path) -> None:
    pairs = pairs_for(nets.save(nets.quantized(), tmp_path / "q.onnx"), shelf, *map(ort, LEVELS))
    found = dict(numerics_of(pairs, shelf))
    assert {one.precision for one in found.values()} == {Precision.INT8}
    assert {verdict(one) for one in found.values()} == {Verdict.WITHIN}


def test_a_runtime_style_file_is_run_with_what_it_recorded(shelf: Shelf, mnist: Path) -> None:
    runtime = Recipe(format=ModelFormat.ORT, level=OptimizationLevel.ALL, style=OptimizationStyle.RUNTIME)
    ((variant, inputs),) = pairs_for(mnist, shelf, runtime)
    found = dict(numerics_of([(variant, inputs)], shelf))[variant.variant_id]
    assert verdict(found) is Verdict.WITHIN


def test_what_cannot_be_read_here_says_why_and_the_others_are_compared(shelf: Shelf, mnist: Path) -> None:
    pairs = pairs_for(mnist, shelf, ort("basic"), ort("all"))
    broken = pairs[1][0].path
    broken.write_bytes(broken.read_bytes()[:8] + bytes(broken.stat().st_size - 8))
    found = dict(numerics_of(pairs, shelf))
    assert verdict(found[pairs[0][0].variant_id]) is Verdict.WITHIN
    assert verdict(found[pairs[1][0].variant_id]) is Verdict.UNKNOWN


def test_a_worker_that_dies_over_one_variant_costs_that_one(
    shelf: Shelf, mnist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = pairs_for(mnist, shelf, ort("basic"), ort("all"))
    fatal = pairs[1][0].variant_id
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "def look(event, args):\n"
        f"    if event == 'open' and {fatal!r} in str(args[0]):\n"
        "        os.write(2, b'out of something\\n'); os.kill(os.getpid(), signal.SIGSEGV)\n"
        "if 'orchestrator.variants.worker' in ' '.join(sys.orig_argv): sys.addaudithook(look)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(hook))
    found = dict(numerics_of(pairs, shelf))
    assert verdict(found[pairs[0][0].variant_id]) is Verdict.WITHIN
    assert "killed by signal 11: out of something" in found[fatal].unknown
    assert "killed" not in json.dumps([path.read_text() for path in (shelf.root / "numerics").iterdir()])


def test_a_variant_with_one_layer_changed_by_one_per_cent_is_out_of_tolerance(
    shelf: Shelf, mnist: Path, tmp_path: Path
) -> None:
    pairs = pairs_for(mnist, shelf, ort("all"))
    model = onnx.load(mnist)
    tensor = next(one for one in model.graph.initializer if one.name == "Parameter87")
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(1.01), tensor.name))
    other = Shelf(tmp_path / "other")
    ((wrong, _),) = pairs_for(nets.save(model, tmp_path / "wrong.onnx"), other, ort("all"))
    shutil.copyfile(wrong.path, pairs[0][0].path)
    (found,) = dict(numerics_of(pairs, shelf)).values()
    assert verdict(found) is Verdict.OUT
    assert found.share == pytest.approx(0.01, rel=0.2)
