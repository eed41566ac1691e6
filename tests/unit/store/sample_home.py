"""A home with a run that has attempts of every sort, with evidence: made without a phone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from android_runner.nnapi.graph import Graph, Node, Value
from android_runner.nnapi.notation import graph_to_text
from orchestrator.outcome import Measured, Skipped, SkipReason
from orchestrator.plan.case import Purpose, Trial
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.incidents import IncidentRecord
from orchestrator.store.ledger import Ledger
from orchestrator.variants.tolerance import Numerics, OutputError
from orchestrator.variants.verify_variant import CheckedOutput, CheckFacts
from tests.unit.store import sample_run as sample

ROOT = Path(__file__).parents[3]
LATENCIES_S = (0.004, 0.0041, 0.0039)
RESULT = "".join(f"mnist,{value},30000000,12,{n}\n" for n, value in enumerate(LATENCIES_S)).encode()
LOG = (ROOT / "tests/corpus/nnapi_log/logcat-1.21-two-passes.txt").read_bytes()
VERBOSE = "".join(f"iteration:{n + 1},time_cost:{value}\n" for n, value in enumerate(LATENCIES_S)).encode()


FLOAT = 1
GRAPH = Graph(
    nodes=(
        Node("a", "Relu", "", 14, ("x",), ("y",)),
        Node("b", "FusedConv", "com.microsoft", 1, ("y", "w"), ("z",)),
        Node("c", "Relu", "", 14, ("z",), ("out",)),
    ),
    values={
        **{name: Value(name, FLOAT, (1, 4, 8, 8)) for name in ("x", "y", "z", "out")},
        "w": Value("w", FLOAT, (4, 4, 1, 1), constant=True),
    },
    inputs=("x",),
    outputs=("out",),
    opset=14,
)


CHECK = CheckFacts(
    check_id="cd" * 32,
    prefix="orch_check_",
    outputs=(
        CheckedOutput(name="y", element_type="float32", peak=2.0),
        CheckedOutput(name="words", element_type="object", why_not="holds no numbers that could be compared"),
    ),
)


def trace(*, nnapi: bool = False, tail: str = "") -> bytes:
    """Three runs of Conv and Relu as ORT writes them, the first is the warm-up; with NNAPI it takes the Relu.

    `tail` is a further event of every run.
    """
    second = ("NnapiExecutionProvider_Nnapi_77_0_0", "Nnapi_77_0", "NnapiExecutionProvider")
    second = second if nnapi else ("b", "Relu", "CPUExecutionProvider")

    def event(name: str, category: str, at: int, took: int, **args: str) -> str:
        head = {"cat": category, "pid": 1, "tid": 1, "dur": took, "ts": at, "ph": "X", "name": name, "args": args}
        return json.dumps(head, separators=(",", ":"))

    events = [event("session_initialization", "Session", 0, 900)]
    for run in range(3):
        at = 1000 * (run + 1)
        events.append(event("a_kernel_time", "Node", at, 300, op_name="Conv", provider="CPUExecutionProvider"))
        events.append(event(f"{second[0]}_kernel_time", "Node", at + 300, 100, op_name=second[1], provider=second[2]))
        events += [tail.replace("AT", str(at + 405))] if tail else []
        events.append(event("SequentialExecutor::Execute", "Session", at, 410))
        events.append(event("model_run", "Session", at, 450))
    return ("[\n" + ",\n".join(events) + "\n]\n").encode()


def kept(evidence: EvidenceStore, name: str, data: bytes) -> dict[str, str]:
    return {name: evidence.keep_bytes(data)}


def make_home(home: Path) -> Path:
    """A home with one run, `sample_run.RUN`, that has attempts of every sort; not all of it has ended."""
    evidence, ledger = EvidenceStore(home), Ledger.open(home)
    contents = sample.contents()
    traced = Trial(case_id=sample.CASES[0].case_id, phone=sample.PHONES[0], purpose=Purpose.TRACE, round=1, position=99)
    more = [
        replace(traced, case_id=sample.CASES[1].case_id, purpose=purpose, round=number, position=100 + number)
        for purpose, number in ((Purpose.TRACE, 1), (Purpose.INTROSPECT, 2), (Purpose.INTROSPECT, 3))
    ]
    off = OutputError(output="y", n=10, max_abs=0.5, max_rel=0.5, max_ref=2.0, cosine=0.9, top1_same=False)
    numerics = (
        Numerics(inputs="cc" * 32, runtime="1.31.1", untouched=True),
        Numerics(inputs="cc" * 32, runtime="1.31.1", outputs=(off,)),
    )
    graph = evidence.keep_bytes(graph_to_text(GRAPH).encode())
    variants = tuple(
        replace(one, numerics=found, claim_graph=graph, check=check)
        for one, found, check in zip(contents.variants, numerics, (CHECK, None), strict=True)
    )
    checked = replace(traced, purpose=Purpose.VERIFY, position=110)
    ledger.add_run(replace(contents, variants=variants, trials=(*contents.trials, traced, *more, checked)))
    trials = contents.trials
    calibration = replace(sample.attempt(trials[0], "c0", Measured(figures=None)), purpose="calibrate", trial_id="")
    ledger.record_attempts(
        [
            calibration,
            sample.attempt(trials[0], "a0", sample.FAILED, before=None, after=None),
            sample.attempt(trials[0], "a1", evidence={"result.csv": evidence.keep_bytes(RESULT)}),
            sample.attempt(
                trials[1], "a2", evidence={"stdout": evidence.keep_bytes(VERBOSE), "stderr": evidence.keep_bytes(b"")}
            ),
            sample.attempt(trials[0], "a3", evidence={"result.csv": evidence.keep_bytes(RESULT)}),
            sample.attempt(
                traced, "t0", Measured(figures=None), evidence={"trace_2026.json": evidence.keep_bytes(trace())}
            ),
            sample.attempt(
                checked, "v0", Measured(figures=None), evidence=kept(evidence, "t.json", trace(tail=tail_event(434)))
            ),
            sample.attempt(more[0], "t1", Measured(figures=None), evidence=kept(evidence, "t.json", trace(nnapi=True))),
            sample.attempt(more[1], "i0", Measured(figures=None), evidence=kept(evidence, "logcat", LOG)),
            sample.attempt(more[2], "i1", sample.FAILED, evidence=kept(evidence, "logcat", LOG[: len(LOG) // 2])),
        ]
    )
    ledger.end_trial(trials[2].trial_id(sample.RUN), sample.FAILED)
    ledger.end_trial(trials[3].trial_id(sample.RUN), Skipped(reason=SkipReason.PHONE_LOST))
    lost = IncidentRecord(
        run_id=sample.RUN, phone=trials[3].phone, at=datetime(2026, 4, 12, 2, 20, tzinfo=UTC), seen="not attached",
        rung="wait", result="in vain", words="adb does not list it", took_s=60.0,
    )  # fmt: skip
    ledger.incidents.add(lost)
    ledger.close()
    return home


def tail_event(count: int, given: str = "[1,10]") -> str:
    """The two nodes of a tail that are read: the error as a shape, and what was compared."""
    args = {"op_name": "ConstantOfShape", "provider": "CPUExecutionProvider", "output_size": str(count)}
    lines = []
    for name, shapes in (
        ("orch_check_0_error", {"output_type_shape": [{"uint8": [count]}]}),
        ("orch_check_0_difference", {"input_type_shape": [{"double": json.loads(given)}, {"double": [1, 10]}]}),
    ):
        head = {"cat": "Node", "pid": 1, "tid": 1, "dur": 1, "ts": "AT", "ph": "X", "name": f"{name}_kernel_time"}
        lines.append(json.dumps({**head, "args": {**args, **shapes}}, separators=(",", ":")))
    return ",\n".join(lines).replace('"AT"', "AT")
