"""Have an onnxruntime load a model, optimize it and save it. The one place where that is done.

Imported by this package for its own onnxruntime; run as a program by another Python (3.6 or newer, from 1.8 of
onnxruntime on), so it imports nothing of ours:

    python -E save_session.py               {"version": …}, or {"error": …, "missing": "onnxruntime"}
    python -E save_session.py < job.json    the same, and what `save` raised
"""

import json
import os
import sys
from typing import Any

FATAL = 4


def save(ort: Any, job: Any) -> None:
    """Save `job["target"]` from `job["source"]`; `level` is the name of a GraphOptimizationLevel, `entries` session
    configuration, `disabled` optimizers, `custom_ops` libraries. Raises ValueError where this release has no such
    level, else onnxruntime's own errors."""
    level = getattr(ort.GraphOptimizationLevel, job["level"], None)
    if level is None:
        raise ValueError(f"it has no level {job['level']}")
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = job["target"]
    options.log_severity_level = FATAL
    options.intra_op_num_threads = 1  # other workers have the other cores
    options.enable_cpu_mem_arena = False
    for key, value in sorted(job["entries"].items()):
        options.add_session_config_entry(key, value)
    for library in job["custom_ops"]:
        options.register_custom_ops_library(library)
    ort.InferenceSession(
        job["source"], options, providers=["CPUExecutionProvider"], disabled_optimizers=job["disabled"] or None
    )


def main() -> None:
    """Answer on stdout with one line of JSON; what onnxruntime prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer: Any = {}
    try:
        import onnxruntime  # noqa: PLC0415

        ort: Any = onnxruntime
        answer["version"] = ort.__version__
        ort.set_default_logger_severity(FATAL)
        job = sys.stdin.read()
        if job.strip():
            save(ort, json.loads(job))
    except ImportError as error:
        answer.update(error=str(error), missing=getattr(error, "name", None) or "onnxruntime")
    except Exception as error:  # noqa: BLE001  onnxruntime's exceptions have no base class of their own
        answer["error"] = str(error) or type(error).__name__
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
