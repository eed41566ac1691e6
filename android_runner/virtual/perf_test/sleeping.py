"""A perf_test that sleeps for a given time instead of computing: to try out, or to time, all that is around a trial."""

from __future__ import annotations

from pathlib import Path

from android_runner.virtual.perf_test.standin.usage import USAGE_1_21

_TEMPLATE = Path(__file__).with_name("sleeping.sh")


def sleeping_perf_test(directory: Path, seconds: float) -> Path:
    """Write an executable `onnxruntime_perf_test` that sleeps `seconds` per run; needs no library.

    It answers no arguments with the 1.21 usage text (exit 255), prints complete statistics of 0.105 ms an inference,
    appends one row for each of `-r` repetitions to the result file, and with `-p` leaves a trace of one node. On a
    virtual phone that gets hot it sleeps longer, by the phone's pace, and its figures are as much greater.
    """
    if not 0 <= seconds < 100_000:
        raise ValueError(f"cannot sleep {seconds} s")
    text = _TEMPLATE.read_text(encoding="utf-8")
    text = text.replace("SLEEP_S=1\nSLEEP_MS=1000\n", f"SLEEP_S={seconds:g}\nSLEEP_MS={round(seconds * 1000)}\n", 1)
    text = text.replace("'USAGE'", "'" + USAGE_1_21.removesuffix("\n").replace("'", "'\\''") + "'", 1)
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "onnxruntime_perf_test"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program
