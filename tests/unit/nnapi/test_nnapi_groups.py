"""Any graph: partitions that can be replaced by one node each, and every node in one place."""

from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given, settings
from hypothesis import strategies as st

from android_runner.nnapi.claim import claim
from android_runner.nnapi.graph import Graph, Node, Value
from android_runner.nnapi.placement import Placement
from android_runner.nnapi.target import NnapiTarget

_KINDS = ("Relu", "Tanh", "Reshape", "Erf", "NonMaxSuppression", "Add", "If", "DequantizeLinear", "QuantizeLinear")


@st.composite
def graphs(draw: st.DrawFn, kinds: tuple[str, ...] = _KINDS) -> Graph:
    """Nodes in topological order, each fed by up to three earlier values, some of them from within a sub-graph."""
    count = draw(st.integers(1, 30))
    values = {"x": Value("x", 1, (1, 4)), "q": Value("q", 2, (1, 4)), "w": Value("w", 1, (1, 4), constant=True)}
    values |= {"s": Value("s", 1, (), True, (0.1,)), "z": Value("z", 2, (), True, (0,))}
    values["shape"] = Value("shape", 7, (2,), True, (1, 4))
    made = ["x", "w", "q"]
    nodes = []
    for at in range(count):
        op = draw(st.sampled_from(kinds))
        inputs = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3))
        implicit = tuple(draw(st.lists(st.sampled_from(made), max_size=2))) if op == "If" else ()
        given_ = {
            "Reshape": (inputs[0], "shape"),
            "DequantizeLinear": (inputs[0], "s", "z"),
            "QuantizeLinear": (inputs[0], "s", "z"),
            "Add": (inputs[0], inputs[-1]),
        }.get(op, tuple(inputs[:1]))
        out = f"v{at}"
        values[out] = Value(out, 2 if op == "QuantizeLinear" else 1, (1, 4))
        nodes.append(Node(out, op, "", 13, given_, (out,), {}, implicit, bool(implicit)))
        made.append(out)
    outputs = draw(st.lists(st.sampled_from(made[3:]), max_size=3))
    return Graph(tuple(nodes), values, ("x", "q"), (*outputs, made[-1]), 13)


def _needs(graph: Graph) -> list[set[int]]:
    maker = {name: at for at, node in enumerate(graph.nodes) for name in node.outputs}
    return [{maker[name] for name in (*node.inputs, *node.implicit) if name in maker} for node in graph.nodes]


def _check(graph: Graph, found: Placement) -> None:
    home = {node: f"partition {at}" for at, one in enumerate(found.partitions) for node in one.nodes}
    listed = [node for one in found.partitions for node in one.nodes]
    listed += [one.node for one in (*found.refused, *found.dropped)]
    assert sorted(listed) == list(range(len(graph.nodes)))
    assert all(list(one.nodes) == sorted(one.nodes) and one.nodes for one in found.partitions)
    fused: dict[object, set[object]] = {}
    for at, needs in enumerate(_needs(graph)):
        own = home.get(at, at)
        fused.setdefault(own, set()).update(home.get(need, need) for need in needs)
        fused[own].discard(own)
    TopologicalSorter(fused).prepare()  # raises CycleError where a partition is not convex


@settings(max_examples=400, deadline=None)
@given(graph=graphs(), level=st.sampled_from([26, 27, 28, 29, 30, 34]))
def test_partitions_are_convex_and_each_node_is_told_of_once(graph: Graph, level: int) -> None:
    found = claim(graph, NnapiTarget(api_level=level))
    _check(graph, found)
    taken = {graph.nodes[at].op_type for one in found.partitions for at in one.nodes}
    assert not taken & {"Erf", "If", "NonMaxSuppression"}


@settings(max_examples=200, deadline=None)
@given(graph=graphs(), level=st.sampled_from([28, 30]))
def test_nothing_behind_a_stop_operator_is_taken(graph: Graph, level: int) -> None:
    found = claim(graph, NnapiTarget(api_level=level))
    behind: set[int] = set()
    for at, needs in enumerate(_needs(graph)):
        if needs & behind or graph.nodes[at].op_type == "NonMaxSuppression":
            behind.add(at)
    targets = {at for at in behind if graph.nodes[at].op_type not in ("DequantizeLinear", "QuantizeLinear")}
    assert not targets & {at for one in found.partitions for at in one.nodes}


@settings(max_examples=200, deadline=None)
@given(graph=graphs(("Relu", "Tanh", "Add")))
def test_where_everything_can_be_taken_there_is_one_partition(graph: Graph) -> None:
    found = claim(graph, NnapiTarget(api_level=30))
    fed = {
        name for node in graph.nodes for name in node.inputs if name in ("x", "q") or graph.value(name).elem_type == 2
    }
    if fed == {"x"}:
        assert len(found.partitions) == 1
        assert found.claimed_count == len(graph.nodes)


@settings(max_examples=100, deadline=None)
@given(graph=graphs())
def test_the_order_of_the_question_does_not_matter(graph: Graph) -> None:
    """Asked twice, the same is said twice."""
    target = NnapiTarget(api_level=29)
    assert claim(graph, target) == claim(graph, target)
