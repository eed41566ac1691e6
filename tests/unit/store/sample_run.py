"""A small run as the ledger gets it, with every field that can hold something odd holding it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from android_runner.errors import Blame, Retry
from android_runner.facts import PhoneFacts, Vitals
from android_runner.ort import OptimizationLevel
from android_runner.settings import SessionSettings
from orchestrator.outcome import Failed, Figures, Measured, Outcome
from orchestrator.plan.case import Case, Dropped, Purpose, Trial
from orchestrator.store.records import AttemptRecord, PhoneRecord, RunContents, RunRecord, VariantRecord

RUN = "0412-quick-7k2f"
START = datetime(2026, 4, 12, 2, 14, 5, 123456, tzinfo=UTC)
PHONES = ("R58N30ABCDE", "orch-v1")


def facts(identity: str) -> PhoneFacts:
    virtual = identity.startswith("orch")
    return PhoneFacts(
        identity=identity,
        device_model="Pixel 8 «α»",
        manufacturer="Google",
        fingerprint=f"google/{identity}:14/U/1:user/release-keys",
        soc="Tensor G3",
        api_level=34,
        abis=("arm64-v8a",),
        exec_abis=("linux-x86_64",) if virtual else ("arm64-v8a",),
        cores=8,
        max_freq_khz=(1_700_000,) * 4 + (2_910_000,) * 4,
        memory_bytes=8 << 30,
        rooted=False,
        virtual=virtual,
        confinement="namespace" if virtual else "",
        shell="mksh",
        tools=("taskset", "sha256sum"),
        launcher="",
        profile="pixel8" if virtual else "",
        free_bytes=50 << 30,
    )


def case(row: str, *, threads: int | None = None, ort: bool = True) -> Case:
    return Case(
        model_name="mnist",
        variant_id="va" * 32 if ort else "vb" * 32,
        graph_digest="aa" * 32,
        recipe_name="all" if ort else "onnx",
        settings=SessionSettings(
            level=None if ort else OptimizationLevel.BASIC, intra_op_threads=threads, config=(("a.b", "1"),)
        ),
        binary_digest="bb" * 32,
        inputs_digest="cc" * 32,
        row=row,
        also=("cpu basic", "cpu extended"),
    )


CASES = (case("default", ort=False), case("cpu all"), case("cpu all 4t", threads=4))


def variant(variant_id: str, recipe: str, format_: str) -> VariantRecord:
    return VariantRecord(
        variant_id=variant_id,
        model_name="mnist",
        model_digest="dd" * 32,
        recipe=recipe,
        format=format_,
        converter_version="1.31.1" if format_ == "ort" else "",
        graph_digest="aa" * 32,
        sha256="ee" * 32,
        size_bytes=26_123,
        ort_format=6 if format_ == "ort" else None,
        build_s=0.25,
        nodes_before=(("Conv", 2), ("Relu", 2)),
        nodes_after=(("com.microsoft:FusedConv", 2),),
    )


def contents(run_id: str = RUN, *, rounds: int = 2, created_at: datetime = START) -> RunContents:
    return RunContents(
        run=RunRecord(
            run_id=run_id,
            created_at=created_at,
            plan_name="quick",
            plan_digest="1f" * 32,
            plan_json='{"rounds":2}',
            seed=4711,
            rounds=rounds,
            note="=cmd|' /C calc'!A0",
            tags=("nightly", "büro"),
            binary_name="onnxruntime_perf_test",
            binary_digest="bb" * 32,
            binary_ort_version="1.21.0",
            script_digest="3d" * 32,
            orch_version="0.1.0",
            host="lab1",
            user="nina",
        ),
        phones=tuple(
            PhoneRecord(phone=phone, label=f"B{n}", serial=phone, facts=facts(phone))
            for n, phone in enumerate(PHONES, start=3)
        ),
        variants=(variant("vb" * 32, "onnx", "onnx"), variant("va" * 32, "all", "ort")),
        cases=CASES,
        trials=tuple(
            Trial(case_id=one.case_id, phone=phone, purpose=Purpose.TIME, round=number, position=position)
            for phone in PHONES
            for number in range(1, rounds + 1)
            for position, one in enumerate(CASES)
        ),
        dropped=(Dropped(model_name="mnist", phone=PHONES[0], row="cpu all 16t", reason="this phone has 8 cores"),),
    )


def figures(p50_s: float = 0.004) -> Figures:
    return Figures(
        iterations=100,
        p50_s=p50_s,
        p90_s=p50_s * 1.1,
        p95_s=p50_s * 1.2,
        p99_s=p50_s * 1.3,
        min_s=p50_s * 0.9,
        max_s=p50_s * 2,
        mean_s=p50_s * 1.01,
        session_creation_s=0.02,
        first_inference_s=None,
        peak_working_set_bytes=30_000_000,
    )


MEASURED = Measured(figures=figures())
FAILED = Failed(kind="crashed", blame=Blame.RUNTIME, retry=Retry.ELSEWHERE, message="ended by SIGSEGV")


def attempt(trial: Trial, name: str, outcome: Outcome = MEASURED, run_id: str = RUN, **more: object) -> AttemptRecord:
    vitals = Vitals(
        uptime_s=1000.5,
        boot_id="b007",
        battery_level=78,
        battery_c=31.0,
        thermal_status=0,
        zones_c={"cpu": 40.5, "skin": 33.0, "odd": float("nan")},
        current_freq_khz=(1_700_000,),
        load_1m=0.5,
    )
    record = AttemptRecord(
        attempt_id=name,
        trial_id=trial.trial_id(run_id),
        run_id=run_id,
        case_id=trial.case_id,
        phone=trial.phone,
        fingerprint=facts(trial.phone).fingerprint,
        purpose=trial.purpose.value,
        round=trial.round,
        position=trial.position,
        number=0,
        block_id=f"{run_id}-1",
        epoch=1,
        recorded_at=START + timedelta(minutes=1),
        argv=("./onnxruntime_perf_test", "-m", "times", "model with space.ort"),
        iterations_asked=100,
        exit_code=0,
        ending="exited",
        started_uptime_s=1000.6,
        ended_uptime_s=1001.9,
        slot_wait_s=0.0,
        before=vitals,
        after=replace(vitals, battery_c=32.0, zones_c={"cpu": 44.0}),
        outcome=outcome,
        in_force={"intra_op_num_threads": "4"},
        virtual=trial.phone.startswith("orch"),
        script_digest="3d" * 32,
    )
    return replace(record, **more)  # type: ignore[arg-type]
