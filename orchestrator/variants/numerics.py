"""Run a source and a variant on the same inputs with onnxruntime, on this computer's CPU, and hold their outputs side
by side.

The source runs as it is written, without any optimization. So does a variant in `.onnx` format, whose optimization is
the phone's; one in ORT format runs as a phone runs it by default, with what a runtime-style file recorded replayed.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from android_runner.ort import REPLAY_KEY, ModelFormat
from orchestrator.errors import VariantError
from orchestrator.variants.converter import converter_version, runtime, runtime_errors, runtime_words
from orchestrator.variants.graph import ELEMENT_TYPES
from orchestrator.variants.naming import shown
from orchestrator.variants.tolerance import (
    SMALLEST_NORMAL,
    Numerics,
    OutputError,
    Precision,
    Tolerance,
    looser,
    precision_of,
    problem,
    tolerance,
    within,
)

__all__ = ["Numerics", "Outputs", "Runnable", "Tolerance", "compare", "measured", "outputs_of", "tolerance", "within"]

_FATAL = 4

Outputs = dict[str, Any]
"""What onnxruntime gave, by the output's name."""


@dataclass(frozen=True, slots=True)
class Runnable:
    """A model file; `operators` are those of its graph, sub-graphs included, `precision` what it was asked to be,
    `custom_ops` libraries of operators that it may have."""

    path: Path
    format: ModelFormat
    operators: tuple[str, ...]
    precision: Precision = Precision.FLOAT32
    custom_ops: tuple[str, ...] = ()


def compare(source: Runnable, variant: Runnable, files: Sequence[Path], inputs: str) -> Numerics:
    """Both on the inputs in `files` (one TensorProto each, its name inside); `inputs` is the set's digest.

    Raises VariantError where the source or the variant can't be run here.
    """
    return compared(source, outputs_of(source, files), variant, files, inputs)


def compared(source: Runnable, wanted: Outputs, variant: Runnable, files: Sequence[Path], inputs: str) -> Numerics:
    """`compare`, with the source's outputs at hand. Raises VariantError."""
    given = outputs_of(variant, files)
    errors = tuple(
        measured(name, value, given[name])
        if name in given
        else OutputError(output=shown(name), n=0, wrong="is not there")
        for name, value in wanted.items()
    )
    found = Numerics(
        inputs=inputs,
        runtime=converter_version(),
        precision=looser(_precision(source), _precision(variant)),
        outputs=errors,
    )
    if problem(found) and not within(_again(found, source, files)):
        raise VariantError("the source gives other values in every run: nothing to compare with")
    return found


def _again(found: Numerics, source: Runnable, files: Sequence[Path]) -> Numerics:
    """The source beside itself: what draws random numbers is not its own equal in the next run of one session."""
    first, second = _runs(source, files, 2)
    outputs = tuple(measured(name, value, second[name]) for name, value in first.items())
    return Numerics(inputs=found.inputs, runtime=found.runtime, precision=found.precision, outputs=outputs)


def outputs_of(model: Runnable, files: Sequence[Path]) -> Outputs:
    """The outputs of one run. Raises VariantError where onnxruntime refuses the model or the inputs."""
    return _runs(model, files, 1)[0]


def _runs(model: Runnable, files: Sequence[Path], count: int) -> list[Outputs]:
    """The outputs of several runs of one session. Raises VariantError."""
    ort = runtime()
    levels = ort.GraphOptimizationLevel
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1
    if model.format is ModelFormat.ONNX:
        options.graph_optimization_level = levels.ORT_DISABLE_ALL
    else:
        options.graph_optimization_level = levels.ORT_ENABLE_ALL
        options.add_session_config_entry(REPLAY_KEY, "1")
    try:
        for library in model.custom_ops:
            options.register_custom_ops_library(library)
        session = ort.InferenceSession(str(model.path), options, providers=["CPUExecutionProvider"])
        names = [one.name for one in session.get_outputs()]
        feeds = _feeds(files)
        return [dict(zip(names, session.run(names, feeds), strict=True)) for _ in range(count)]
    except runtime_errors() as error:
        raise VariantError(f"{model.path.name} can't be run here: {runtime_words(error)}") from error


