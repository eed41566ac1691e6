"""Two runs side by side, from frames: who meets whom, what may differ, the words, the gates, every format."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest
from report_frames import Made
from rich.cells import cell_len

from android_runner.nnapi.graph import Node
from android_runner.trace import NodeTime, TraceTable
from orchestrator.errors import UsageError
from orchestrator.measure.contrast import Word
from orchestrator.report.comparison.compare import AskedComparison, compare
from orchestrator.report.comparison.gates import parse_gate, parse_share
from orchestrator.report.comparison.junit import comparison_junit
from orchestrator.report.comparison.markdown import comparison_json, comparison_markdown
from orchestrator.report.comparison.nouns import GateWord
from orchestrator.report.comparison.sides import side_of
from orchestrator.report.comparison.text import render_comparison
from orchestrator.report.comparison.work import Traced, operator_changes
from orchestrator.report.show import Target
from orchestrator.variants.align import Change, Step

PHONE = "R58N30ABCDE"


class Run:
    """A run on one phone, each row at its latency in ms, ± 0.5 %."""

    def __init__(self, name, rows, *, model="net", rounds=8, noise=0.005, virtual=False, **traits):
        self.made = Made(seed=random.Random(name).randrange(10**6), rounds=rounds, run={"run": name})
        self.made.phone(PHONE, "B3", "Pixel 8", virtual=virtual)
        for row, ms in rows.items():
            more = ms if isinstance(ms, dict) else {"ms": ms}
            self.made.case(PHONE, model, row, **{"noise": noise, **more})
        for one in self.made.attempts:
            one.update({"binary_digest": "2e" * 32, "ort_version": "1.23.2", "fingerprint": "os/1", **traits})
        for recipe in dict.fromkeys(row["recipe"] for row in self.made.attempts):
            before = {"Conv": 2, "Relu": 2}
            fmt = "onnx" if recipe == "onnx" else "ort"
            self.made.variant(model, recipe, "g", 1000, before, before, fmt, error=1e-6)

    def variants(self, **columns):
        for one in self.made.variants:
            one.update(columns)
        return self

    def canary(self, *p50s_ms):
        for at, ms in enumerate(p50s_ms):
            self.made.attempts.append(
                {"phone": PHONE, "purpose": "canary", "p50_s": ms / 1e3, "trial": f"c{at}", "outcome": "measured"}
            )
        return self

    def side(self, phone="", row=""):
        frames = self.made.frames()
        return side_of(frames, Target(run=frames.runs.iloc[0]["run"], phone=phone, row=row))


OLD_ROWS = {"default": 10.0, "cpu all": 8.0}


def compared(base, new, **asked):
    gates = tuple(parse_gate(one) for one in asked.pop("gates", ()))
    return compare(base.side(), new.side(), AskedComparison(gates=gates, **asked)).comparison


def refusal(base, new, **asked):
    with pytest.raises(UsageError) as error:
        compared(base, new, **asked)
    return str(error.value)


def verdicts(comparison):
    return {case.name: case.verdict for case in comparison.cases}


def test_a_new_binary_is_faster_and_what_differs_is_said():
    found = compared(
        Run("a", OLD_ROWS), Run("b", {"default": 9.0, "cpu all": 8.0}, binary_digest="3f" * 32, ort_version="1.24.0")
    )
    assert found.across == "binary"
    assert not found.across_named
    assert verdicts(found) == {"default": Word.FASTER, "cpu all": Word.SAME}
    (change,) = found.changes
    assert (change.base, change.new) == ("ORT 1.23.2 (2e2e2e2e2e)", "ORT 1.24.0 (3f3f3f3f3f)")
    ratio = found.cases[0].ratio
    assert ratio.value == pytest.approx(10 / 9, rel=0.01)
    assert 1.05 < ratio.low < ratio.value < ratio.high < 1.15
    assert not ratio.paired


def test_nothing_differs_but_the_day():
    found = compared(Run("a", OLD_ROWS), Run("b", OLD_ROWS))
    assert found.across == ""
    assert set(verdicts(found).values()) == {Word.SAME}
    assert "nothing differs but the day" in render_comparison(found)


def test_two_things_that_differ_are_refused_with_the_list():
    said = refusal(Run("a", OLD_ROWS), Run("b", OLD_ROWS, binary_digest="3f" * 32, fingerprint="os/2"))
    assert "2 things differ" in said
    assert "binary: ORT 1.23.2 (2e2e2e2e2e) in BASE, ORT 1.23.2 (3f3f3f3f3f) in NEW (net)" in said
    assert "fingerprint: os/1 in BASE, os/2 in NEW (B3)" in said
    named = refusal(
        Run("a", OLD_ROWS), Run("b", OLD_ROWS, binary_digest="3f" * 32, fingerprint="os/2"), across="binary"
    )
    assert "fingerprint: os/1" in named
    assert "binary: ORT" not in named


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        ({"tuned": True}, "tuned and stock phones are never compared"),
        ({"inputs_digest": "77" * 32}, "measure both with one --inputs"),
        ({"variant": "other"}, "dimensions, custom operators"),
        ({"converter_version": "1.31.1"}, "hold it with --converter"),
    ],
)
def test_what_is_never_meant_or_not_named(traits, words):
    across = {"across": "binary"}
    base = Run("a", OLD_ROWS)
    upgraded, new = Run("b", OLD_ROWS, binary_digest="3f" * 32, **traits), Run("b", OLD_ROWS, **traits)
    if "variant" in traits:
        upgraded.variants(variant="other")
        new.variants(variant="other")
    assert words in refusal(base, upgraded, **across)
    if "converter_version" not in traits:
        assert words in refusal(base, new), "nor alone"


def test_virtual_and_real_are_never_compared():
    assert "virtual and real phones are never compared" in refusal(Run("a", OLD_ROWS), Run("b", OLD_ROWS, virtual=True))


def test_what_was_named_must_differ():
    said = refusal(Run("a", OLD_ROWS), Run("b", OLD_ROWS), across="binary")
    assert "do not differ in it; nothing does" in said


def test_nothing_in_common():
    said = refusal(Run("a", OLD_ROWS), Run("b", OLD_ROWS, model="other"))
    assert "nothing in common" in said
    assert "models: net in BASE, other in NEW" in said
    assert "--map OLD=NEW" in said


def test_phones_of_one_run_are_not_each_other():
    run = Run("a", OLD_ROWS)
    with pytest.raises(UsageError, match="phones: B3 in BASE, none in NEW"):
        compare(run.side("B3"), run.side("B4"), AskedComparison())


def test_a_run_of_orch_ab_is_left_to_its_own_verdict():
    ab = Run("a", OLD_ROWS)
    ab.made.run["delta"] = 0.02
    assert "a: holds A against B" in refusal(Run("b", OLD_ROWS), ab)
    assert "orch report a" in refusal(ab, ab, maps=("onnx=all",))


def test_rounds_of_other_lengths_are_said():
    found = compared(Run("a", OLD_ROWS), Run("b", OLD_ROWS, iterations=20))
    assert found.notes == ("rounds of other lengths: 200 iterations in BASE, 20 in NEW",)


def test_a_retrained_model_under_another_name():
    new = Run("b", OLD_ROWS, model="net_v2").variants(
        model_digest="cd" * 32, size_bytes=1100, error=2e-6, nodes_after={"Conv": 3, "Relu": 2}
    )
    found = compared(Run("a", OLD_ROWS), new, maps=("net=net_v2",))
    assert found.across == "model"
    assert {case.models for case in found.cases} == {"net → net_v2"}
    assert [(one.recipe, one.base_bytes, one.new_bytes) for one in found.variants] == [
        ("onnx", 1000, 1100),
        ("all", 1000, 1100),
    ]
    assert found.variants[0].operators == (("Conv", 2, 3),)
    text = " ".join(render_comparison(found).split())
    assert "size 1.0 kB → 1.1 kB (+10 %)" in text
    assert "error from its own source 1e-06 → 2e-06; operators: Conv 2 → 3" in text


def test_one_run_is_paired_and_a_recipe_is_mapped():
    rows = {"cpu basic": 10.0, "cpu all": 8.0, "cpu basic 4t": 5.0, "cpu all 4t": 4.0}
    run = Run("a", rows)
    found = compared(run, run, maps=("basic=all",))
    assert found.across == "recipe"
    assert found.one_run
    assert verdicts(found) == {"cpu basic → cpu all": Word.FASTER, "cpu basic 4t → cpu all 4t": Word.FASTER}
    assert all(case.ratio.paired for case in found.cases)
    assert found.not_compared == ()
    assert "--map" in refusal(run, run)


def test_one_case_under_two_names_is_not_compared_with_itself():
    run = Run("a", {"cpu all": {"ms": 8.0, "also": ("cpu extended",)}, "cpu basic": 9.0})
    assert "they are twins" in refusal(run, run, maps=("cpu all=cpu extended",))


def test_a_format_is_mapped_and_its_recipe_follows():
    run = Run("a", OLD_ROWS)
    found = compared(run, run, maps=("onnx=all",))
    assert found.across == "format"
    assert verdicts(found) == {"default → cpu all": Word.FASTER}


def test_two_rows_that_are_named_meet():
    run = Run("a", {"cpu all": 8.0, "cpu all 4t": 4.0})
    for one in run.made.attempts:
        one["intra_op_threads"] = 4 if one["row"].endswith("4t") else None
    found = compare(run.side("B3", "cpu all"), run.side("B3", "cpu all 4t"), AskedComparison()).comparison
    assert found.across == "settings"
    assert verdicts(found) == {"cpu all → cpu all 4t": Word.FASTER}
    assert found.changes[0].new == "intra_op_threads 4"


def test_twins_meet_by_each_of_their_names():
    base = Run("a", {"cpu all": {"ms": 8.0, "also": ("cpu extended", "cpu layout")}})
    new = Run("b", {"cpu all": 8.0, "cpu extended": 6.0}, binary_digest="3f" * 32)
    found = compared(base, new)
    assert verdicts(found) == {"cpu all": Word.SAME, "cpu extended": Word.FASTER}


def test_names_that_are_none():
    base = Run("a", OLD_ROWS)
    assert "BASE has no model, row or recipe 'ned'; nearest" not in refusal(base, base, maps=("ned=x",))
    assert "BASE has no model, row or recipe 'ned' (nearest: net" in refusal(base, base, maps=("ned=x",))
    assert "NEW has no model, row or recipe 'x'" in refusal(base, base, maps=("net=x",))
    assert "a model meets a model" in refusal(base, base, maps=("net=all",))
    assert "--map OLD=NEW" in refusal(base, base, maps=("net",))


def test_what_failed_or_is_thin_is_not_compared_and_said():
    crash = dict.fromkeys(range(1, 9), ("crashed", "signal 11"))
    base = Run("a", {**OLD_ROWS, "cpu basic": 9.0, "cpu layout": 9.0})
    new = Run(
        "b",
        {"default": 10.0, "cpu all": {"ms": 8.0, "rounds": 2}, "cpu basic": {"ms": 9.0, "fails": crash}},
        fingerprint="os/2",
    )
    new.made.drop(PHONE, "net", "cpu layout", "no room")
    found = compared(base, new, gates=("missing",))
    assert verdicts(found) == {"default": Word.SAME, "cpu all": Word.INSUFFICIENT}
    assert found.cases[1].reason == "valid rounds: 2 in NEW, 3 needed"
    assert {one.row: (one.reason, one.lost) for one in found.not_compared} == {
        "cpu basic": ("NEW: crashed: signal 11", True),
        "cpu layout": ("NEW: dropped: no room", True),
    }
    failed = [one.row for one in found.gates if one.word is GateWord.FAILED]
    assert failed == ["cpu basic", "cpu layout"]


def test_what_is_out_of_tolerance_is_not_compared():
    new = Run("b", OLD_ROWS).variants(verdict="out of tolerance", verdict_reason="off by 1")
    assert "out of tolerance: off by 1" in refusal(Run("a", OLD_ROWS), new)


def test_too_few_rounds_for_so_many_cases():
    rows = {f"cpu all {n}t": 8.0 for n in range(1, 41)}
    new = {**rows, "cpu all 7t": 16.0}
    found = compared(Run("a", rows, rounds=4, noise=0.05), Run("b", new, rounds=4, noise=0.05))
    assert verdicts(found)["cpu all 7t"] is Word.INSUFFICIENT
    assert found.rounds_needed == 7
    assert "4 rounds can't give a p below 0.029" in found.cases[6].reason
    more = compared(Run("a", rows, rounds=7, noise=0.05), Run("b", new, rounds=7, noise=0.05))
    assert verdicts(more)["cpu all 7t"] is Word.SLOWER


def test_what_the_phone_did_itself_is_no_difference():
    base, new = Run("a", OLD_ROWS).canary(*[1.0] * 5), Run("b", {"default": 10.8, "cpu all": 10.0})
    new.variants(model_digest="cd" * 32).canary(*[1.08] * 5)
    found = compared(base, new)
    assert found.across == "model"
    (canary,) = found.canaries
    assert not canary.flat
    assert verdicts(found) == {"default": Word.UNDECIDED, "cpu all": Word.SLOWER}
    assert "canary was 8.0 % slower" in found.cases[0].reason
    upgrade = compared(base, Run("c", {"default": 10.8, "cpu all": 10.0}, binary_digest="3f").canary(*[1.08] * 5))
    assert set(verdicts(upgrade).values()) == {Word.SLOWER}
    assert "what differs acts on it, too" in " ".join(render_comparison(upgrade).split())


def test_what_nnapi_took_and_what_came_out_stand_beside_a_case():
    runs = []
    for name, claimed, pieces, error_db in (("a", 65, 1, 60.0), ("b", 50, 4, 31.0)):
        run = Run(name, OLD_ROWS, fingerprint=name)
        frames = run.made.frames()
        case = {"phone": PHONE, "model": "net", "case": "case-net-cpu all", "row": "cpu all"}
        placed = {"known": True, "partitions": pieces, "nodes_claimed": claimed, "nodes_in_graph": 66}
        frames.placements = pd.DataFrame([{**case, **placed}])
        found = {"output": "y", "checked": True, "within": True, "error_db": error_db, "tolerance_db": 20.0}
        frames.checks = pd.DataFrame([{**case, **found}])
        runs.append(side_of(frames, Target(run=name)))
    met = compare(*runs, AskedComparison()).comparison
    text = " ".join(render_comparison(met).split())
    assert "NNAPI took 65 of 66 nodes in 1 partition → 50 of 66 nodes in 4 partitions; outputs 60 dB below" in text
    assert "60 dB below the signal → 31 dB below the signal" in comparison_markdown(met)
    assert met.cases[0].base_nnapi == ""


def test_gates():
    base = Run("a", {"default": 10.0, "cpu all": 8.0, "cpu basic": 9.0})
    new = Run("b", {"default": 10.3, "cpu all": 9.0, "cpu basic": {"ms": 9.0, "noise": 0.2}}, fingerprint="os/2")
    found = compared(base, new, gates=("p50:5%", "p50:1%", "size:1%"))
    words = {(one.gate, one.row): one.word for one in found.gates}
    assert words == {
        ("p50:5%", "default"): GateWord.PASSED,
        ("p50:5%", "cpu all"): GateWord.FAILED,
        ("p50:5%", "cpu basic"): GateWord.NOT_TOLD,
        ("p50:1%", "default"): GateWord.FAILED,
        ("p50:1%", "cpu all"): GateWord.FAILED,
        ("p50:1%", "cpu basic"): GateWord.NOT_TOLD,
        ("size:1%", "default"): GateWord.PASSED,
        ("size:1%", "cpu all"): GateWord.PASSED,
        ("size:1%", "cpu basic"): GateWord.PASSED,
    }
    suites = ElementTree.fromstring(comparison_junit(found).encode())
    assert (suites.get("tests"), suites.get("failures"), suites.get("skipped")) == ("9", "3", "2")
    assert len(suites.findall(".//failure")) == 3
    assert suites.find(".//failure").get("message").startswith("p50 +12.")


@pytest.mark.parametrize("written", ["p50", "p51:5%", "p50:5", "p50:-1%", "p50:99999%", ""])
def test_what_is_no_gate(written):
    with pytest.raises(UsageError, match="is no gate"):
        parse_gate(written)


def test_shares():
    assert parse_share("2%", "--delta") == parse_share("0.02", "--delta") == 0.02
    for bad in ("0", "0%", "100%", "two", "-1%"):
        with pytest.raises(UsageError, match="no share"):
            parse_share(bad, "--delta")


def test_names_are_harmless_in_every_format():
    evil = "<script>|\x1b[31m&\u202e"
    base, new = (Run(name, {"default": 10.0}, model=evil, fingerprint=name) for name in ("a", "b"))
    found = compared(base, new, gates=("p50:5%",))
    for text in (render_comparison(found), comparison_markdown(found), comparison_junit(found)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in comparison_markdown(found)
    ElementTree.fromstring(comparison_junit(found).encode())
    assert json.loads(comparison_json(found))["cases"][0]["model"] == evil


def test_every_format_says_the_same_and_fits():
    rows = {f"cpu all {n}t no-spin no-arena @big": 8.0 + n for n in range(1, 30)}
    new = {**rows, "cpu onnx": 3.0}
    found = compared(Run("a", rows), Run("b", new, binary_digest="3f" * 32), gates=("p50:5%", "first:5%"))
    text = render_comparison(found, all_rows=True)
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    said = json.loads(comparison_json(found))
    assert said["schema"] == 1
    assert [case["verdict"] for case in said["cases"]] == [str(case.verdict) for case in found.cases]
    markdown = comparison_markdown(found)
    assert all(case.name in markdown for case in found.cases)
    assert render_comparison(found, colour=True) != render_comparison(found)


def node(name, op, us, count=2):
    return NodeTime(
        op_name=op, provider="CPUExecutionProvider", node=name, count=count, total_us=us, self_us=us, min_us=1,
        max_us=us, in_body=False,
    )  # fmt: skip


def table(*nodes, runs=2):
    return TraceTable(
        nodes=nodes, runs_us=(1,) * runs, warm_up_us=None, session_initialization_us=None, model_loading_us=None,
        events=1, problems=(),
    )  # fmt: skip


def test_operators_meet_by_their_nodes_through_fusions():
    before = table(node("c1", "Conv", 40), node("r1", "Relu", 8), node("c2", "Conv", 20), node("s", "Softmax", 4))
    after = table(
        node("c1/ConvActivationFusion/", "FusedConv", 60), node("fused c2", "FusedConv", 20), node("s", "Softmax", 4),
        node("nhwc", "Transpose", 2), runs=4,
    )  # fmt: skip
    rows = operator_changes(Traced("B3", "net", "cpu all", before, after))
    assert [(row.base, row.new) for row in rows] == [
        ("2 Conv", "2 FusedConv"), ("Relu", ""), ("Softmax", "Softmax"), ("", "Transpose"),
    ]  # fmt: skip
    assert math.isclose(rows[0].base_s, 30e-6)
    assert math.isclose(rows[0].new_s, 20e-6)
    assert operator_changes(Traced("B3", "net", "cpu all", before, table(runs=0))) == []


def test_what_was_fused_meets_the_node_it_is_in_where_the_graphs_are_known():
    conv, relu = Node("c1", "Conv", "", 1, ("x",), ("c",)), Node("r1", "Relu", "", 1, ("c",), ("r",))
    fused = Node("c1", "FusedConv", "com.microsoft", 1, ("x",), ("r",))
    steps = (Step(Change.FUSED, (conv, relu), (fused,)),)
    before = table(node("c1", "Conv", 40), node("r1", "Relu", 8), node("s", "Softmax", 4))
    after = table(node("c1_token_1", "FusedConv", 44), node("s", "Softmax", 4))
    rows = operator_changes(Traced("B3", "net", "cpu all", before, after, steps))
    assert [(row.base, row.new) for row in rows] == [("Conv + Relu", "FusedConv"), ("Softmax", "Softmax")]
    assert math.isclose(rows[0].base_s, 24e-6)
    assert math.isclose(rows[0].new_s, 22e-6)


def test_partitions_meet_by_their_numbers():
    sides = []
    for model, us in ((77, 40), (78, 60)):
        name = f"NnapiExecutionProvider_Nnapi_{model}_1_1"
        sides.append(table(replace(node(name, f"Nnapi_{model}_1", us), provider="NnapiExecutionProvider")))
    (row,) = operator_changes(Traced("B3", "net", "nnapi basic", *sides))
    assert (row.base, row.new, row.base_s, row.new_s) == ("NNAPI partition 1", "NNAPI partition 1", 20e-6, 30e-6)
