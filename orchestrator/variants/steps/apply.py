"""From a step's word to the change it stands for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import VariantError
from orchestrator.variants.naming import shown
from orchestrator.variants.recipe_words import OPSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a step may need beside the model: a folder of its own, folders with `input_<k>.pb` to calibrate on, and
    libraries of custom operators."""

    scratch: Path
    samples: tuple[Path, ...] = ()
    custom_ops: tuple[str, ...] = ()


class NothingToDo(VariantError):
    """A step has nothing to change in this model."""


Step = Callable[[Any, str, Bench], Any]
"""Takes a ModelProto with all its weights inside, the step as it is written, and a bench; gives the changed model,
which may be the same object. Raises NothingToDo, and VariantError where it can't be done."""

_PLACES = {
    "weights-inside": "weights:move_inside",
    "flush-denormals": "weights:flush_denormals",
    OPSET: "opset:to_opset",
    "fp16": "halves:to_half",
    "qdq-u8u8": "quantize:to_qdq",
    "qdq-u8s8": "quantize:to_qdq",
    "no-tf-transposes": "layout:without_transposes",
    "transformer-fusions": "fusions:fused",
    "nnapi-rewrites": "rewrite:rewritten",
}
LARGE = frozenset({"weights-inside", "flush-denormals"})
"""Steps that don't need the model to fit into one protobuf."""


def apply_steps(model: Any, steps: tuple[str, ...], bench: Bench) -> Any:
    """The model after all steps, in order. Raises VariantError that names the step.

    Where one has nothing to change, the others are done all the same; where none has, that is the error.
    """
    idle: list[str] = []
    for step in steps:
        module, _, name = _PLACES[step.partition("=")[0]].partition(":")
        act: Step = getattr(importlib.import_module(f"orchestrator.variants.steps.{module}"), name)
        try:
            model = act(model, step, bench)
        except NothingToDo as error:
            idle.append(f"{step}: {error}")
        except VariantError as error:
            raise VariantError(f"{step}: {error}") from error
        except MemoryError as error:
            raise VariantError(f"{step}: not enough memory") from error
        except Exception as error:  # the tools below raise whatever they please
            words = shown(" ".join(str(error).split()) or type(error).__name__)
            raise VariantError(f"{step}: {type(error).__name__}: {words}") from error
    if len(idle) == len(steps):
        raise VariantError("; ".join(idle))
    return model
