"""Pure: the code of a hand-over, language by language. Only what was asked is set: all else is ONNX Runtime's default.

Names are those of the bindings' sources: `onnxruntime_cxx_api.h` and `nnapi_provider_factory.h`;
`SessionOptions.shared.cs` and `NnapiFlags` of Microsoft.ML.OnnxRuntime; `ai.onnxruntime.OrtSession.SessionOptions` and
`ai.onnxruntime.providers.NNAPIFlags`; `onnxruntime_pybind_state.cc`. Python is run by a test, Java is compiled against
stubs of its API; the others are not compiled, and `CODE` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from android_runner.ort import OptimizationLevel
from orchestrator.report.handover.asked import Asked, HandOver, asked_of, quoted

NOT_COMPILED = "not compiled"
"""What is said of a snippet that no compiler has seen."""
AGAINST_STUBS = "compiled against stubs of the API"
RUN = "run"

_C_LEVELS = {
    OptimizationLevel.DISABLE: "ORT_DISABLE_ALL",
    OptimizationLevel.BASIC: "ORT_ENABLE_BASIC",
    OptimizationLevel.EXTENDED: "ORT_ENABLE_EXTENDED",
    OptimizationLevel.LAYOUT: "ORT_ENABLE_LAYOUT",
    OptimizationLevel.ALL: "ORT_ENABLE_ALL",
}
_JAVA_LEVELS = {
    OptimizationLevel.DISABLE: "NO_OPT",
    OptimizationLevel.BASIC: "BASIC_OPT",
    OptimizationLevel.EXTENDED: "EXTENDED_OPT",
    OptimizationLevel.ALL: "ALL_OPT",
}
_C_FLAGS = {
    "FP16": "NNAPI_FLAG_USE_FP16",
    "NCHW": "NNAPI_FLAG_USE_NCHW",
    "CPU_DISABLED": "NNAPI_FLAG_CPU_DISABLED",
    "CPU_ONLY": "NNAPI_FLAG_CPU_ONLY",
}
_JAVA_FLAGS = {"FP16": "USE_FP16", "NCHW": "USE_NCHW", "CPU_DISABLED": "CPU_DISABLED", "CPU_ONLY": "CPU_ONLY"}
_SINCE_LAYOUT = "layout has a name of its own from ONNX Runtime 1.23 on"


@dataclass(frozen=True, slots=True)
class Code:
    """A snippet: its language as a person calls it, the text, and how far it was tried (RUN, AGAINST_STUBS,
    NOT_COMPILED)."""

    language: str
    text: str
    checked: str


def python(what: HandOver) -> str:
    """For `onnxruntime`, the Python package."""
    asked = asked_of(what)
    lines = [f"# {one}" for one in asked.remarks]
    if asked.level is OptimizationLevel.LAYOUT:
        lines.append(f"# {_SINCE_LAYOUT}")
    if asked.nnapi_flags:
        lines.append(f"# NNAPI's flags can't be set from Python: {', '.join(asked.nnapi_flags)}")
    providers = ["NnapiExecutionProvider", "CPUExecutionProvider"] if asked.nnapi else ["CPUExecutionProvider"]
    given = ", ".join(map(quoted, providers))
    return "\n".join(
        [
            "import onnxruntime as ort",
            "",
            *lines,
            "options = ort.SessionOptions()",
            *_python_options(asked),
            f"session = ort.InferenceSession({quoted(what.model_file)}, options, providers=[{given}])",
            "",
        ]
    )


def _python_options(asked: Asked) -> Iterator[str]:
    if asked.level is not None:
        yield f"options.graph_optimization_level = ort.GraphOptimizationLevel.{_C_LEVELS[asked.level]}"
    if asked.intra_op_threads is not None:
        yield f"options.intra_op_num_threads = {asked.intra_op_threads}"
    if asked.parallel:
        yield "options.execution_mode = ort.ExecutionMode.ORT_PARALLEL"
    if asked.inter_op_threads is not None:
        yield f"options.inter_op_num_threads = {asked.inter_op_threads}"
    if not asked.arena:
        yield "options.enable_cpu_mem_arena = False"
    if not asked.memory_pattern:
        yield "options.enable_mem_pattern = False"
    for key, value in asked.entries:
        yield f"options.add_session_config_entry({quoted(key)}, {quoted(value)})"


def cpp(what: HandOver) -> str:
    """For the C++ API; the model's path is a `char` one, as on Android."""
    asked = asked_of(what)
    lines = ["#include <onnxruntime_cxx_api.h>"]
    if asked.nnapi:
        lines.append("#include <nnapi_provider_factory.h>")
    lines += ["", *(f"// {one}" for one in _remarks(asked)), "Ort::SessionOptions options;"]
    if asked.level is not None:
        lines.append(f"options.SetGraphOptimizationLevel(GraphOptimizationLevel::{_C_LEVELS[asked.level]});")
    lines += _called(asked, "options.", _CPP_CALLS)
    lines += [f"options.AddConfigEntry({quoted(key)}, {quoted(value)});" for key, value in asked.entries]
    if asked.nnapi:
        flags = " | ".join(_C_FLAGS[flag] for flag in asked.nnapi_flags) or "NNAPI_FLAG_USE_NONE"
        lines.append(f"Ort::ThrowOnError(OrtSessionOptionsAppendExecutionProvider_Nnapi(options, {flags}));")
    lines += ["Ort::Env env;", f"Ort::Session session(env, {quoted(what.model_file)}, options);", ""]
    return "\n".join(lines)


