from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.block import Ending, TrialFolder
from android_runner.errors import (
    BinaryUnusable,
    ModelRefused,
    ReportUnreadable,
    RunnerError,
    SettingRefused,
    ToolCrashed,
    ToolKilled,
    TrialLost,
    TrialTimedOut,
)
from android_runner.verdict import Reading, TrialEnd, decide, judge

RECORDED = Path(__file__).parent.parent / "corpus" / "perf_test-1.21"


def end(
    exit_code: int | None, stdout: bytes = b"", stderr: bytes = b"", ending: Ending = Ending.EXITED, timed: bool = False
) -> TrialEnd:
    return TrialEnd(ending=ending, exit_code=exit_code, stdout=stdout, stderr=stderr, timed=timed)


def of_sample(name: str) -> TrialEnd:
    folder = RECORDED / name
    usage = (RECORDED / "help" / "stdout").read_bytes()
    stdout = (folder / "stdout").read_bytes()
    return end(
        int((folder / "rc").read_text()),
        usage if stdout.startswith(b"[... the usage text") else stdout,
        (folder / "stderr").read_bytes(),
    )


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("bad_flag", SettingRefused, "invalid option -- 'Q'"),
        ("ep_nnapi", SettingRefused, "NNAPI is not supported in this build"),
        ("ep_nosuch", SettingRefused, "usage text"),
        ("no_args", SettingRefused, "usage text"),
        ("garbage_ort", ToolCrashed, "SIGSEGV"),
        ("killed", ToolKilled, "SIGKILL"),
        ("missing_model", ModelRefused, 'open file "m/nosuch.onnx" failed: No such file or directory'),
        ("missing_ort", ModelRefused, "Invalid fd was supplied: -1"),
        ("truncated_onnx", ModelRefused, "protobuf parsing failed"),
        ("runfail_onnx", ModelRefused, "Run failed:.*Reshape node. Name:'bad_reshape'"),
        ("without_I", ModelRefused, "there is no test data for model m"),
        ("no_library", BinaryUnusable, "libonnxruntime.so: cannot open shared object file"),
    ],
)
def test_recorded_ends(name: str, kind: type[RunnerError], said: str) -> None:
    with pytest.raises(RunnerError, match=said) as caught:
        decide(of_sample(name))
    assert type(caught.value) is kind
    assert "/src/onnxruntime" not in str(caught.value)


SOURCE = b"/src/onnxruntime/core/session/inference_session.cc:1 onnxruntime::Status onnxruntime::f(int (*)(x)) const "


@pytest.mark.parametrize(
    ("exit_code", "stdout", "stderr", "kind"),
    [
        (1, b"", b"ERROR: Unknown command line flag 'zzz'", SettingRefused),
        (1, b"", b"ERROR: Illegal value 'abc' specified for flag 'r'", SettingRefused),
        (1, b"", b"ERROR: Missing the value for the flag 'x'", SettingRefused),
        (255, b"", b"See 'onnxruntime_perf_test --help'.", SettingRefused),
        (255, b"", b"perf: unknown option -- Q", SettingRefused),
        (255, b"", b"Xnnpack is not supported in this build\n", SettingRefused),
        (255, b"", b"This backend is not included in perf test runner.", SettingRefused),
        (255, b"", b"[ERROR] [NNAPI] wrong key type entered. Choose from the following", SettingRefused),
        (255, b"", b"Both NNAPI_FLAG_CPU_DISABLED and NNAPI_FLAG_CPU_ONLY are set", SettingRefused),
        (255, b"", b"Error parsing session configuration entries: Use a '|'", SettingRefused),
        (255, b"", b"Specified duplicate session configuration entry: K", SettingRefused),
        (255, b"", b"Setting thread affinity is not implemented in this build.", SettingRefused),
        (255, b"", b"but fallback to CPU EP has been explicitly disabled by the user.", SettingRefused),
        (255, b"", b"The model cannot run using the current set of target devices, [Name: [x]]", SettingRefused),
        (255, b"", SOURCE + b"InferenceSession is null. Invalid ORT format model.", ModelRefused),
        (255, b"", SOURCE + b"Missing Graph. Invalid ORT format model.", ModelRefused),
        (255, b"", SOURCE + b"The ORT format model version [6] is not supported in this build 1.15.1.", ModelRefused),
        (255, b"", b"This build doesn't support ORT format models older than version 5.", ModelRefused),
        (255, b"", b"onnx model is not supported in this build", ModelRefused),
        (255, b"", b"m/model.txt is not supported", ModelRefused),
        (
            255,
            b"there is no test input data for input x and model m\nRun failed:failed to initialize.",
            b"",
            ModelRefused,
        ),
        (255, b"", b"test case dir doesn't exist", ModelRefused),
        (126, b"", b"sh: ./perf: can't execute: Permission denied", BinaryUnusable),
        (126, b"", b"/system/bin/sh: ./perf: not executable: 64-bit ELF file", BinaryUnusable),
        (127, b"", b"sh: perf: inaccessible or not found", BinaryUnusable),
        (127, b"", b"", BinaryUnusable),
        (1, b"", b'CANNOT LINK EXECUTABLE "./perf": library "libonnxruntime.so" not found', BinaryUnusable),
        (134, b"", b'CANNOT LINK EXECUTABLE "./perf": cannot locate symbol "OrtGetApiBase"', BinaryUnusable),
        (1, b"", b"./perf: libonnxruntime.so: version `VERS_1.21.0' not found (required by ./perf)", BinaryUnusable),
        (255, b"", b"The requested API version [24] is not available, only API versions [1, 21]", BinaryUnusable),
        (126, b"", b"sh: ./perf: Exec format error", BinaryUnusable),
        (139, b"", b"", ToolCrashed),
        (134, b"", b"Aborted", ToolCrashed),
        (132, b"", b"", ToolCrashed),
        (135, b"", b"", ToolCrashed),
        (136, b"", b"", ToolCrashed),
        (255, b"", b"std::bad_alloc", ToolCrashed),
        (137, b"", b"", ToolKilled),
        (143, b"", b"", ToolKilled),
        (255, b"", b"something nobody has seen", ReportUnreadable),
        (3, b"", b"", ReportUnreadable),
        (0, b"", b"", ReportUnreadable),
        (0, b"Run failed:x\n" + (RECORDED / "x1" / "stdout").read_bytes(), b"", ModelRefused),
        (None, b"", b"", TrialLost),
    ],
)
def test_each_text_has_its_leaf(exit_code: int | None, stdout: bytes, stderr: bytes, kind: type[RunnerError]) -> None:
    with pytest.raises(RunnerError) as caught:
        decide(end(exit_code, stdout, stderr))
    assert type(caught.value) is kind
    assert "inference_session.cc" not in str(caught.value)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [(Ending.TIMED_OUT, TrialTimedOut), (Ending.STOPPED, ToolKilled), (Ending.LOST, TrialLost)],
)
def test_endings_that_the_journal_tells(ending: Ending, kind: type[RunnerError]) -> None:
    with pytest.raises(kind):
        decide(end(137, ending=ending))


