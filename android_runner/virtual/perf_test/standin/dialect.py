"""What differs between generations of `onnxruntime_perf_test`, as data; `old`, `mid` and `new` are its values.

Source lines and signatures in messages are those that a release build of 1.21.0 made with g++ prints, in every dialect:
what other releases print there differs in numbers and in words that nobody reads.
"""

from __future__ import annotations

from _collections_abc import Callable  # `collections` would be loaded for nothing else

from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.options import MAX_LEVEL, Options

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

PERFTEST = "/src/onnxruntime/test/perftest/"
_TEST_ONNX = "/src/onnxruntime/test/onnx/"

WHERE = {
    "tensor_fill": f"{PERFTEST}ort_test_session.cc:942 {_FILL} ",
    "config_separator": f"{PERFTEST}strings_helper.cc:30 {_CONFIGS} ",
    "config_duplicate": f"{PERFTEST}strings_helper.cc:50 {_CONFIGS} ",
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
}
"""Source path, line and signature that the true program puts before its own messages."""


def not_built(line: int, name: str, words: str = "is not supported in this build") -> str:
    """What is thrown for an execution provider that a build has not got."""
    return f"{PERFTEST}ort_test_session.cc:{line} {_SESSION} {name} {words}\n\n"


class Dialect:
    """One generation: how its command line is read, what is legal in it, what it prints."""

    def __init__(  # noqa: PLR0913 - a table by keyword
        self,
        *,
        name: str,
        parse: Callable[[str, list[str], Dialect], Options],
        optimization_levels: frozenset[int],
        providers_not_built: dict[str, str],
        option_string: str = "",
        usage: str = "",
        first_inference: bool = True,
        rate: bool = True,
        total_average: bool = False,
        zeroed_inputs: bool = True,
        checked_warm_up: bool = True,
        hidden_data_sets: bool = True,
        nnapi_flags: bool = True,
    ) -> None:
        self.name = name
        self.parse = parse
        """Reads (program, words after it); raises `Usage`."""
        self.optimization_levels = optimization_levels
        """Values of -o taken as they are; larger than 99 counts as 99, anything else is refused."""
        self.providers_not_built = providers_not_built
        """For each -e value but `cpu`: what is thrown, since this build has the CPU provider only."""
        self.option_string = option_string
        """As `getopt(3)` takes it; empty where flags are Abseil's."""
        self.usage = usage
        """What the getopt generations print when they refuse a command line."""
        self.first_inference = first_inference
        """Whether the warm-up's time is printed (from 1.15)."""
        self.rate = rate
        """Whether inferences per second are printed (from 1.12)."""
        self.total_average = total_average
        """Whether averages and verbose lines tell total and submission apart, the average with six decimals."""
        self.zeroed_inputs = zeroed_inputs
        """Whether -I starts from zeros (from 1.13); before, the memory is as it comes."""
        self.checked_warm_up = checked_warm_up
        """Whether a first inference that fails ends the program; 1.8 goes on to the next one."""
        self.hidden_data_sets = hidden_data_sets
        """Whether folders whose names start with a dot are data sets (from 1.18)."""
        self.nnapi_flags = nnapi_flags
        """Whether -i reaches NNAPI (from 1.11)."""
        self.where = WHERE

    def level(self, asked: int) -> int | None:
        """The optimization level for a value of -o; None for one that is refused."""
        if asked in self.optimization_levels:
            return asked
        return MAX_LEVEL if asked > MAX_LEVEL else None

    def parse_configs(self, text: str, into: dict[str, str]) -> None:
        """Pairs `key|value` between blanks; raises `PerfTestError` with the true program's words."""
        for token in text.split():
            key, bar, value = token.partition("|")
            if not bar or not key:
                raise PerfTestError(
                    self.where["config_separator"]
                    + "Use a '|' to separate the key and value for the run-time option you are trying to use.\n\n"
                )
            if key in into:
                raise PerfTestError(
                    f"{self.where['config_duplicate']}Specified duplicate session configuration entry: {key}\n"
                )
            into[key] = value
