"""Operators of domains that onnxruntime does not bring: which a model uses, and the libraries that have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from android_runner.ort import ModelFormat
from orchestrator.errors import Problem
from orchestrator.variants.inspect import Inspection
from orchestrator.variants.naming import shown
from orchestrator.variants.read_onnx import parse

BUILT_IN_DOMAINS = frozenset(
    {
        "", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training",
        "com.microsoft", "com.microsoft.nchwc", "com.microsoft.experimental", "com.microsoft.dml",
        "com.ms.internal.nhwc", "org.pytorch.aten",
    }
)  # fmt: skip
"""`core/graph/constants.h`, and the standard's previews."""


def custom_operators(operators: Iterable[tuple[str, int]]) -> dict[str, tuple[str, ...]]:
    """Operators by foreign domain, of counts as `graph.count_operators` gives them."""
    found: dict[str, list[str]] = {}
    for label, _ in operators:
        domain, _, name = label.rpartition(":")
        if domain not in BUILT_IN_DOMAINS:
            found.setdefault(domain, []).append(name)
    return {domain: tuple(names) for domain, names in sorted(found.items())}


def foreign(source: Inspection) -> Mapping[str, tuple[str, ...]]:
    """The operators of a model that only a library of custom operators has. A model's own functions are none.

    Raises OSError, ValueError where the model can't be read any more.
    """
    found = custom_operators(source.operators)
    if not found or source.model.format is ModelFormat.ORT:
        return found
    own = {(function.domain, function.name) for function in parse(source.model.path.read_bytes()).functions}
    left = {domain: tuple(name for name in names if (domain, name) not in own) for domain, names in found.items()}
    return {domain: names for domain, names in left.items() if names}


def missing_library(source: Inspection, libraries: Sequence[object]) -> Problem | None:
    """What to tell where a model needs custom operators and no library was given."""
    if libraries:
        return None
    found = foreign(source)
    if not found:
        return None
    words = "; ".join(f"{shown(domain)} ({', '.join(map(shown, names))})" for domain, names in found.items())
    what = f"uses operators that onnxruntime does not have, of domain {words}"
    return Problem(shown(source.model.path), what, "give --custom-ops LIB, their library built for this host")