def _feeds(files: Sequence[Path]) -> dict[str, Any]:
    import onnx  # noqa: PLC0415
    from onnx import numpy_helper  # noqa: PLC0415

    feeds = {}
    for path in files:
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        feeds[tensor.name] = numpy_helper.to_array(tensor)
    return feeds


def _precision(model: Runnable) -> Precision:
    return looser(model.precision, precision_of(model.operators, _element_types(model)))


def _element_types(model: Runnable) -> set[str]:
    """Types of the tensors that the main graph holds, as far as the file tells."""
    if model.format is ModelFormat.ORT:
        from orchestrator.variants.read_ort import tensor_types  # noqa: PLC0415

        with model.path.open("rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        return tensor_types(data)
    import onnx  # noqa: PLC0415

    graph = onnx.load(str(model.path), load_external_data=False).graph
    ports = [*graph.input, *graph.output, *graph.value_info]
    numbers = {port.type.tensor_type.elem_type for port in ports} | {tensor.data_type for tensor in graph.initializer}
    return {ELEMENT_TYPES.get(number, "") for number in numbers}


if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def measured(name: str, wanted: Any, given: Any) -> OutputError:
    """One output of the variant, `given`, beside the source's, `wanted`: arrays as onnxruntime gives them."""
    import numpy as np  # noqa: PLC0415

    output = shown(name)
    if not isinstance(wanted, np.ndarray) or not isinstance(given, np.ndarray):
        return OutputError(output=output, n=0, wrong="" if repr(wanted) == repr(given) else "is no tensor and differs")
    n = int(wanted.size)
    if wanted.shape != given.shape:
        return OutputError(output=output, n=n, wrong=f"has shape {list(given.shape)}, not {list(wanted.shape)}")
    if wanted.dtype.kind not in "fiub" or given.dtype.kind not in "fiub":
        return OutputError(output=output, n=n, wrong="" if bool(np.array_equal(wanted, given)) else "has another text")
    reference, value = wanted.astype(np.float64), given.astype(np.float64)
    finite = np.isfinite(reference)
    same = np.array_equal(finite, np.isfinite(value))
    if not same or not np.array_equal(reference[~finite], value[~finite], equal_nan=True):
        places = int(np.count_nonzero(~finite | ~np.isfinite(value)))
        return OutputError(output=output, n=n, wrong=f"is not finite in other places ({places} of {n})")
    return _measured(output, reference, value, finite)


def _measured(output: str, reference: Array, value: Array, finite: Array) -> OutputError:
    import numpy as np  # noqa: PLC0415

    first, second = reference[finite], value[finite]
    if not first.size:
        return OutputError(output=output, n=int(reference.size))
    differences = abs(first - second)
    there = abs(first) >= SMALLEST_NORMAL
    most = float(differences.max())
    if not math.isfinite(most):
        return OutputError(output=output, n=int(reference.size), wrong="is off by more than any number")
    return OutputError(
        output=output,
        n=int(reference.size),
        max_abs=most,
        max_rel=float((differences[there] / abs(first[there])).max()) if there.any() else None,
        max_ref=float(abs(first).max()),
        cosine=_cosine(first, second),
        top1_same=_top1_same(reference, value) if bool(np.all(finite)) else None,
    )


def _cosine(first: Array, second: Array) -> float:
    """Of two vectors, each scaled first, so that no square overflows or vanishes; 1 for two of nothing but 0."""
    tops = float(abs(first).max()), float(abs(second).max())
    if not all(tops):
        return float(tops[0] == tops[1])
    one, other = first / tops[0], second / tops[1]
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


def _top1_same(reference: Array, value: Array) -> bool | None:
    """By rows of the first axis; None where a row has one element."""
    rows = reference.shape[0] if reference.ndim > 1 else 1
    if reference.size <= rows:
        return None
    first, second = reference.reshape(rows, -1), value.reshape(rows, -1)
    return bool((first.argmax(axis=1) == second.argmax(axis=1)).all())
