"""Pure: what every column of the frames holds. `COLUMNS` is the dictionary that people and tests read.

Kinds: `text`, `int`, `float`, `flag`, `moment` (UTC) and `list` (a tuple or a mapping; JSON text in files). Any cell
may be missing: that means "not said", never "fine".
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.store import cold_columns, nnapi_columns, vitals_columns
from orchestrator.store.case_columns import SETTINGS
from orchestrator.store.meaning import ColumnMeaning, Columns

_C = ColumnMeaning

_RUN = _C("", "the run's name")
_PHONE = _C("", "the phone's identity (ro.serialno)")
_LABEL = _C("", "what tables call the phone")
_MODEL = _C("", "the model's name")
_ROW = _C("", "what a person calls the case: 'cpu all 4t'")
_CASE = _C("", "digest of what was asked: variant, settings, binary, inputs")
_TRIAL = _C("", "the trial's id: run, case, phone, purpose, round; missing for a calibration or a canary")
_ATTEMPT = _C("", "the attempt's id")
_PURPOSE = _C("", "time, trace, introspect, verify, calibrate or canary; they are never mixed")
_ROUND = _C("", "which planned repetition of the case, from 1", "int")
_POSITION = _C("", "place in the phone's order", "int")
_KIND = _C("", "what went wrong, one word of the error tree: crashed, timed_out, …")
_BLAME = _C("", "who must act: lab, plan, model, runtime, us")
_RETRY = _C("", "where trying again is honest: here, elsewhere, later, never")
_MESSAGE = _C("", "the failure, or why it was skipped, in words")

RUNS: Columns = {
    "run": _RUN,
    "created_at": _C("UTC", "when the plan was written down", "moment"),
    "finished_at": _C("UTC", "when the run ended; missing while it runs or when it was cut off", "moment"),
    "state": _C("", "running, finished or interrupted"),
    "plan_name": _C("", "the preset's or the plan file's name"),
    "plan_digest": _C("", "digest of what the plan asks for"),
    "command": _C("", "the command that asked for the run"),
    "seed": _C("", "seed of the order of trials", "int"),
    "rounds": _C("", "planned repetitions of each case", "int"),
    "precision": _C("", "half-width of an interval at which a case has rounds enough; missing: fixed rounds", "float"),
    "first_stage": _C("", "rounds whose spread decides how many a case gets; missing: their number is fixed", "int"),
    "delta": _C("", "the difference that matters where A is held against B; missing: they are not", "float"),
    "sides": _C("", "what was asked for as A and as B, as it was typed; missing: nothing was", "list"),
    "fail_if": _C("", "gates on A beside B, as they were written; missing: none", "list"),
    "origin": _C("", "what a replay asks again: run, phone, row, p50s_s, …; missing: it is no replay", "list"),
    "note": _C("", "what the user noted"),
    "tags": _C("", "the user's tags", "list"),
    "binary_name": _C("", "the measured program's file name"),
    "binary_digest": _C("", "digest of the measured program and its libraries"),
    "binary_ort_version": _C("", "ONNX Runtime's version, as the binary tells it"),
    "script_digest": _C("", "digest of the script that ran on the phones"),
    "orch_version": _C("", "the orch that ran it"),
    "host": _C("", "the computer's name"),
    "user": _C("", "who ran it"),
    "planned": _C("", "trials asked for", "int"),
    "measured": _C("", "trials that measured", "int"),
    "failed": _C("", "trials tried in vain", "int"),
    "skipped": _C("", "trials not tried to their end", "int"),
}

PHONES: Columns = {
    "run": _RUN,
    "phone": _PHONE,
    "label": _LABEL,
    "serial": _C("", "the adb serial it had in this run"),
    "device_model": _C("", "ro.product.model"),
    "manufacturer": _C("", "ro.product.manufacturer"),
    "soc": _C("", "the system on chip"),
    "api_level": _C("", "Android's API level", "int"),
    "fingerprint": _C("", "ro.build.fingerprint"),
    "abis": _C("", "Android's ABI names, best first", "list"),
    "exec_abis": _C("", "what the phone can execute, best first", "list"),
    "cores": _C("", "number of cores", "int"),
    "max_freq_khz": _C("kHz", "highest clock of each core", "list"),
    "memory_bytes": _C("bytes", "memory", "int"),
    "rooted": _C("", "whether its shell can be root", "flag"),
    "virtual": _C("", "whether it is a virtual phone", "flag"),
    "confinement": _C("", "a virtual phone's: namespace or unconfined"),
    "profile": _C("", "a virtual phone's device profile"),
    "shell": _C("", "the shell that runs our script"),
    "prepared": _C("", "steps of its preparation: step, standing (done, not offered, refused), words", "list"),
    "prepare_problem": _C("", "why it could not be prepared"),
    "place": _C("", "where it hung when the run began: usb:BUS-PORT.PORT, tcp"),
    "battery_capacity": _C("", "share of its battery's capacity that is left; missing: not told", "float"),
    "battery_care": _C("", "what its battery asks of a person, in words", "list"),
}

VARIANTS: Columns = {
    "run": _RUN,
    "variant": _C("", "digest of what was asked: model, recipe, dimensions, converter"),
    "model": _MODEL,
    "model_digest": _C("", "digest of the source model's bytes"),
    "recipe": _C("", "onnx, or level and style"),
    "format": _C("", "onnx or ort"),
    "converter_version": _C("", "the onnxruntime that built it; empty for onnx"),
    "graph_digest": _C("", "equal for twins"),
    "sha256": _C("", "digest of this build's bytes"),
    "size_bytes": _C("bytes", "size of the file", "int"),
    "ort_format": _C("", "version of the ORT format; missing for onnx", "int"),
    "build_s": _C("s", "time that building took", "float"),
    "nodes_before": _C("", "nodes by operator before the recipe", "list"),
    "nodes_after": _C("", "nodes by operator after the recipe", "list"),
    "verdict": _C("", "the source itself, within, out of tolerance, or not compared; missing where not told yet"),
    "verdict_reason": _C("", "what is out of tolerance, or why nothing could be compared"),
    "precision": _C("", "the least precise arithmetic, by which the tolerance goes: float32, float16, int8"),
    "error": _C("", "largest difference from the source's outputs, as part of the output's largest value", "float"),
    "cosine": _C("", "least cosine of an output with the source's", "float"),
    "top1_same": _C("", "whether the largest element of every row is the source's", "flag"),
    "output_errors": _C("", "by output: n, max_abs, max_rel, max_ref, cosine, top1_same, wrong", "list"),
}

TRIALS: Columns = {
    "run": _RUN,
    "trial": _TRIAL,
    "case": _CASE,
    "phone": _PHONE,
    "label": _LABEL,
    "model": _MODEL,
    "row": _ROW,
    "also": _C("", "other names of the same case: twins and merged cells", "list"),
    "twin_of": _C("", "the row of which this one is a twin measured on purpose"),
    "side": _C("", "A or B, where two are held against each other; missing: they are not"),
    "pair": _C("", "what these two are called together: the model, or both"),
    "purpose": _PURPOSE,
    "round": _ROUND,
    "position": _POSITION,
    "state": _C("", "planned, measured, failed or skipped"),
    "kind": _KIND,
    "blame": _BLAME,
    "retry": _RETRY,
    "message": _MESSAGE,
    "reason": _C("", "why it was skipped"),
    "counted_attempt": _C("", "the one attempt that counts"),
}

DROPPED: Columns = {
    "run": _RUN,
    "model": _MODEL,
    "phone": _PHONE,
    "label": _LABEL,
    "row": _ROW,
    "reason": _C("", "why the cell is no trial"),
}

_FIGURES: Columns = {
    "iterations": _C("", "measured iterations of the process, without the one that perf_test does not count", "int"),
    "warm_up_dropped": _C("", "leading iterations that are in no figure, as the process was not yet warm", "int"),
    "flat": _C("", "whether the running median settled; missing: too few iterations to tell", "flag"),
    "iterations_asked": _C("", "iterations asked for", "int"),
    "p50_s": _C("s", "median latency of the process (linear between order statistics)", "float"),
    "p90_s": _C("s", "90th percentile of latency", "float"),
    "p95_s": _C("s", "95th percentile of latency", "float"),
    "p99_s": _C("s", "99th percentile of latency", "float"),
    "min_s": _C("s", "lowest latency", "float"),
    "max_s": _C("s", "highest latency", "float"),
    "mean_s": _C("s", "mean latency", "float"),
    **cold_columns.START,
}

ATTEMPTS: Columns = {
    "run": _RUN,
    "trial": _TRIAL,
    "attempt": _ATTEMPT,
    "counted": _C("", "whether it is the one attempt that counts for its trial", "flag"),
    "phone": _PHONE,
    "label": _LABEL,
    "device_model": _C("", "ro.product.model"),
    "api_level": _C("", "Android's API level", "int"),
    "fingerprint": _C("", "ro.build.fingerprint when it ran"),
    "virtual": _C("", "whether it ran on a virtual phone", "flag"),
    "tuned": _C("", "whether the phone was changed for measuring; else stock", "flag"),
    "model": _MODEL,
    "variant": _C("", "the variant's id"),
    "recipe": _C("", "onnx, or level and style"),
    "format": _C("", "onnx or ort"),
    "row": _ROW,
    "also": _C("", "other names of the same case", "list"),
    "twin_of": _C("", "the row of which this one is a twin measured on purpose"),
    "case": _CASE,
    **SETTINGS,
    "purpose": _PURPOSE,
    "round": _ROUND,
    "position": _POSITION,
    "number": _C("", "which try at its trial, from 1", "int"),
    "outcome": _C("", "measured, failed or skipped"),
    "kind": _KIND,
    "blame": _BLAME,
    "retry": _RETRY,
    "message": _MESSAGE,
    **vitals_columns.VALIDITY,
    **_FIGURES,
    "exit_code": _C("", "the shell's exit code: 128 + n for signal n", "int"),
    "ending": _C("", "how the process ended, as the phone tells it"),
    "started_uptime_s": _C("s", "the phone's uptime when it started", "float"),
    "ended_uptime_s": _C("s", "the phone's uptime when it ended", "float"),
    "slot_wait_s": _C("s", "a virtual phone's wait for a computing slot, not part of any latency", "float"),
    **vitals_columns.AROUND,
    "recorded_at": _C("UTC", "when it was written down", "moment"),
    "converter_version": _C("", "the onnxruntime that built the variant"),
    "ort_version": _C("", "the runtime's version, as the binary tells it"),
    "binary_digest": _C("", "digest of the measured program and its libraries"),
    "inputs_digest": _C("", "digest of the input set"),
    "graph_digest": _C("", "equal for twins"),
    "seed": _C("", "seed of the order of trials", "int"),
    "script_digest": _C("", "digest of the script that ran on the phone"),
    "orch_version": _C("", "the orch that began the run"),
    "schema_version": _C("", "the ledger's schema that the row was written under", "int"),
    "adopted": _C("", "whether the phone finished it alone and a later process found it", "flag"),
    "block": _C("", "the block that it ran in"),
    "epoch": _C("", "the phone's lease it ran under", "int"),
    "argv": _C("", "the command, word by word", "list"),
    "command": _C("", "the command, quoted for a shell"),
    "evidence": _C("", "digests of the raw files by name", "list"),
}

_OF_ATTEMPT: Columns = {
    name: ATTEMPTS[name]
    for name in ("run", "trial", "attempt", "counted", "phone", "label", "virtual", "model", "row", "case", "round")
}

ITERATIONS: Columns = {
    **_OF_ATTEMPT,
    "iteration": _C("", "which inference of the process, from 0, warm-up excluded", "int"),
    "latency_s": _C("s", "its latency", "float"),
}

OPERATORS: Columns = {
    **_OF_ATTEMPT,
    "operator": _C("", "the operator: Conv, com.microsoft:FusedConv"),
    "ran_on": _C("", "the execution provider that ran it"),
    "nodes": _C("", "nodes of this operator", "int"),
    "executions": _C("", "executions over all runs but the warm-up", "int"),
    "runs": _C("", "whole runs in the trace but the warm-up", "int"),
    "self_s": _C("s", "time in these nodes over all executions, without that of nodes in their bodies", "float"),
    "share": _C("", "part of the time in all nodes, 0 to 1", "float"),
    "device_kernels": _C("", "executions of kernels on a device (a GPU) that its nodes launched", "int"),
    "device_s": _C("s", "time of those kernels there, beside the nodes' own; empty without any", "float"),
    "complete": _C("", "whether the whole trace was there and understood", "flag"),
}

COLD_STARTS: Columns = {**_OF_ATTEMPT, **cold_columns.TRACED}
PREDICTIONS: Columns = {
    "run": _RUN,
    "phone": _PHONE,
    "label": _LABEL,
    "api_level": _C("", "Android's API level", "int"),
    "model": _MODEL,
    **nnapi_columns.PREDICTION,
}

NODES: Columns = {
    "run": _RUN,
    "api_level": _C("", "Android's API level", "int"),
    "model": _MODEL,
    "variant": _C("", "the variant's id"),
    "recipe": _C("", "onnx, or level and style"),
    "nnapi_flags": _C("", "NNAPI's flags", "list"),
    **nnapi_columns.NODE,
}

PLACEMENTS: Columns = {**_OF_ATTEMPT, **nnapi_columns.PLACEMENT}
CLAIMS: Columns = {**_OF_ATTEMPT, **nnapi_columns.CLAIM}
PARTITIONS: Columns = {**_OF_ATTEMPT, **nnapi_columns.PARTITION}
CHECKS: Columns = {**_OF_ATTEMPT, **nnapi_columns.CHECK}

INCIDENTS: Columns = {
    "run": _RUN,
    "phone": _C("", "the phone's identity; missing for what befell an adb server or a hub"),
    "label": _LABEL,
    "at": _C("UTC", "when it was over", "moment"),
    "seen": _C("", "what was to be seen before: not attached, no answer, …"),
    "rung": _C("", "what was tried: wait, reconnect, usb reset, reboot, …; quarantine or leave to a person at the end"),
    "result": _C("", "back, in vain, failed (it could not be carried out) or ended"),
    "words": _C("", "more of it"),
    "took_s": _C("s", "how long it took", "float"),
}

COLUMNS: Mapping[str, Columns] = {
    "runs": RUNS,
    "phones": PHONES,
    "variants": VARIANTS,
    "trials": TRIALS,
    "attempts": ATTEMPTS,
    "iterations": ITERATIONS,
    "operators": OPERATORS,
    "cold_starts": COLD_STARTS,
    "predictions": PREDICTIONS,
    "nodes": NODES,
    "placements": PLACEMENTS,
    "claims": CLAIMS,
    "partitions": PARTITIONS,
    "checks": CHECKS,
    "dropped": DROPPED,
    "incidents": INCIDENTS,
}
"""frame -> column -> (unit, meaning, kind)"""
