"""The claim rules, row by row against what was transcribed from the execution provider's C++."""

from __future__ import annotations

import re
from typing import Any

import pytest

from android_runner.nnapi.builders import BUILDERS
from android_runner.nnapi.claim import claim
from android_runner.nnapi.placement import NOT_CHECKED, Placement
from android_runner.nnapi.target import NnapiDevice, NnapiTarget
from android_runner.ort import NnapiFlag
from tests.unit.nnapi import rule_rows

NODES = rule_rows.rows("nodes.jsonl")
GROUPS = rule_rows.rows("groups.jsonl")


def _name(row: dict[str, Any]) -> str:
    return f"{row['op']}-{row['version']}-{row['api']}-{row['source'].rpartition('/')[2]}"


@pytest.mark.parametrize("row", NODES, ids=_name)
def test_one_node(row: dict[str, Any]) -> None:
    names = [f"in{at}" if notation else "" for at, notation in enumerate(row["inputs"])]
    values = {name: rule_rows.value(name, told) for name, told in zip(names, row["inputs"], strict=True) if name}
    outputs = tuple(f"out{at}" for at in range(row.get("outputs", 1)))
    values["out0"] = rule_rows.value("out0", f"{row.get('output_type', 'f32')} 1x4")
    node = rule_rows.node(row["op"], row["version"], tuple(names), outputs, row.get("attributes", {}))
    flags = frozenset({NnapiFlag.NCHW} if row["layout"] == "nchw" else set())
    placed = claim(rule_rows.graph([node], values), NnapiTarget(api_level=row["api"], flags=flags))
    refused = {refusal.rule for refusal in placed.refused}
    assert refused == (set() if row["taken"] else {row["rule"]}), placed.refused
    assert all(refusal.checked and refusal.reason for refusal in placed.refused)


@pytest.mark.parametrize("row", GROUPS, ids=lambda row: row["name"])
def test_groups(row: dict[str, Any]) -> None:
    values = {name: rule_rows.value(name, told) for name, told in row["values"].items()}
    nodes = []
    for kind, inputs, outputs, *rest in row["nodes"]:
        op, version = kind.split()
        nodes.append(
            rule_rows.node(op, int(version), tuple(inputs.split()), tuple(outputs.split()), rest[0] if rest else {})
        )
    placed = claim(rule_rows.graph(nodes, values, row.get("opset", 21)), _target(row))
    assert [list(partition.nodes) for partition in placed.partitions] == row["partitions"], placed
    assert {str(one.node): one.rule for one in placed.refused} == row.get("refused", {}), placed.refused
    assert {str(one.node): one.rule for one in placed.dropped} == row.get("dropped", {}), placed.dropped
    assert [one.node for one in placed.refused if not one.checked] == row.get("not_checked", [])
    _is_complete(placed, len(nodes))


def _target(row: dict[str, Any]) -> NnapiTarget:
    devices = tuple(NnapiDevice(*told) for told in row.get("devices", []))
    flags = frozenset(map(NnapiFlag, row.get("flags", [])))
    target = NnapiTarget(api_level=row.get("api", 30), flags=flags, devices=devices)
    if "stop_ops" not in row:
        return target
    return NnapiTarget(api_level=target.api_level, flags=flags, devices=devices, stop_ops=frozenset(row["stop_ops"]))


def _is_complete(placed: Placement, count: int) -> None:
    """Every node once."""
    nodes = [node for partition in placed.partitions for node in partition.nodes]
    nodes += [refusal.node for refusal in (*placed.refused, *placed.dropped)]
    assert sorted(nodes) == list(range(count))


def test_the_corpus_says_enough() -> None:
    """At least 150 rows, each with file and line, yes and no, and at least one for every operator NNAPI knows."""
    assert len(NODES) + len(GROUPS) >= 150
    for row in (*NODES, *GROUPS):
        assert re.fullmatch(r"onnxruntime/core/[\w/]+\.(cc|h):\d+", row["source"])
    asked = {row["op"].rpartition(":")[2] for row in NODES}
    assert not BUILDERS.keys() - asked
    for rule in ("no-builder", "api-level", "rank", "type", "dynamic-shape", "attribute", "constant-input", "opset"):
        assert sum(row.get("rule") == rule for row in NODES) >= 3, rule
    assert len({str(sorted(row.items(), key=str)) for row in NODES}) == len(NODES)
    assert sum(row["taken"] for row in NODES) >= 75


def test_an_operator_of_somebody_else_is_not_checked() -> None:
    node = rule_rows.node("my.own:Relu", 1, ("x",), ("y",), {})
    placed = claim(
        rule_rows.graph([node], {"x": rule_rows.value("x", "f32 1x4")}),
        NnapiTarget(api_level=30),
    )
    (refusal,) = placed.refused
    assert (refusal.rule, refusal.checked) == ("domain", False)
    assert refusal.reason.startswith(NOT_CHECKED)


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("Reshape", ("f32 1x4", "const i64 2")),
        ("Split", ("f32 1x4", "const i64 2")),
        ("Pad", ("f32 1x4", "const i64 4")),
        ("Clip", ("f32 1x4", "const f32 scalar")),
        ("Resize", ("f32 1x3x8x8", "f32 0", "const f32 0 =")),
    ],
)
def test_a_constant_that_can_not_be_read_is_not_checked(op: str, inputs: tuple[str, ...]) -> None:
    values = {f"in{at}": rule_rows.value(f"in{at}", told) for at, told in enumerate(inputs)}
    node = rule_rows.node(op, 13, tuple(values), ("y",), {"mode": "linear"} if op == "Resize" else {})
    (refusal,) = claim(rule_rows.graph([node], values), NnapiTarget(api_level=30)).refused
    assert not refusal.checked
    assert refusal.reason.startswith(NOT_CHECKED)
