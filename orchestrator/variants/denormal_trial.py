"""A process that times one model: `python -m orchestrator.variants.denormal_trial MODEL 0|1 input_0.pb …`.

A number of runs a line on stdin, the mean seconds of one run a line on stdout. The second argument is
`session.set_denormal_as_zero`. One thread, level all, as an app on this host would have it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from orchestrator.variants.converter import runtime


def main(arguments: list[str]) -> None:
    """Serve until stdin ends. What onnxruntime prints goes to stderr, answers alone to stdout."""
    from onnx import TensorProto, numpy_helper  # noqa: PLC0415 - this module is a program

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    model, zero, *files = arguments
    ort = runtime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.set_denormal_as_zero", zero)
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {}
    for name in files:
        tensor = TensorProto.FromString(Path(name).read_bytes())
        feeds[tensor.name] = numpy_helper.to_array(tensor)
    for line in sys.stdin:
        runs = int(line)
        started_s = time.perf_counter()
        for _ in range(runs):
            session.run(None, feeds)
        seconds = (time.perf_counter() - started_s) / runs
        answers.write(json.dumps({"seconds": seconds}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
