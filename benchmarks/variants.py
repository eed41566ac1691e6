"""Building all variants of the light CNNs, cold and cached, against onnxruntime's own converter, one call a level.

Both sides start as fresh processes on the same models: six CNNs that the onnx package carries. Ours makes the `.onnx`
and four levels in two styles, with graph digests, operators before and after, sizes and format versions; theirs the
same eight files each with its list of required operators.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOAL_COLD, GOAL_CACHED = 0.8, 0.05
LEVELS = ("basic", "extended", "layout", "all")
NETS = ("squeezenet", "shufflenet", "resnet50", "densenet121", "inception_v1", "inception_v2")
VARIANTS = len(NETS) * (2 * len(LEVELS) + 1)
ROOT = Path(__file__).resolve().parent.parent

OURS = """
import json, sys
from pathlib import Path
from orchestrator.variants.inspect import load_model
from orchestrator.variants.recipe import Variant
from orchestrator.variants.rules import all_recipes
from orchestrator.variants.shelf import Shelf, build_variants

shelf = Shelf(Path(sys.argv[1]))
models = [load_model(path, shelf=shelf) for path in sorted(Path(sys.argv[2]).glob("*.onnx"))]
built = build_variants([(model, recipe, ()) for model in models for recipe in all_recipes()], shelf)
print(json.dumps([
    [v.model.name, v.recipe.name, v.operators_before, v.operators_after, v.size_bytes, v.ort_format, v.graph_digest]
    for v in built if isinstance(v, Variant)
]))
"""


def run() -> dict[str, Any]:
    """The row of the speed table: goal, figure, whether it is met, and the seconds behind it."""
    with tempfile.TemporaryDirectory(prefix="orch-bench-variants-") as name:
        folder = Path(name)
        models = _models(folder / "models")
        _timed([sys.executable, "-c", "import onnx, onnxruntime"])  # both sides find the libraries in the page cache
        cold_s = _ours(folder / "shelf", models)
        cached_s = statistics.median(_ours(folder / "shelf", models) for _ in range(3))
        theirs_s = sum(_theirs(folder / "theirs" / level, models, level) for level in LEVELS)
    cold, cached = cold_s / theirs_s, cached_s / theirs_s
    return {
        "what": f"building all variants of {len(NETS)} light CNNs, reports included",
        "against": "the converter's command line per level, same set",
        "goal": f"≤ {GOAL_COLD} cold, ≤ {GOAL_CACHED} cached",
        "figure": f"{cold:.3f} cold, {cached:.4f} cached",
        "met": cold <= GOAL_COLD and cached <= GOAL_CACHED,
        "variants": VARIANTS,
        "cold_ratio": cold,
        "cached_ratio": cached,
        "cold_s": cold_s,
        "cached_s": cached_s,
        "their_s": theirs_s,
    }


def _models(folder: Path) -> Path:
    import onnx  # noqa: PLC0415

    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    folder.mkdir()
    for net in NETS:
        shutil.copyfile(light / f"light_{net}.onnx", folder / f"{net}.onnx")
    time.sleep(0.1)  # as settled as a user's files, else the first look at them is not remembered
    return folder


def _timed(command: list[str], **env: str) -> tuple[float, str]:
    started_s = time.perf_counter()
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **env}, timeout=600
    )
    return time.perf_counter() - started_s, done.stdout


def _ours(shelf: Path, models: Path) -> float:
    seconds, out = _timed([sys.executable, "-c", OURS, str(shelf), str(models)])
    if len(json.loads(out)) != VARIANTS:
        raise RuntimeError("not every variant was built")
    return seconds


def _theirs(out: Path, models: Path, level: str) -> float:
    out.mkdir(parents=True)
    tool = "onnxruntime.tools.convert_onnx_models_to_ort"
    command = [sys.executable, "-m", tool, "--output_dir", str(out), str(models)]
    seconds, _ = _timed(command, ORT_CONVERT_ONNX_MODELS_TO_ORT_OPTIMIZATION_LEVEL=level)
    if len(list(out.glob("*.ort"))) != 2 * len(NETS):
        raise RuntimeError(f"the converter did not make every file at level {level}")
    return seconds


if __name__ == "__main__":
    print(json.dumps(run(), indent=2, ensure_ascii=False))
