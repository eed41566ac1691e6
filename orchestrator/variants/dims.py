"""Pure: dynamic dimensions of a model's inputs, and the numbers given for them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from android_runner.ort import ModelFormat
from orchestrator.errors import Problem, UsageError
from orchestrator.variants.naming import shown
from orchestrator.variants.recipe import Model, Tensor

Dims = tuple[tuple[str, int], ...]
MAX_DIM = 2**31 - 1


def dim_key(tensor: Tensor, axis: int) -> str | None:
    """What addresses a dynamic axis on the command line: its name, or `INPUT.AXIS` without one; None if it is fixed."""
    dim = tensor.shape[axis]
    if isinstance(dim, int):
        return None
    return dim if dim is not None else f"{tensor.name}.{axis}"


def free_dims(model: Model) -> dict[str, tuple[str, ...]]:
    """The dynamic dimensions of `model`'s inputs by key, each with the places (`x axis 0`) where it stands."""
    places: dict[str, tuple[str, ...]] = {}
    for tensor in model.inputs:
        for axis in range(len(tensor.shape)):
            key = dim_key(tensor, axis)
            if key is not None:
                places[key] = (*places.get(key, ()), f"{shown(tensor.name)} axis {axis}")
    return places


def resolve_dims(model: Model, given: Mapping[str, int]) -> Dims:
    """The numbers for exactly `model`'s dynamic dimensions, sorted by key; `given` may hold other models' as well.

    Raises UsageError that lists every one which is missing or out of range, with the flag to give.
    """
    where = shown(model.path)
    places = free_dims(model)
    problems = []
    for key, found in places.items():
        flag = f"--dim {shown(key)}=N"
        if key not in given:
            mend = f"give {flag}"
            if model.format is ModelFormat.ORT:
                mend = f"shapes of an .ort can't be fixed: start from the .onnx and give {flag}"
            problems.append(Problem(where, f"dynamic dimension {shown(key)} ({', '.join(found)})", mend))
        elif not 1 <= given[key] <= MAX_DIM:
            problems.append(Problem(where, f"dimension {shown(key)}={given[key]}", f"1 to {MAX_DIM}"))
        elif model.format is ModelFormat.ORT:
            mend = f"start from the .onnx and give {flag}"
            problems.append(Problem(where, f"dimension {shown(key)}: shapes of an .ort can't be fixed", mend))
    if problems:
        raise UsageError(*problems)
    return tuple(sorted((key, given[key]) for key in places))


def unknown_dims(models: Sequence[Model], given: Mapping[str, int]) -> tuple[Problem, ...]:
    """A problem for each given dimension that none of `models` has, with the nearest that one has."""
    known = sorted({key for model in models for key in free_dims(model)})
    problems = []
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            has = ", ".join(shown(item) for item in known) or "none is dynamic"
            mend = f"did you mean {shown(near[0])}?" if near else f"dimensions are: {has}"
            problems.append(Problem(f"--dim {shown(key)}={given[key]}", "no model has this dimension", mend))
    return tuple(problems)


def fixed_shape(tensor: Tensor, dims: Dims) -> tuple[int, ...]:
    """The shape with the numbers of `resolve_dims` in place. Raises KeyError for a dimension that has none."""
    numbers = dict(dims)
    shape = []
    for axis, dim in enumerate(tensor.shape):
        key = dim_key(tensor, axis)
        shape.append(dim if isinstance(dim, int) else numbers[key or ""])
    return tuple(shape)
