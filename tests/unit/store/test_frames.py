"""A run as tidy frames, and as files."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sample_run as sample
from sample_home import LATENCIES_S, RESULT, ROOT, make_home

import orchestrator
from orchestrator.errors import StoreError, UsageError
from orchestrator.store import export
from orchestrator.store.columns import COLUMNS
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.export import write_csv, write_parquet
from orchestrator.store.frames import RunFrames
from orchestrator.store.ledger import Ledger


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path)


@pytest.fixture
def frames(home: Path) -> RunFrames:
    return orchestrator.load(sample.RUN, home=home)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_frame_has_the_columns_that_the_dictionary_says(frames: RunFrames, name: str) -> None:
    frame = getattr(frames, name)
    assert list(frame.columns) == list(COLUMNS[name])
    assert len(frame) > 0
    kinds = {"text": "string", "int": "Int64", "float": "float64", "flag": "boolean", "list": "object"}
    kinds["moment"] = "datetime64[us, UTC]"
    assert {column: str(frame[column].dtype) for column in frame} == {
        column: kinds[meaning.kind] for column, meaning in COLUMNS[name].items()
    }


def test_units_are_in_the_names() -> None:
    units = {"s": "_s", "bytes": "_bytes", "°C": "_c", "kHz": "_khz", "µA": "_ua"}
    endings = {unit: tuple(f"{end}{when}" for when in ("", "_before", "_after")) for unit, end in units.items()}
    for columns in COLUMNS.values():
        for name, (unit, meaning, _) in columns.items():
            assert meaning
            if unit in endings:
                assert name.endswith(endings[unit]), name
            if name.endswith(("_s", "_bytes", "_khz")):
                assert unit, name


def test_empty_runs_have_the_same_columns(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.add_run(replace(sample.contents(), trials=(), dropped=(), phones=(), variants=(), cases=()))
    empty = RunFrames(ledger, EvidenceStore(tmp_path), sample.RUN)
    for name in COLUMNS:
        frame = getattr(empty, name)
        assert list(frame.columns) == list(COLUMNS[name])
        assert len(frame) == (1 if name == "runs" else 0)
    ledger.close()


def test_an_attempt_row_holds_all_that_is_known(frames: RunFrames) -> None:
    attempts = frames.attempts.set_index("attempt")
    assert list(attempts.index) == ["c0", "a0", "a1", "a2", "a3", "t0", "v0", "t1", "i0", "i1"]
    row = attempts.loc["a1"]
    assert row["p50_s"] == 0.004
    assert row["label"] == "B3"
    assert (row["row"], row["recipe"], row["format"], row["level"]) == ("default", "onnx", "onnx", "basic")
    assert (row["battery_c_before"], row["battery_c_after"]) == (31.0, 32.0)
    assert (row["zone_max_c_before"], row["zone_max_c_after"]) == (40.5, 44.0)
    assert row["command"] == "./onnxruntime_perf_test -m times 'model with space.ort'"
    assert row["argv"] == ("./onnxruntime_perf_test", "-m", "times", "model with space.ort")
    assert row["ort_version"] == "1.21.0"
    assert row["schema_version"] >= 1
    assert pd.isna(row["intra_op_threads"])
    assert pd.isna(row["kind"])
    failed = attempts.loc["a0"]
    assert (failed["outcome"], failed["kind"], failed["blame"], failed["retry"]) == (
        "failed", "crashed", "runtime", "elsewhere",
    )  # fmt: skip
    assert pd.isna(failed["p50_s"])
    assert pd.isna(failed["battery_c_before"])
    assert list(attempts["counted"]) == [False, False, True, True, False, True, True, True, True, False]
    assert list(attempts["number"]) == [1, 1, 2, 1, 3, 1, 1, 1, 1, 1]
    assert pd.isna(attempts.loc["c0", "trial"])


def test_trials_say_how_each_ended(frames: RunFrames) -> None:
    trials = frames.trials
    assert list(trials["state"].head(5)) == ["measured", "measured", "failed", "skipped", "planned"]
    assert trials.loc[2, "message"] == "ended by SIGSEGV"
    assert trials.loc[3, "reason"] == "phone lost"
    assert trials.loc[0, "counted_attempt"] == "a1"
    run = frames.runs.iloc[0]
    assert (run["planned"], run["measured"], run["failed"], run["skipped"]) == (17, 6, 1, 1)


def test_iterations_come_from_the_result_file_or_the_verbose_lines(frames: RunFrames) -> None:
    iterations = frames.iterations
    for attempt in ("a1", "a2", "a3"):
        mine = iterations[iterations["attempt"] == attempt]
        assert list(mine["latency_s"]) == list(LATENCIES_S)
        assert list(mine["iteration"]) == [0, 1, 2]
    assert list(iterations.groupby("attempt")["counted"].first()) == [True, True, False]
    assert np.isclose(iterations[iterations["attempt"] == "a1"]["latency_s"].median(), 0.004)


def test_operators_come_from_the_trace(frames: RunFrames) -> None:
    operators = frames.operators[frames.operators["attempt"] == "t0"]
    assert list(operators["operator"]) == ["Conv", "Relu"]
    assert list(operators["executions"]) == [2, 2]
    assert list(operators["self_s"]) == [600e-6, 200e-6]
    assert operators["share"].sum() == 1.0
    assert list(operators["ran_on"]) == ["CPUExecutionProvider"] * 2
    assert list(operators["complete"]) == [True, True]


def test_predictions_are_made_from_the_graphs_that_the_run_kept(frames: RunFrames) -> None:
    rows = frames.predictions
    assert len(rows) == 2 * 2 * 2  # phones, variants, and flags: none, and NCHW alone
    row = rows.iloc[0]
    assert (row.nodes, row.nodes_claimed, row.partitions, row.feature_level) == (3, 2, 2, 1000007)
    assert row.partition_operators == [["Relu"], ["Relu"]]
    assert (row.multiply_adds, row.multiply_adds_claimed) == (4 * 8 * 8 * 4, 0)
    ((operator, reason, count),) = row.not_taken
    assert (operator, count) == ("com.microsoft:FusedConv", 1)
    assert "does not know" in reason


def test_nodes_say_where_each_should_run_and_what_it_comes_after(frames: RunFrames) -> None:
    rows = frames.nodes
    first = rows[rows["variant"] == rows["variant"].iloc[0]]
    first = first[(first["api_level"] == first["api_level"].iloc[0]) & (first["nnapi_flags"].map(len) == 0)]
    assert list(first["operator"]) == ["Relu", "com.microsoft:FusedConv", "Relu"]
    assert first["partition"].tolist()[::2] == [0, 1]
    assert pd.isna(first["partition"].iloc[1])
    assert list(first["after"]) == [[], [0], [1]]
    assert "does not know" in first["reason"].iloc[1]
    assert pd.isna(first["reason"].iloc[0])


def test_placements_come_from_the_log_and_a_cut_one_is_not_known(frames: RunFrames) -> None:
    placements = frames.placements.set_index("attempt")
    whole, cut = placements.loc["i0"], placements.loc["i1"]
    assert (whole["known"], whole["partitions"], whole["nodes_claimed"], whole["nodes_in_graph"]) == (True, 2, 8, 10)
    assert (whole["nodes_before_layout"], whole["claimed_before_layout"]) == (6, 4)
    assert whole["feature_level"] == 1000006
    assert whole["devices"][0] == ("google-edgetpu", "accelerator")
    assert whole["placed"] == (("NnapiExecutionProvider", 2), ("CPUExecutionProvider", 2))
    assert pd.isna(whole["why"])
    assert not cut["known"]
    assert "end mark" in cut["why"]
    assert cut[["partitions", "nodes_claimed", "nodes_in_graph"]].isna().all()


def test_claims_are_every_node_of_every_look(frames: RunFrames) -> None:
    claims = frames.claims
    assert set(claims["attempt"]) == {"i0"}
    assert list(claims.groupby("step").size()) == [6, 10]
    refused = claims[~claims["supported"] & ~claims["last"]]
    assert list(refused["node"]) == ["Convolution28", "Convolution110"]
    assert refused["reason"].iloc[0] == "FusedConv is not supported"


def test_partitions_come_from_the_trace(frames: RunFrames) -> None:
    (row,) = frames.partitions.to_dict("records")
    assert (row["attempt"], row["partition"]) == ("t1", "NnapiExecutionProvider_Nnapi_77_0_0")
    assert (row["count"], row["runs"], row["total_s"], row["share"]) == (2, 2, 200e-6, 0.25)


def test_missing_and_foreign_evidence_is_told_by_name(home: Path, frames: RunFrames) -> None:
    evidence = EvidenceStore(home)
    digest = str(frames.attempts.set_index("attempt").loc["a1", "evidence"]["result.csv"])
    evidence.path(digest).unlink()
    with pytest.raises(StoreError, match=digest):
        _ = frames.iterations
    ledger = Ledger.open(home)
    odd = {"result.csv": evidence.keep_bytes(b"no result file\n")}
    ledger.record_attempt(sample.attempt(sample.contents().trials[4], "a9", evidence=odd))
    evidence.keep_bytes(RESULT)
    with pytest.raises(StoreError, match="a9"):
        _ = RunFrames(ledger, evidence, sample.RUN).iterations
    ledger.close()


def test_loading_needs_a_ledger_and_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="no ledger"):
        orchestrator.load(home=tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    monkeypatch.setenv("ORCH_HOME", str(tmp_path))
    Ledger.open(tmp_path).close()
    with pytest.raises(UsageError, match="no run"):
        orchestrator.load()


def test_pandas_is_loaded_when_asked_for_and_not_before() -> None:
    code = "import sys, orchestrator; print('pandas' in sys.modules, 'sqlalchemy' in sys.modules); orchestrator.load"
    code += "; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["False", "False", "True"]
    with pytest.raises(AttributeError, match="nonsense"):
        _ = orchestrator.nonsense


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_csv_holds_every_frame(frames: RunFrames, tmp_path: Path) -> None:
    written = write_csv(frames, tmp_path / "out" / "csv")
    assert [path.name for path in written] == [f"{name}.csv" for name in COLUMNS]
    assert sorted(path.name for path in (tmp_path / "out" / "csv").iterdir()) == sorted(path.name for path in written)
    attempts = read_csv(tmp_path / "out" / "csv" / "attempts.csv")
    assert [row["attempt"] for row in attempts] == ["c0", "a0", "a1", "a2", "a3", "t0", "v0", "t1", "i0", "i1"]
    assert attempts[2]["p50_s"] == "0.004"
    assert attempts[1]["p50_s"] == ""
    assert attempts[2]["recorded_at"] == "2026-04-12T02:15:05.123456Z"
    assert json.loads(attempts[2]["argv"])[-1] == "model with space.ort"
    variants = read_csv(tmp_path / "out" / "csv" / "variants.csv")
    assert json.loads(variants[0]["nodes_before"]) == {"Conv": 2, "Relu": 2}
    assert json.loads(read_csv(tmp_path / "out" / "csv" / "runs.csv")[0]["tags"]) == ["nightly", "büro"]


def test_numerics_stand_beside_their_variant_with_the_verdict_of_today(frames: RunFrames) -> None:
    itself, wrong = frames.variants.to_dict(orient="records")
    assert (itself["verdict"], itself["error"], itself["cosine"]) == ("the source itself", 0.0, 1.0)
    assert pd.isna(itself["verdict_reason"])
    assert (wrong["verdict"], wrong["error"], wrong["cosine"], wrong["top1_same"]) == (
        "out of tolerance", 0.25, 0.9, False,
    )  # fmt: skip
    assert wrong["verdict_reason"] == "output y is off by 0.25 of its largest value, 0.0001 is allowed"
    assert wrong["output_errors"][0]["max_abs"] == 0.5


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_csv_has_no_formulas(start: str, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    contents = sample.contents()
    text = f"{start}cmd|' /C calc'!A0"
    phones = tuple(replace(phone, facts=replace(phone.facts, device_model=text)) for phone in contents.phones)
    failed = replace(sample.FAILED, message=text + '\n"quoted", and\nmore\r=1+1')
    ledger.add_run(replace(contents, run=replace(contents.run, note=text, tags=(text,)), phones=phones))
    ledger.record_attempt(sample.attempt(contents.trials[0], "a0", failed, argv=(text,)))
    write_csv(RunFrames(ledger, EvidenceStore(tmp_path), sample.RUN), tmp_path)
    ledger.close()
    for name in COLUMNS:
        with (tmp_path / f"{name}.csv").open(newline="", encoding="utf-8") as stream:
            for row in csv.reader(stream):
                assert len(row) == len(COLUMNS[name])
                assert not [cell for cell in row if cell.startswith(start) and cell == cell.strip("0123456789.e")]
    assert read_csv(tmp_path / "phones.csv")[0]["device_model"] == f"'{text}".replace("\r", "\n")
    assert read_csv(tmp_path / "attempts.csv")[0]["message"].endswith('\n"quoted", and\nmore\n=1+1')


def test_parquet_reads_back_the_same(frames: RunFrames, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for path in write_parquet(frames, tmp_path / "parquet"):
        frame, again = getattr(frames, path.stem), pd.read_parquet(path)
        assert list(again.columns) == list(frame.columns)
        for column, meaning in COLUMNS[path.stem].items():
            if meaning.kind != "list":
                pd.testing.assert_series_equal(again[column], frame[column], check_dtype=False)


def test_parquet_without_pyarrow_says_what_to_install(
    frames: RunFrames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'orch\[parquet\]'"):
        write_parquet(frames, tmp_path / "parquet")


def test_files_that_cannot_be_written_are_a_store_error(frames: RunFrames, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can't be written"):
        write_csv(frames, tmp_path / "file" / "csv")


def test_checks_say_how_far_each_output_is_or_why_nobody_knows(frames: RunFrames) -> None:
    checks = frames.checks.set_index("output")
    assert list(frames.checks["case"].unique()) == [sample.CASES[0].case_id], "no other variant was to be verified"
    mine = checks[checks["phone"] == sample.PHONES[0]]
    assert bool(mine.loc["y", "checked"])
    assert (mine.loc["y", "difference"], mine.loc["y", "error_db"], mine.loc["y", "tolerance_db"]) == (
        "differs",
        13.2,
        40.0,
    )
    assert not mine.loc["y", "within"]
    assert not mine.loc["words", "checked"]
    assert mine.loc["words", "why"] == "holds no numbers that could be compared"
    others = frames.checks[frames.checks["phone"] == sample.PHONES[1]]
    assert list(others["why"]) == ["not ended yet"]
    assert set(frames.operators["operator"]) == {"Conv", "Relu", "Nnapi_77_0"}, "the tail is counted nowhere"
