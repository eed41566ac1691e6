"""What NNAPI took, from frames to the words of the report."""

from __future__ import annotations

import pandas as pd
from report_frames import Frames, Made

from orchestrator.report.markdown import render_markdown
from orchestrator.report.nnapi import NnapiAnswer
from orchestrator.report.summarize import summarize
from orchestrator.report.terminal import render_terminal

PHONE, MODEL = "B3", "mnist"
BASIC, FUSED = "v-basic", "v-fused"


def prediction(variant: str, recipe: str, pieces: list[list[str]], nodes: int, **more: object) -> dict[str, object]:
    claimed = sum(map(len, pieces))
    return {
        "phone": PHONE, "model": MODEL, "variant": variant, "recipe": recipe, "nnapi_flags": [], "nodes": nodes,
        "nodes_claimed": claimed, "partitions": len(pieces), "partition_operators": pieces, "multiply_adds": 100,
        "multiply_adds_claimed": 75, "not_taken": [], "not_checked": 0, **more,
    }  # fmt: skip


def placement(row: str, **more: object) -> dict[str, object]:
    return {
        "phone": PHONE, "model": MODEL, "case": f"case-{MODEL}-{row}", "row": row, "known": True, "why": None,
        "partitions": 1, "nodes_claimed": 4, "nodes_in_graph": 6, "nodes_before_layout": None,
        "claimed_before_layout": None, "devices": [["edge-tpu", "accelerator"], ["nnapi-reference", "cpu"]], **more,
    }  # fmt: skip


def lab(*placements: dict[str, object], partitions: tuple[dict[str, object], ...] = ()) -> Frames:
    """One phone with the default and an NNAPI case of the basic variant."""
    made = Made()
    made.phone(PHONE, PHONE, "Pixel 8")
    made.case(PHONE, MODEL, "default", 4.0)
    made.case(PHONE, MODEL, "nnapi basic", 3.0)
    frames = made.frames()
    frames.attempts["variant"] = BASIC
    frames.attempts["nnapi_flags"] = [[] for _ in range(len(frames.attempts))]
    pieces = [["Conv", "Relu", "MaxPool", "Gemm"]]
    frames.predictions = pd.DataFrame([
        prediction(BASIC, "basic", pieces, 6, not_taken=[["Elu", "Elu needs API 30", 2]]),
        prediction("v-runtime", "all runtime", pieces, 6, not_taken=[["Elu", "Elu needs API 30", 2]]),
        prediction(FUSED, "extended", [["MaxPool"]], 5),
    ])  # fmt: skip
    frames.placements = pd.DataFrame(placements)
    frames.partitions = pd.DataFrame(partitions)
    return frames


def nnapi_of(frames: Frames) -> NnapiAnswer:
    found = summarize(frames).models[0].phones[0].nnapi
    assert found is not None
    return found


def piece(at: int, mean_s: float, cpu_s: float | None, share: float) -> dict[str, object]:
    return {
        "phone": PHONE, "model": MODEL, "case": f"case-{MODEL}-nnapi basic", "partition": f"N_77_{at}_{at}",
        "mean_s": mean_s, "cpu_mean_s": cpu_s, "share": share,
    }  # fmt: skip


def test_claims_that_are_the_same_are_told_once_and_shares_have_their_own_names() -> None:
    nnapi = nnapi_of(lab(placement("nnapi basic"), partitions=(piece(0, 0.002, 0.003, 0.8),)))
    assert [one.graphs for one in nnapi.predictions] == [(("basic",), ("all runtime",)), (("extended",),)]
    (case,) = nnapi.cases
    assert (case.nodes_claimed, case.nodes, case.partitions, case.as_predicted) == (4, 6, 1, True)
    assert (case.time_share, case.multiply_adds_share) == (0.8, 0.75)
    text = render_terminal(summarize(lab(placement("nnapi basic"), partitions=(piece(0, 0.002, 0.003, 0.8),))))
    assert "edge-tpu (accelerator), nnapi-reference (cpu)" in text
    assert "2 Elu: Elu needs API 30" in text
    assert "2.00 ms, the same nodes on the CPU 3.00 ms" in text
    words = " ".join(text.split())
    assert "NNAPI (edge-tpu) took 4 of 6 nodes in 1 partition; it is deprecated since Android 15" in words
    assert "the best without it: default" in words
    assert max(map(len, text.splitlines())) <= 80


def test_nodes_of_the_layout_pass_stand_apart() -> None:
    row = placement("nnapi basic", nodes_in_graph=9, nodes_claimed=7, nodes_before_layout=6, claimed_before_layout=4)
    (case,) = nnapi_of(lab(row)).cases
    assert (case.nodes_claimed, case.nodes, case.layout_nodes, case.as_predicted) == (4, 6, 3, True)


def test_a_gap_in_the_log_is_not_known_and_never_nothing() -> None:
    row = placement(
        "nnapi basic", known=False, why="the log has a gap", partitions=None, nodes_claimed=None, nodes_in_graph=None
    )
    nnapi = nnapi_of(lab(row))
    (case,) = nnapi.cases
    assert (case.known, case.partitions, case.nodes_claimed, case.as_predicted) == (False, None, None, None)
    text = " ".join(render_terminal(summarize(lab(row))).split())
    assert "not known: the log has a gap" in text


def test_reality_that_differs_is_said() -> None:
    (case,) = nnapi_of(lab(placement("nnapi basic", partitions=2))).cases
    assert case.as_predicted is False
    assert case.multiply_adds_share is None
    assert "not as predicted" in render_markdown(summarize(lab(placement("nnapi basic", partitions=2))))


def test_a_phone_whose_nnapi_is_a_cpu_says_so() -> None:
    row = placement("nnapi basic", devices=[["nnapi-reference", "cpu"]])
    assert nnapi_of(lab(row)).only_reference
    assert "NNAPI here is only nnapi-reference, a CPU" in " ".join(render_terminal(summarize(lab(row))).split())
    assert not nnapi_of(lab(placement("nnapi basic", devices=None))).only_reference


def test_a_driver_s_name_cannot_write_markup_or_move_the_cursor() -> None:
    row = placement("nnapi basic", devices=[["\x1b[2J<script>|x|", "gpu"]])
    summary = summarize(lab(row))
    assert "\x1b" not in render_terminal(summary)
    assert "<script>" not in render_markdown(summary)
