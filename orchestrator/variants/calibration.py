"""What a quantization takes its ranges from: the user's own inputs, else seeded ones, and then that is said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.variants.inputs import inputs_for
from orchestrator.variants.recipe import Calibration, Model
from orchestrator.variants.shelf import Shelf

RANDOM_SETS = 4
_DATA_SETS = "test_data_set_*"


def calibration_for(model: Model, dims: Mapping[str, int], directory: Path | None, shelf: Shelf) -> Calibration:
    """The input sets to calibrate `model` on, kept where the shelf looks for them.

    Every `test_data_set_*` in `directory`, or the one that it is; sets from seeds where there is none. Raises
    UsageError as `inputs_for`; OSError.
    """
    if directory is None:
        made = [inputs_for(model, shelf.inputs, dims=dims, seed=seed, shelf=shelf) for seed in range(RANDOM_SETS)]
        return Calibration(digests=tuple(one.digest for one in made), random=True)
    folders = sorted(path for path in directory.glob(_DATA_SETS) if path.is_dir()) or [directory]
    given = [inputs_for(model, shelf.inputs, dims=dims, directory=folder, shelf=shelf) for folder in folders]
    return Calibration(digests=tuple(dict.fromkeys(one.digest for one in given)), random=False)
