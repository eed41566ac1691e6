"""The Abseil generation, from 1.23 on, as release 1.24 has it.

1.24 is the first release whose output tells total and submission apart, and the first in which -A and -M act: in 1.23
they do nothing, and averages are printed as in 1.22.
"""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.abseil_line import parse
from android_runner.virtual.perf_test.standin.dialect import Dialect, not_built

DIALECT = Dialect(
    name="new",
    parse=parse,
    optimization_levels=frozenset({0, 1, 2, 3, 99}),
    providers_not_built={
        "dnnl": not_built(96, "DNNL"),
        "cuda": not_built(149, "CUDA"),
        "tensorrt": not_built(192, "TensorRT"),
        "nvtensorrtrtx": not_built(192, "NV TensorRT RTX"),
        "qnn": not_built(279, "QNN"),
        "snpe": not_built(313, "SNPE"),
        "nnapi": not_built(344, "NNAPI"),
        "vsinpu": not_built(350, "VSINPU"),
        "coreml": not_built(398, "COREML", "is not supported on this platform."),
        "dml": not_built(470, "DML"),
        "acl": not_built(498, "Acl"),
        "armnn": not_built(505, "ArmNN"),
        "migraphx": not_built(521, "MIGraphX"),
        "xnnpack": not_built(529, "Xnnpack"),
        "webgpu": not_built(535, "WebGPU"),
        "vitisai": not_built(548, "VitisAI"),
        "openvino": not_built(802, "OpenVINO"),
    },
    total_average=True,
)
