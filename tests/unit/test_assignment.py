"""What ORT's log says of NNAPI, in every era's words, whole, cut and hostile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from android_runner.assignment import Assignment, assignment_of, from_stderr, read_assignment, speaks
from android_runner.phone_log import read_phone_log

CORPUS = Path(__file__).parents[1] / "corpus" / "nnapi_log"
LOGS = sorted(path.name for path in CORPUS.glob("logcat-*.txt"))
HEAD = "[V:onnxruntime:Default, nnapi_execution_provider.cc:1 f] "


def said(name: str) -> Assignment:
    return assignment_of((CORPUS / name).read_bytes(), b"")


def summary(partitions: int, graph: int, claimed: int) -> str:
    return (
        f"{HEAD}NnapiExecutionProvider::GetCapability, number of partitions supported by NNAPI: {partitions} "
        f"number of nodes in the graph: {graph} number of nodes supported by NNAPI: {claimed}"
    )


def test_two_passes_and_the_last_counts() -> None:
    found = said("logcat-1.21-two-passes.txt")
    assert found.known
    assert [(one.partitions, one.graph_nodes, one.claimed_nodes) for one in found.capabilities] == [
        (2, 6, 4),
        (2, 10, 8),
    ]
    assert (found.partitions, found.claimed_nodes, found.feature_level) == (2, 8, 1000006)
    assert found.devices == (("google-edgetpu", "accelerator"), ("arm-gpu", "gpu"), ("nnapi-reference", "cpu"))
    assert found.placements == (("NnapiExecutionProvider", 2), ("CPUExecutionProvider", 2))
    first = found.capabilities[0].nodes
    assert [(node.name, node.op_type) for node in first if not node.supported] == [
        ("Convolution28", "FusedConv"),
        ("Convolution110", "FusedConv"),
    ]
    assert first[0].reason == "FusedConv is not supported", "and not what another process said before it"
    assert sum(node.op_type == "Transpose" for node in found.nodes) == 4


def test_one_partition_and_names_that_look_like_the_format() -> None:
    found = said("logcat-1.21-one-partition.txt")
    assert (found.known, found.partitions, found.claimed_nodes, found.feature_level) == (True, 1, 2, 30)
    assert found.devices == (("nnapi-reference", "cpu"),)
    assert [(node.index, node.name) for node in found.nodes] == [(0, "a] index: [7"), (1, "")]
    assert found.placements == (("NnapiExecutionProvider", 1),)


def test_nothing_taken_and_why() -> None:
    found = said("logcat-1.12.txt")
    assert (found.known, found.partitions, found.claimed_nodes, found.feature_level) == (True, 0, 0, 29)
    assert [(node.index, node.supported, node.reason) for node in found.nodes] == [
        (258, False, "Dynamic shape is not supported for now, for input:conv2d_271.tmp_0"),
        (276, False, "Dynamic shape is not supported for now, for input:conv2d_264.tmp_0"),
    ]
    assert found.devices is None


def test_older_node_lines() -> None:
    found = said("logcat-1.9.txt")
    assert (found.known, found.partitions, found.claimed_nodes) == (True, 1, 2)
    assert [(node.op_type, node.supported, node.reason) for node in found.nodes] == [
        ("Erf", False, "[Erf] Input type: [11] is not supported for now"),
        ("Conv", True, ""),
        ("Relu", True, ""),
    ]


def test_a_summary_alone() -> None:
    found = said("logcat-1.8.txt")
    assert (found.known, found.partitions, found.claimed_nodes, found.nodes) == (True, 17, 53, ())
    assert found.feature_level is None


@pytest.mark.parametrize(("name", "words"), [("logcat-too-old.txt", "[26] is lower"), ("logcat-opset.txt", "opset")])
def test_nothing_taken_beforehand_is_known_to_be_nothing(name: str, words: str) -> None:
    found = said(name)
    assert (found.known, found.partitions, found.claimed_nodes, found.last) == (True, 0, 0, None)
    assert words in found.nothing_because


def test_stderr_of_linux_with_its_colours() -> None:
    data = (CORPUS / "stderr-linux.txt").read_bytes()
    assert speaks(data)
    found = from_stderr(data)
    assert (found.known, found.partitions, found.claimed_nodes, found.devices) == (True, 2, 3, ())
    assert found.nodes[0].reason == "Supported batch matmul: [0]; A must be 2D"
    assert assignment_of(None, data) == found
    silent = (CORPUS / "logcat-1.8.txt").read_bytes().replace(b"onnxruntime:  [", b"other:  [")
    assert assignment_of(silent, data) == found, "a phone whose log has no word of this process"


def test_no_log_at_all_is_not_known_and_not_nothing() -> None:
    found = assignment_of(None, b"")
    assert (found.known, found.partitions, found.claimed_nodes) == (False, None, None)
    assert "no log" in found.why_not_known
    marks = "".join(
        line for line in (CORPUS / "logcat-1.8.txt").read_text().splitlines(keepends=True) if "orch-mark" in line
    )
    found = assignment_of(marks.encode(), b"")
    assert (found.known, found.partitions) == (False, None)
    assert found.why_not_known == "the log says nothing of what NNAPI took"


def cut(text: str, what: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if what not in line)


CHATTY = "11-21 07:18:02.400  4712  4712 I chatty  : uid=2000(shell) onnxruntime_per {} 3 lines\n"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: cut(text, "orch-mark: begin"), "begin mark"),
        (lambda text: cut(text, "orch-mark: end 0003"), "end mark"),
        (lambda text: text.replace("11-21 07:18:02.305", CHATTY.format("expire") + "11-21 07:18:02.305"), "dropped"),
        (lambda text: text.replace("11-21 07:18:02.305", "--------- beginning of main\n11-21 07:18:02.305"), "anew"),
        (lambda text: text.replace("11-21 07:18:02.305", "read: unexpected EOF!\n11-21 07:18:02.305"), "EOF!"),
        (lambda text: text.replace("graph: 10 number of nodes supported by NNAPI: 8", "gra"), "summary"),
        (lambda text: text.replace("nodes supported by NNAPI: 8", "nodes supported by NNAPI: 80"), "contradicts"),
        (lambda text: text.replace("name: [Times212]", "name: [Tim", 1), "cut"),
        (lambda text: cut(text, "number of nodes in the graph: 10"), "no summary"),
        (lambda text: text[: len(text) // 2], "end mark"),
        (lambda text: "", "end mark"),
    ],
)  # fmt: skip
def test_a_gap_makes_it_not_known(spoil, words) -> None:  # type: ignore[no-untyped-def]
    found = assignment_of(spoil((CORPUS / "logcat-1.21-two-passes.txt").read_text()).encode(), b"")
    assert (found.known, found.partitions, found.claimed_nodes) == (False, None, None)
    assert words in found.why_not_known
    assert found.why_not_known


def test_identical_lines_that_the_phone_folds_lose_nothing() -> None:
    text = (CORPUS / "logcat-1.21-two-passes.txt").read_text()
    folded = text.replace("11-21 07:18:02.305", CHATTY.format("identical") + "11-21 07:18:02.305")
    assert assignment_of(folded.encode(), b"").known
    others = CHATTY.replace("4712", "5000").format("expire")
    assert assignment_of(text.replace("11-21 07:18:02.305", others + "11-21 07:18:02.305").encode(), b"").known


def test_a_node_asked_twice_keeps_its_reason() -> None:
    node = f"{HEAD}Node supported: [0] Operator type: [Sum] index: [3] name: [s] as part of the NodeUnit type: [Sum] " \
        "index: [3] name: [s]"  # fmt: skip
    lines = ["[V:onnxruntime:, base_op_builder.cc:6 f] no builder", node, node, summary(0, 1, 0)]
    assert [(one.index, one.reason) for one in read_assignment(lines).nodes] == [(3, "no builder")]


def test_what_is_said_has_bounds() -> None:
    devices = ",".join(f"[Name: [d{n}], Type [9]]" for n in range(65))
    lines = [f"{HEAD}Found devices [{devices}] in NNAPI", *[summary(0, n, 0) for n in range(40)]]
    found = read_assignment(lines)
    assert found.devices is None
    assert len(found.capabilities) <= 16
    assert len(found.problems) == 2
    assert found.last is not None
    assert found.last.graph_nodes == 39
    odd = read_assignment([f"{HEAD}Found devices [[Name: [\x1b[2Jx\u202e], Type [7]], ,] in NNAPI", summary(0, 1, 0)])
    assert odd.devices == (("?[2Jx?", "type 7"),)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(LOGS), st.integers(0, 2**32), st.integers(1, 30))
def test_a_mutated_log_never_raises_and_says_when_it_is_not_whole(name: str, seed: int, changes: int) -> None:
    dice = random.Random(seed)
    data = bytearray((CORPUS / name).read_bytes())
    for _ in range(changes):
        at = dice.randrange(len(data))
        match dice.randrange(4):
            case 0:
                data[at] = dice.randrange(256)
            case 1:
                del data[at : at + dice.randrange(200)]
            case 2:
                data[at:at] = bytes(dice.randrange(256) for _ in range(dice.randrange(20)))
            case _:
                data[at:at] = data[: dice.randrange(len(data))][-300:]
        if not data:
            data = bytearray(b"\n")
    found = assignment_of(bytes(data), b"")
    assert found.known == (not found.why_not_known)
    if not found.known:
        assert found.partitions is None
        assert found.claimed_nodes is None
    for node in found.nodes:
        assert node.name.isprintable()
    assert read_phone_log(bytes(data)).complete or not found.complete


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000), st.binary(max_size=2000))
def test_any_bytes_are_read(log: bytes, stderr: bytes) -> None:
    found = assignment_of(log, HEAD.encode() + stderr)
    assert found.known == (not found.why_not_known)
