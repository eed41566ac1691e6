"""Step `opset=N`: onnx's version converter, up or down, sub-graphs included, and our own way around its gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.errors import VariantError
from orchestrator.variants.naming import shown
from orchestrator.variants.read_onnx import opsets_of
from orchestrator.variants.recipe_words import step_number
from orchestrator.variants.steps.apply import Bench, NothingToDo
from orchestrator.variants.steps.weights import drop_from_inputs

_OVERRIDABLE_SINCE_IR = 4
_ONNX = ("", "ai.onnx")
_HIDDEN = "orch.hidden"
_REWORDED = 13
"""Where operators got bfloat16 and other words: one that kept attributes, inputs and outputs kept its meaning, too
(every description was compared; Softmax and its like, whose meaning changed, have another default)."""


def to_opset(model: Any, step: str, _bench: Bench) -> Any:
    """The model in another version of ai.onnx. The IR version is raised where the opset asks for it."""
    from onnx import defs, helper  # noqa: PLC0415

    wanted, has = step_number(step), opsets_of(model).get("", 0)
    if not has:
        raise VariantError("the model imports no version of ai.onnx")
    if wanted == has:
        raise NothingToDo(f"the model is of opset {has} already")
    if wanted > defs.onnx_opset_version():
        raise VariantError(f"onnx here knows opsets up to {defs.onnx_opset_version()}")
    made = _up(model, wanted) if wanted > has else _down(model, has, wanted)
    needed = helper.find_min_ir_version_for(made.opset_import, ignore_unknown=True)
    if made.ir_version < needed:
        raise_ir(made, needed)
    return made


def _up(model: Any, wanted: int) -> Any:
    from onnx import version_converter  # noqa: PLC0415

    try:
        return version_converter.convert_version(model, wanted)
    except Exception as error:  # a C++ exception of its own, by way of whatever Python made of it
        words = " ".join(str(error).split())
        raise VariantError(f"onnx can't go to {wanted}: {shown(words.rpartition('failed: ')[2])}") from error


def _down(model: Any, has: int, wanted: int) -> Any:
    """Version by version. onnx's converter can't go down where a version added nothing but types, as many did; such
    nodes are hidden from it, and whether the types fit is for onnxruntime to say."""
    for version in range(has - 1, wanted - 1, -1):
        same = [node for node in _nodes(model.graph) if node.domain in _ONNX and _only_types_differ(node, version)]
        if len(same) == sum(node.domain in _ONNX for node in _nodes(model.graph)):
            for item in model.opset_import:
                if item.domain in _ONNX:
                    item.version = version
        else:
            model = _without(same, model, version)
    return model


def _without(same: list[Any], model: Any, version: int) -> Any:
    """Convert all but the nodes in `same`, which the converter passes over as those of another domain."""
    for node in same:
        node.domain = _HIDDEN
    model.opset_import.add(domain=_HIDDEN, version=1)
    made = _up(model, version)
    for node in _nodes(made.graph):
        if node.domain == _HIDDEN:
            node.domain = ""
    kept = [item for item in made.opset_import if item.domain != _HIDDEN]
    del made.opset_import[:]
    made.opset_import.extend(kept)
    return made


def _only_types_differ(node: Any, version: int) -> bool:
    """Whether an operator says the same of itself in `version` and in the one after."""
    from onnx import defs  # noqa: PLC0415

    try:
        old, new = (defs.get_schema(node.op_type, at) for at in (version, version + 1))
    except defs.SchemaError:
        return False
    if old.since_version == new.since_version or _form(old) == _form(new):
        return True
    return version + 1 == _REWORDED and _form(old)[1:] == _form(new)[1:]


def _form(schema: Any) -> tuple[object, ...]:
    attributes = sorted(
        (item.name, str(item.type), item.required, str(item.default_value)) for item in schema.attributes.values()
    )
    inputs, outputs = ([(item.name, str(item.option)) for item in side] for side in (schema.inputs, schema.outputs))
    return schema.doc, attributes, inputs, outputs


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


def raise_ir(model: Any, version: int) -> None:
    """Set a higher IR version without making constants overridable, as those among the inputs become at 4."""
    if model.ir_version < _OVERRIDABLE_SINCE_IR <= version:
        drop_from_inputs(model.graph)
    model.ir_version = max(model.ir_version, version)
