"""What differs between generations of `onnxruntime_perf_test`, as data.

`MID` is the getopt generation of onnxruntime 1.18 to 1.22, as release 1.21.0 has it. Source lines and signatures in
messages are those that a release build of 1.21.0 made with g++ prints.
"""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.usage import USAGE_1_21

_SESSION = (
    "onnxruntime::perftest::OnnxRuntimeTestSession::OnnxRuntimeTestSession(Ort::Env&, std::random_device&, "
    "const onnxruntime::perftest::PerformanceTestConfig&, const TestModelInfo&)"
)
_CONFIGS = (
    "void onnxruntime::perftest::ParseSessionConfigs(const std::string&, "
    "std::unordered_map<std::__cxx11::basic_string<char>, std::__cxx11::basic_string<char> >&, "
    "const std::unordered_set<std::__cxx11::basic_string<char> >&)"
)
_FILL = "void onnxruntime::perftest::InitializeTensorWithSeed(int32_t, Ort::Value&)"
_CONVERT = (
    "void OnnxTestCase::ConvertTestData(const onnx::TensorProto&, onnxruntime::test::HeapBuffer&, bool, size_t, "
    "std::unordered_map<std::__cxx11::basic_string<char>, Ort::Value>&) const"
)
_LOAD_DATA = (
    "virtual void OnnxTestCase::LoadTestData(size_t, onnxruntime::test::HeapBuffer&, "
    "std::unordered_map<std::__cxx11::basic_string<char>, Ort::Value>&, bool) const"
)
_LOAD_TENSOR = (
    "void LoadTensor(const PATH_STRING_TYPE&, onnx::TensorProto&) "
    "[with PATH_STRING_TYPE = std::__cxx11::basic_string<char>]"
)
_ONNX_INFO = "void OnnxModelInfo::InitOnnxModelInfo(const std::filesystem::__cxx11::path&)"
_ORT_INFO = "void OnnxModelInfo::InitOrtModelInfo(const std::filesystem::__cxx11::path&)"
_SORT = "void {anonymous}::SortFileNames(std::vector<std::__cxx11::basic_string<char> >&)"
_FILE_NO = "int {anonymous}::ExtractFileNo(const std::__cxx11::basic_string<_CharT>&) [with CHAR_T = char]"

_PERFTEST = "/src/onnxruntime/test/perftest/"
_TEST_ONNX = "/src/onnxruntime/test/onnx/"


def _not_built(line: int, name: str, words: str = "is not supported in this build") -> str:
    return f"{_PERFTEST}ort_test_session.cc:{line} {_SESSION} {name} {words}\n\n"


class Dialect:
    """One generation: its option string, usage text, legal values and messages."""

    def __init__(
        self,
        *,
        option_string: str,
        usage: str,
        optimization_levels: frozenset[int],
        providers_not_built: dict[str, str],
        where: dict[str, str],
    ) -> None:
        self.option_string = option_string
        """As `getopt(3)` takes it."""
        self.usage = usage
        self.optimization_levels = optimization_levels
        """Values of -o taken as they are; larger than 99 counts as 99, anything else is refused."""
        self.providers_not_built = providers_not_built
        """For each -e value but `cpu`: what is thrown, since this build has the CPU provider only."""
        self.where = where
        """Source path, line and signature that the true program puts before its own messages."""


MID = Dialect(
    option_string="m:e:r:t:p:x:y:c:d:o:u:i:f:F:S:T:C:AMPIDZvhsqznlR:",
    usage=USAGE_1_21,
    optimization_levels=frozenset({0, 1, 2, 99}),
    providers_not_built={
        "dnnl": _not_built(96, "DNNL"),
        "cuda": _not_built(149, "CUDA"),
        "tensorrt": _not_built(192, "TensorRT"),
        "qnn": _not_built(279, "QNN"),
        "snpe": _not_built(313, "SNPE"),
        "nnapi": _not_built(344, "NNAPI"),
        "vsinpu": _not_built(350, "VSINPU"),
        "coreml": _not_built(398, "COREML", "is not supported on this platform."),
        "dml": _not_built(470, "DML"),
        "acl": _not_built(498, "Acl"),
        "armnn": _not_built(505, "ArmNN"),
        "rocm": _not_built(515, "ROCM"),
        "migraphx": _not_built(521, "MIGraphX"),
        "xnnpack": _not_built(529, "Xnnpack"),
        "webgpu": _not_built(535, "WebGPU"),
        "vitisai": _not_built(548, "VitisAI"),
        "openvino": _not_built(802, "OpenVINO"),
    },
    where={
        "tensor_fill": f"{_PERFTEST}ort_test_session.cc:942 {_FILL} ",
        "config_separator": f"{_PERFTEST}strings_helper.cc:30 {_CONFIGS} ",
        "config_duplicate": f"{_PERFTEST}strings_helper.cc:50 {_CONFIGS} ",
        "onnx_open": f"{_TEST_ONNX}onnx_model_info.cc:45 {_ONNX_INFO} ",
        "onnx_parse": f"{_TEST_ONNX}onnx_model_info.cc:55 {_ONNX_INFO} ",
        "ort_length": f"{_TEST_ONNX}onnx_model_info.cc:100 {_ORT_INFO} ",
        "ort_session": f"{_TEST_ONNX}onnx_model_info.cc:109 {_ORT_INFO} ",
        "ort_model": f"{_TEST_ONNX}onnx_model_info.cc:113 {_ORT_INFO} ",
        "ort_graph": f"{_TEST_ONNX}onnx_model_info.cc:117 {_ORT_INFO} ",
        "file_number": f"{_TEST_ONNX}TestCase.cc:132 {_FILE_NO} ",
        "file_name": f"{_TEST_ONNX}TestCase.cc:156 {_SORT} ",
        "tensor_parse": f"{_TEST_ONNX}TestCase.cc:441 {_LOAD_TENSOR} ",
        "input_type": f"{_TEST_ONNX}TestCase.cc:537 {_LOAD_DATA} ",
        "tensor_size": f"{_TEST_ONNX}TestCase.cc:575 {_CONVERT} ",
        "tensor_value": f"{_TEST_ONNX}TestCase.cc:584 {_CONVERT} ",
    },
)

DIALECT = MID
