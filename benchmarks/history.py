"""One case's history out of a ledger of 1,000,000 attempts, against a full table read with pandas.

The ledger is a true one: a night of ten phones, twenty cases and five rounds is written by the program itself, with
vitals, outcomes, commands and the names of evidence; all other nights are that one again under other names and with
other figures. Both readers work turn by turn in fresh processes, on the same file in the same page cache; imports and
opening the ledger are not counted. Whether both find the same figures is asked, too.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from android_runner.facts import PhoneFacts, ProcessFacts, Vitals
from android_runner.settings import SessionSettings
from orchestrator.home import LEDGER_FILE
from orchestrator.outcome import Figures, Measured
from orchestrator.plan.case import Case, Purpose, Trial
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import AttemptRecord, PhoneRecord, RunContents, RunRecord, VariantRecord

ROOT = Path(__file__).resolve().parent.parent
ATTEMPTS = 1_000_000
PHONES, CASES, ROUNDS, CANARIES = 10, 20, 5, 5
GOAL = 0.02
TURNS = 5
FULL_TURNS = 2
START = datetime(2024, 1, 1, 1, 30, tzinfo=UTC)
NIGHTLY = "bench"

_OURS = """
import json, sys, time
from pathlib import Path
from orchestrator.nights.nouns import SeriesKey
from orchestrator.store.history import case_history
from orchestrator.store.ledger import Ledger
ledger = Ledger.open(Path(sys.argv[1]))
key = SeriesKey(*json.loads(sys.argv[2]))
start = time.perf_counter()
nights = case_history(ledger, key, nightly=sys.argv[3], last=90)
seconds = time.perf_counter() - start
levels = [sorted(one.rounds_s)[len(one.rounds_s) // 2] for one in nights]
print(json.dumps({"seconds": seconds, "levels": levels}))
"""
_THEIRS = """
import json, sqlite3, sys, time
import pandas as pd
connection = sqlite3.connect(sys.argv[1] + "/ledger.sqlite")
asked = json.loads(sys.argv[2])
columns = sys.argv[4]
start = time.perf_counter()
parts = []
for part in pd.read_sql_query(f"SELECT {columns} FROM attempt", connection, chunksize=50_000):
    mine = (part.phone == asked[0]) & (part.case_id == asked[1]) & (part.purpose == "time") & (part.state == "measured")
    parts.append(part[mine])
found = pd.concat(parts)
seconds = time.perf_counter() - start
levels = found.sort_values("recorded_at").groupby("run_id", sort=False).p50_s.median().tolist()[-90:]
print(json.dumps({"seconds": seconds, "levels": levels}))
"""
_NARROW = "run_id, case_id, phone, purpose, state, recorded_at, p50_s"


def _case(number: int) -> Case:
    name = f"{number:02x}"
    return Case(
        model_name=f"model {number // 4}",
        variant_id=name * 32,
        graph_digest=name * 32,
        recipe_name="all" if number % 2 else "onnx",
        settings=SessionSettings(intra_op_threads=number % 4 + 1),
        binary_digest="bb" * 32,
        inputs_digest="cc" * 32,
        row=f"cpu {number % 4}",
        also=("cpu basic", "cpu extended"),
    )


def _canary() -> Case:
    return replace(_case(0), model_name="canary", inputs_digest="ca" * 32, row="canary")


def _facts(name: str) -> PhoneFacts:
    return PhoneFacts(
        identity=name, device_model="Pixel 8", manufacturer="Google", fingerprint=f"google/shiba/{name}:14/U/1:user",
        soc="Tensor G3", api_level=34, abis=("arm64-v8a",), exec_abis=("arm64-v8a",), cores=8,
        max_freq_khz=(1_700_000,) * 4 + (2_910_000,) * 4, memory_bytes=8 << 30, rooted=False, virtual=False,
        confinement="", shell="mksh", tools=("taskset", "sha256sum"), launcher="", profile="", free_bytes=50 << 30,
    )  # fmt: skip


def _variant(case: Case) -> VariantRecord:
    return VariantRecord(
        variant_id=case.variant_id, model_name=case.model_name, model_digest="dd" * 32, recipe=case.recipe_name,
        format="ort", converter_version="1.23.2", graph_digest=case.graph_digest, sha256="ee" * 32, size_bytes=26_123,
        ort_format=6, build_s=0.25, nodes_before=(("Conv", 2), ("Relu", 2)), nodes_after=(("FusedConv", 2),),
    )  # fmt: skip


def first_night(rounds: int = ROUNDS) -> tuple[RunContents, list[AttemptRecord]]:
    """A night as the program writes it."""
    cases = tuple(_case(number) for number in range(CASES))
    names = [f"SERIAL{number:04}" for number in range(PHONES)]
    run = RunRecord(
        run_id="n00000", created_at=START, plan_name="quick", plan_digest="1f" * 32,
        plan_json=json.dumps({"rounds": rounds, "command": "orch nightly run bench", "note": "x" * 20_000}), seed=1,
        rounds=rounds, note="", tags=(f"nightly={NIGHTLY}", "night=00000"), binary_name="onnxruntime_perf_test",
        binary_digest="bb" * 32, binary_ort_version="1.23.2", script_digest="3d" * 32, orch_version="0.1.0",
        host="lab1", user="nina",
    )  # fmt: skip
    trials = [
        Trial(case_id=case.case_id, phone=name, purpose=Purpose.TIME, round=number, position=at)
        for name in names
        for number in range(1, rounds + 1)
        for at, case in enumerate(cases)
    ]
    canaries = [
        Trial(case_id=_canary().case_id, phone=name, purpose=Purpose.CANARY, round=1, position=0)
        for name in names
        for _ in range(CANARIES)
    ]
    contents = RunContents(
        run=run, phones=tuple(PhoneRecord(phone=one, label=one[-2:], serial=one, facts=_facts(one)) for one in names),
        variants=tuple({case.variant_id: _variant(case) for case in cases}.values()), cases=(*cases, _canary()),
        trials=tuple(trials), dropped=(),
    )  # fmt: skip
    return contents, [_attempt(trial, at) for at, trial in enumerate([*trials, *canaries])]


def _attempt(trial: Trial, at: int) -> AttemptRecord:
    p50_s = 0.004 * (1 + 0.001 * (at * 7919 % 101))
    vitals = Vitals(
        uptime_s=1000.5 + at, boot_id="b00710f2-3f6e-4f4e-9d1b-0a1b2c3d4e5f", battery_level=78, battery_c=31.0,
        battery_health="Good", battery_status="Full", thermal_status=0, zones_c={"cpu": 40.5, "skin": 33.0},
        current_freq_khz=(1_700_000, 2_910_000), limit_khz={0: 1_700_000, 4: 2_910_000},
        governors={0: "sched_pixel", 4: "sched_pixel"}, load_1m=0.5, available_bytes=4 << 30, screen_on=True,
    )  # fmt: skip
    figures = Figures(
        iterations=100, p50_s=p50_s, p90_s=p50_s * 1.1, p95_s=p50_s * 1.2, p99_s=p50_s * 1.3, min_s=p50_s * 0.9,
        max_s=p50_s * 2, mean_s=p50_s * 1.01, session_creation_s=0.02, first_inference_s=None,
        peak_working_set_bytes=30_000_000,
    )  # fmt: skip
    return AttemptRecord(
        attempt_id=f"n00000-{at}", trial_id=trial.trial_id("n00000"), run_id="n00000", case_id=trial.case_id,
        phone=trial.phone, fingerprint=_facts(trial.phone).fingerprint, purpose=trial.purpose.value, round=trial.round,
        position=trial.position, number=0, block_id="n00000-1", epoch=1, recorded_at=START + timedelta(seconds=at),
        argv=("./onnxruntime_perf_test", "-e", "cpu", "-m", "times", "-r", "100", "-o", "99", "-I", "model.ort"),
        iterations_asked=100, exit_code=0, ending="exited", started_uptime_s=1000.6, ended_uptime_s=1001.9,
        slot_wait_s=0.0, before=vitals, after=vitals, outcome=Measured(figures=figures),
        evidence={name: f"{at:064x}" for name in ("stdout", "stderr", "result", "snapshots")},
        process=ProcessFacts(), script_digest="3d" * 32, validity="valid",
    )  # fmt: skip


def fill(home: Path, attempts: int = ATTEMPTS, rounds: int = ROUNDS) -> int:
    """Make a ledger of at least so many attempts; how many nights that are."""
    contents, records = first_night(rounds)
    ledger = Ledger.open(home)
    ledger.add_run(contents)
    ledger.record_attempts(records)
    ledger.close()
    nights = math.ceil(attempts / len(records))
    bare = sqlite3.connect(home / LEDGER_FILE)
    bare.execute("PRAGMA synchronous = OFF")
    bare.execute("PRAGMA foreign_keys = OFF")
    bare.execute("PRAGMA cache_size = -200000")
    indexes = bare.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    copies = list(_copies(bare))
    for name, _ in indexes:
        bare.execute(f"DROP INDEX {name}")
    for at in range(1, nights):
        moved = {
            "run": f"n{at:05}",
            "night": f'["nightly={NIGHTLY}","night={at:05}"]',
            "at": (START + timedelta(days=at)).isoformat(timespec="microseconds"),
            "factor": 1 + 0.002 * (at * 31 % 17),
        }
        for statement in copies:
            bare.execute(statement, moved)
        bare.commit()
    for _, statement in indexes:
        bare.execute(statement)
    bare.commit()
    bare.close()
    return nights


def _copies(bare: sqlite3.Connection) -> Iterator[str]:
    """What copies the first night to another: for each table its columns, with other names, figures and moments."""
    other = {
        "run_id": ":run",
        "tags": ":night",
        "created_at": ":at",
        "recorded_at": "substr(:at, 1, 10) || substr(recorded_at, 11)",
        "trial_id": ":run || trial_id",
        "attempt_id": ":run || attempt_id",
        "p50_s": "p50_s * :factor",
    }
    for table in ("run", "run_phone", "run_variant", "run_case", "trial", "attempt"):
        names = [row[1] for row in bare.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(other.get(name, name) for name in names)
        yield f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} WHERE run_id = 'n00000'"


def _read(program: str, *words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def run(attempts: int | None = None) -> dict[str, Any]:
    """The row of the speed table. `ORCH_ATTEMPTS` is the size of the ledger."""
    asked = attempts or int(os.environ.get("ORCH_ATTEMPTS", ATTEMPTS))
    case = _case(7)
    phone = f"SERIAL{3:04}"
    ours_for = json.dumps([phone, case.model_name, case.recipe_name, case.row])
    theirs_for = json.dumps([phone, case.case_id])
    ours, theirs, narrow = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        nights = fill(Path(folder), asked)
        size = (Path(folder) / LEDGER_FILE).stat().st_size
        for turn in range(TURNS):
            ours.append(_read(_OURS, folder, ours_for, NIGHTLY))
            if turn < FULL_TURNS:
                theirs.append(_read(_THEIRS, folder, theirs_for, NIGHTLY, "*"))
                narrow.append(_read(_THEIRS, folder, theirs_for, NIGHTLY, _NARROW))
    same = all(
        len(one["levels"]) == len(ours[0]["levels"])
        and all(math.isclose(a, b) for a, b in zip(one["levels"], ours[0]["levels"], strict=True))
        for one in [*ours, *theirs, *narrow]
    )
    seconds, full, few = (statistics.median(one["seconds"] for one in told) for told in (ours, theirs, narrow))
    ratio = seconds / full
    return {
        "name": "history",
        "goal": f"≤ {GOAL} of a full table read with pandas, the same figures",
        "figure": f"{ratio:.4f}",
        "met": ratio <= GOAL and same,
        "detail": f"{nights:,} nights, {asked:,} attempts, {size / 1e9:.2f} GB; the last 90 nights of one case: "
        f"{seconds * 1000:.0f} ms, the whole table {full:.1f} s\n"
        f"against only the {_NARROW.count(',') + 1} columns that it needs: {few:.1f} s, {seconds / few:.4f}"
        + ("" if same else "\nthe figures are NOT the same"),
        "ratio": ratio,
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2, ensure_ascii=False))