def test_errors_stand_above_the_log_lines_that_follow() -> None:
    stderr = (
        b"\x1b[1;31m2026-11-21 02:07:04.7 [E:onnxruntime:, a.cc:5 F] the reason\x1b[m\n"
        b"2026-11-21 02:07:04.8 [W:onnxruntime:, a.cc:5 F] chatter\n"
    )
    with pytest.raises(ReportUnreadable, match=r": the reason$"):
        decide(end(255, b"", stderr))


def folder(tmp_path: Path, name: str, **more: bytes) -> TrialFolder:
    sample = RECORDED / name
    files = {file: sample / file for file in ("stdout", "stderr", "result.csv") if (sample / file).exists()}
    for file, content in more.items():
        files[file] = tmp_path / file
        files[file].write_bytes(content)
    return TrialFolder(
        task_id="0001-time",
        ending=Ending.EXITED,
        exit_code=int((sample / "rc").read_text()),
        started_uptime_s=1.0,
        ended_uptime_s=2.0,
        slot_wait_s=0.0,
        files=files,
        before=None,
        after=None,
    )


def test_a_folder_with_a_result_file_is_a_measurement(tmp_path: Path) -> None:
    reading = judge(folder(tmp_path, "result_file"), wants_latencies=True, wants_trace=False)
    assert isinstance(reading, Reading)
    assert reading.latencies is not None
    assert (reading.iterations, reading.latencies.iterations, reading.trace) == (20, 20, None)
    assert reading.mean_s == pytest.approx(4.065e-5)


def test_latencies_that_are_missing_are_missed(tmp_path: Path) -> None:
    with pytest.raises(ReportUnreadable, match="neither a result file nor verbose lines"):
        judge(folder(tmp_path, "x1"), wants_latencies=True, wants_trace=False)


def test_a_calibration_needs_stdout_only(tmp_path: Path) -> None:
    reading = judge(folder(tmp_path, "x1"), wants_latencies=False, wants_trace=False)
    assert (reading.iterations, reading.latencies) == (20, None)
    assert reading.in_force == {"intra_op_num_threads": "1"}


def test_a_trace_must_be_there(tmp_path: Path) -> None:
    whole = folder(tmp_path, "x1", **{"trace_2026.json": b"[\n]\n"})
    assert judge(whole, wants_latencies=False, wants_trace=True).trace == tmp_path / "trace_2026.json"
    with pytest.raises(ReportUnreadable, match="wrote no trace"):
        judge(folder(tmp_path, "x1"), wants_latencies=False, wants_trace=True)
    with pytest.raises(ReportUnreadable, match="empty trace"):
        judge(folder(tmp_path, "x1", **{"trace_2026.json": b""}), wants_latencies=False, wants_trace=True)


@given(st.integers(0, 255), st.binary(max_size=300), st.binary(max_size=300), st.booleans())
def test_any_end_is_a_reading_or_a_leaf(exit_code: int, stdout: bytes, stderr: bytes, timed: bool) -> None:
    said = _leaf(end(exit_code, stdout, stderr, timed=timed))
    assert said is None or (said.kind != "runner" and len(str(said)) < 700 and str(said).isprintable())


def _leaf(ended: TrialEnd) -> RunnerError | None:
    try:
        decide(ended)
    except RunnerError as error:
        return error
    return None


def test_an_introspection_brings_its_log(tmp_path: Path) -> None:
    with pytest.raises(ReportUnreadable, match="no log came"):
        judge(folder(tmp_path, "x1"), wants_latencies=False, wants_trace=False, wants_log=True)
    for kept in (folder(tmp_path, "x1", logcat=b""), folder(tmp_path, "verbose")):
        assert judge(kept, wants_latencies=False, wants_trace=False, wants_log=True).latencies is None