def csharp(what: HandOver) -> str:
    """For Microsoft.ML.OnnxRuntime."""
    asked = asked_of(what)
    lines = ["using Microsoft.ML.OnnxRuntime;", "", *(f"// {one}" for one in _remarks(asked))]
    lines.append("using var options = new SessionOptions();")
    if asked.level is not None:
        lines.append(f"options.GraphOptimizationLevel = GraphOptimizationLevel.{_C_LEVELS[asked.level]};")
    lines += _called(asked, "options.", _CSHARP_CALLS)
    lines += [f"options.AddSessionConfigEntry({quoted(key)}, {quoted(value)});" for key, value in asked.entries]
    if asked.nnapi:
        flags = " | ".join(f"NnapiFlags.{_C_FLAGS[flag]}" for flag in asked.nnapi_flags)
        lines.append(f"options.AppendExecutionProvider_Nnapi({flags or 'NnapiFlags.NNAPI_FLAG_USE_NONE'});")
    lines += [f"using var session = new InferenceSession({quoted(what.model_file)}, options);", ""]
    return "\n".join(lines)


def java(what: HandOver) -> str:
    """For ai.onnxruntime; statements of a method that throws OrtException."""
    asked = asked_of(what)
    lines = ["import ai.onnxruntime.*;"]
    if asked.nnapi:
        lines += ["import ai.onnxruntime.providers.NNAPIFlags;", "import java.util.EnumSet;"]
    lines += ["", *(f"// {one}" for one in _java_remarks(asked))]
    lines.append("OrtSession.SessionOptions options = new OrtSession.SessionOptions();")
    lines += [f"{line};" for line in _jvm_options(asked, dollar=False)]
    lines.append(
        f"OrtSession session = OrtEnvironment.getEnvironment().createSession({quoted(what.model_file)}, options);"
    )
    return "\n".join([*lines, ""])


def kotlin(what: HandOver) -> str:
    """For ai.onnxruntime from Kotlin."""
    asked = asked_of(what)
    lines = ["import ai.onnxruntime.*"]
    if asked.nnapi:
        lines += ["import ai.onnxruntime.providers.NNAPIFlags", "import java.util.EnumSet"]
    lines += ["", *(f"// {one}" for one in _java_remarks(asked)), "val options = OrtSession.SessionOptions()"]
    lines += _jvm_options(asked, dollar=True)
    model = quoted(what.model_file, dollar=True)
    return "\n".join([*lines, f"val session = OrtEnvironment.getEnvironment().createSession({model}, options)", ""])


def _jvm_options(asked: Asked, *, dollar: bool) -> Iterator[str]:
    """Calls that Java and Kotlin spell alike, without what ends a statement."""
    if asked.level in _JAVA_LEVELS:
        yield f"options.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.{_JAVA_LEVELS[asked.level]})"
    yield from _called(asked, "options.", _JVM_CALLS)
    for key, value in asked.entries:
        yield f"options.addConfigEntry({quoted(key, dollar=dollar)}, {quoted(value, dollar=dollar)})"
    if asked.nnapi:
        flags = ", ".join(f"NNAPIFlags.{_JAVA_FLAGS[flag]}" for flag in asked.nnapi_flags)
        yield f"options.addNnapi(EnumSet.of({flags}))" if flags else "options.addNnapi()"


_Calls = tuple[str, str, str, str, str]
"""How a language asks for: threads within an operator ({}), the parallel executor, threads between operators ({}), no
arena, no memory pattern."""
_CPP_CALLS: _Calls = (
    "SetIntraOpNumThreads({});",
    "SetExecutionMode(ExecutionMode::ORT_PARALLEL);",
    "SetInterOpNumThreads({});",
    "DisableCpuMemArena();",
    "DisableMemPattern();",
)
_CSHARP_CALLS: _Calls = (
    "IntraOpNumThreads = {};",
    "ExecutionMode = ExecutionMode.ORT_PARALLEL;",
    "InterOpNumThreads = {};",
    "EnableCpuMemArena = false;",
    "EnableMemoryPattern = false;",
)
_JVM_CALLS: _Calls = (
    "setIntraOpNumThreads({})",
    "setExecutionMode(OrtSession.SessionOptions.ExecutionMode.PARALLEL)",
    "setInterOpNumThreads({})",
    "setCPUArenaAllocator(false)",
    "setMemoryPatternOptimization(false)",
)


def _called(asked: Asked, on: str, calls: _Calls) -> list[str]:
    intra, parallel, inter, arena, pattern = calls
    wanted = [
        (asked.intra_op_threads is not None, intra.format(asked.intra_op_threads)),
        (asked.parallel, parallel),
        (asked.inter_op_threads is not None, inter.format(asked.inter_op_threads)),
        (not asked.arena, arena),
        (not asked.memory_pattern, pattern),
    ]
    return [on + call for is_wanted, call in wanted if is_wanted]


def _remarks(asked: Asked) -> list[str]:
    return [*asked.remarks, *([_SINCE_LAYOUT] if asked.level is OptimizationLevel.LAYOUT else [])]


def _java_remarks(asked: Asked) -> list[str]:
    if asked.level is OptimizationLevel.LAYOUT:
        return [*asked.remarks, "level layout: not known to be offered here; all, the default, holds"]
    return list(asked.remarks)


CODE: Mapping[str, tuple[Callable[[HandOver], str], str]] = {
    "Kotlin": (kotlin, NOT_COMPILED),
    "Java": (java, AGAINST_STUBS),
    "C++": (cpp, NOT_COMPILED),
    "C#": (csharp, NOT_COMPILED),
    "Python": (python, RUN),
}
"""By language who writes it, and how far it was tried."""


def snippets(what: HandOver) -> tuple[Code, ...]:
    """The code in every language. Raises ValueError where a name or a value can't stand in a string of code."""
    return tuple(Code(language, write(what), checked) for language, (write, checked) in CODE.items())
