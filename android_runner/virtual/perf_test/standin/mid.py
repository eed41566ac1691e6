"""The getopt generation of onnxruntime 1.18 to 1.22, as release 1.21.0 has it."""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.dialect import Dialect, not_built
from android_runner.virtual.perf_test.standin.getopt_line import parse
from android_runner.virtual.perf_test.standin.usage import USAGE_1_21

DIALECT = Dialect(
    name="mid",
    parse=parse,
    option_string="m:e:r:t:p:x:y:c:d:o:u:i:f:F:S:T:C:AMPIDZvhsqznlR:",
    usage=USAGE_1_21,
    optimization_levels=frozenset({0, 1, 2, 99}),
    providers_not_built={
        "dnnl": not_built(96, "DNNL"),
        "cuda": not_built(149, "CUDA"),
        "tensorrt": not_built(192, "TensorRT"),
        "qnn": not_built(279, "QNN"),
        "snpe": not_built(313, "SNPE"),
        "nnapi": not_built(344, "NNAPI"),
        "vsinpu": not_built(350, "VSINPU"),
        "coreml": not_built(398, "COREML", "is not supported on this platform."),
        "dml": not_built(470, "DML"),
        "acl": not_built(498, "Acl"),
        "armnn": not_built(505, "ArmNN"),
        "rocm": not_built(515, "ROCM"),
        "migraphx": not_built(521, "MIGraphX"),
        "xnnpack": not_built(529, "Xnnpack"),
        "webgpu": not_built(535, "WebGPU"),
        "vitisai": not_built(548, "VitisAI"),
        "openvino": not_built(802, "OpenVINO"),
    },
)
