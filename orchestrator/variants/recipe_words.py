"""Pure: recipes as a person writes them, `all runtime+opset=15`: a base and steps, and what each word means."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform
from orchestrator.errors import Problem, UsageError
from orchestrator.variants.naming import shown
from orchestrator.variants.recipe import LEAST_API, Recipe

BASE_NAMES = (
    "onnx",
    *(level.value for level in OptimizationLevel),
    *(f"{level.value} {OptimizationStyle.RUNTIME.value}" for level in OptimizationLevel),
)
"""Every recipe without steps that needs to know nothing of phones."""
NNAPI_AWARE = "nnapi-aware"
OPSET = "opset"
STEP_WORDS = {
    "weights-inside": "initializers leave the graph inputs, so that they are constants",
    OPSET: "opset=N: to another version of the operator set, up or down",
    "qdq-u8u8": "static QDQ quantization, uint8 activations and weights",
    "qdq-u8s8": "static QDQ quantization, uint8 activations, int8 weights per channel",
    "fp16": "half precision inside, inputs and outputs as they were; for the CPU",
    "flush-denormals": "denormal weights become zero",
    "no-tf-transposes": "layout transposes that cancel are taken out",
    "transformer-fusions": "onnxruntime.transformers' fusions; for the CPU",
    "nnapi-rewrites": "operators that NNAPI refuses become ones that it takes",
}
"""Every step by its word, and what it does in a line."""
API_LEVELS = range(27, 100)
"""What `nnapi-aware=N` may name: NNAPI begins with 27."""
OPSETS = range(7, 100)
_MARK = "(random)"


def parse_recipe(text: str, where: str = "--recipe") -> Recipe:
    """The recipe that a person calls `text`. Raises UsageError, at `where`, with the nearest word that there is.

    Spaces around `+` don't count.
    """
    base, *steps = (part.strip() for part in text.split("+"))
    found = tuple(_step(step.removesuffix(_MARK), text, where) for step in steps)
    twice = [step for step in found if found.count(step) > 1]
    if twice:
        raise UsageError(Problem(where, f"recipe {shown(text)!r} has {twice[0]} twice", "a step acts once"))
    return _based(base, found, text, where)


def _based(base: str, steps: tuple[str, ...], text: str, where: str) -> Recipe:
    word, is_given, number = base.partition("=")
    base, platform = _without_platform(base)
    if word == NNAPI_AWARE:
        api = _number(number, API_LEVELS, text, where) if is_given else LEAST_API
        fixed = OptimizationStyle.FIXED
        return Recipe(format=ModelFormat.ORT, level=OptimizationLevel.EXTENDED, style=fixed, steps=steps, nnapi_api=api)
    if base not in BASE_NAMES:
        raise UsageError(_unknown("recipe", base, (*BASE_NAMES, NNAPI_AWARE), text, where))
    if base == "onnx":
        return Recipe(format=ModelFormat.ONNX, steps=steps)
    level, _, style = base.partition(" ")
    return Recipe(
        format=ModelFormat.ORT,
        level=OptimizationLevel(level),
        style=OptimizationStyle(style or OptimizationStyle.FIXED),
        platform=platform,
        steps=steps,
    )


def _without_platform(base: str) -> tuple[str, TargetPlatform | None]:
    """`all runtime arm` as `all runtime` and the platform."""
    words, _, last = base.rpartition(" ")
    is_one = words in BASE_NAMES[1:] and last in list(TargetPlatform)
    return (words, TargetPlatform(last)) if is_one else (base, None)


def _step(step: str, text: str, where: str) -> str:
    word, is_given, number = step.partition("=")
    if word == OPSET:
        return f"{OPSET}={_number(number, OPSETS, text, where)}"
    if word not in STEP_WORDS or is_given:
        known = [f"{OPSET}=N" if word == OPSET else word for word in STEP_WORDS]
        raise UsageError(_unknown("step", step, known, text, where))
    return word


def _number(number: str, bounds: range, text: str, where: str) -> int:
    if number.isascii() and number.isdigit() and int(number[:4]) in bounds and len(number) < 4:
        return int(number)
    what = f"recipe {shown(text)!r}: {shown(number)!r} is no number from {bounds.start} to {bounds.stop - 1}"
    raise UsageError(Problem(where, what, "as in opset=15, nnapi-aware=29"))


def _unknown(what: str, word: str, known: Sequence[str], text: str, where: str) -> Problem:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.4)
    mend = (f"did you mean {near[0]!r}? " if near else "") + f"known: {', '.join(known)}"
    inside = "" if word == text else f" in {shown(text)!r}"
    return Problem(where, f"unknown {what} {shown(word)!r}{inside}", mend)


def step_number(step: str) -> int:
    """The number of a step that has one: 15 of `opset=15`. Raises ValueError where it has none."""
    return int(step.partition("=")[2])
