"""Done when 6: whoever builds a variant, its id and its graph digest are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
from pathlib import Path
from orchestrator.variants.inspect import load_model
from orchestrator.variants.rules import all_recipes
from orchestrator.variants.shelf import Shelf, build_variants

shelf = Shelf(Path(sys.argv[1]))
models = [load_model(path, shelf=shelf) for path in sorted(Path(sys.argv[2]).glob("*.onnx"))]
built = build_variants([(model, recipe, ()) for model in models for recipe in all_recipes()], shelf)
print(json.dumps({f"{v.model.name} {v.recipe.name}": [v.variant_id, v.graph_digest, v.sha256] for v in built}))
"""


def test_four_fresh_processes_agree(models: Path, tmp_path: Path) -> None:
    answers = []
    for at in range(4):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / f"shelf{at}"), str(models)]
        answers.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    assert len(answers[0]) == 18
    for name, (variant_id, digest, _) in answers[0].items():
        assert {tuple(answer[name][:2]) for answer in answers} == {(variant_id, digest)}
    assert len({variant_id for variant_id, _, _ in answers[0].values()}) == 18, "each question has an id of its own"
    assert any(answers[0][name][2] != answers[1][name][2] for name in answers[0]), "bytes would not have done"
