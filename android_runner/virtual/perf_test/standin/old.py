"""The first getopt generation, 1.8 to 1.12, as release 1.8 has it.

The library that runs the models is the installed one: names of traces, messages of the runtime and what its optimizers
do are those of that release, not of 1.8.
"""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.dialect import Dialect, not_built
from android_runner.virtual.perf_test.standin.getopt_line import parse
from android_runner.virtual.perf_test.standin.usage_1_8 import USAGE_1_8

DIALECT = Dialect(
    name="old",
    parse=parse,
    option_string="b:m:e:r:t:p:x:y:c:d:o:u:i:f:F:AMPIvhsqz",
    usage=USAGE_1_8,
    optimization_levels=frozenset({0, 1, 2, 99}),
    providers_not_built={
        "dnnl": not_built(96, "DNNL"),
        "cuda": not_built(149, "CUDA"),
        "tensorrt": not_built(192, "TensorRT"),
        "nnapi": not_built(344, "NNAPI"),
        "coreml": not_built(398, "COREML"),
        "nuphar": not_built(398, "Nuphar"),
        "dml": not_built(470, "DML"),
        "acl": not_built(498, "Acl"),
        "armnn": not_built(505, "ArmNN"),
        "openvino": not_built(802, "OpenVINO"),
    },
    first_inference=False,
    rate=False,
    zeroed_inputs=False,
    checked_warm_up=False,
    hidden_data_sets=False,
    nnapi_flags=False,
)
