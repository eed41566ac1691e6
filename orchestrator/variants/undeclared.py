"""Tensors that nodes take and nothing makes: onnxruntime refuses such a model, but only when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from orchestrator.errors import Problem, UsageError
from orchestrator.variants.naming import shown

_MAX_PROBLEMS = 5


def require_declared(where: str, model: Any) -> None:
    """Raise UsageError where a node of a ModelProto takes a tensor that nothing makes, or an output is one."""
    problems = tuple(
        Problem(where, f"{shown(user)} takes {shown(name)}, which nothing makes", "export the model again")
        for user, name in islice(_undeclared(model.graph, frozenset()), _MAX_PROBLEMS)
    )
    if problems:
        raise UsageError(*problems)


def _undeclared(graph: Any, outer: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Pairs of who takes and what, sub-graphs included: they see what the graphs around them have."""
    made = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer} | outer
    made |= {sparse.values.name for sparse in graph.sparse_initializer}
    made |= {name for node in graph.node for name in node.output}
    for node in graph.node:
        yield from ((node.name or node.op_type, name) for name in node.input if name and name not in made)
        for item in node.attribute:
            for inner in (item.g, *item.graphs) if item.HasField("g") else item.graphs:
                yield from _undeclared(inner, frozenset(made))
    yield from (("the graph's output", value.name) for value in graph.output if value.name not in made)
