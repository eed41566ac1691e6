"""The code of a hand-over: Python is run, Java compiled against stubs of its API, all are looked at."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel
from android_runner.settings import SessionSettings
from orchestrator.report.handover.asked import HandOver, quoted
from orchestrator.report.handover.snippets import CODE, cpp, csharp, java, kotlin, python, snippets

EVERYTHING = SessionSettings(
    level=OptimizationLevel.EXTENDED,
    intra_op_threads=2,
    inter_op_threads=1,
    parallel_executor=True,
    spinning=False,
    arena=False,
    memory_pattern=False,
    denormals_as_zero=True,
    config=(("session.disable_prepacking", "1"),),
)
NNAPI = SessionSettings(
    provider=ExecutionProvider.NNAPI, nnapi_flags=(NnapiFlag.FP16, NnapiFlag.CPU_DISABLED), intra_op_threads=4
)
STUBS = {
    "OrtException": "public class OrtException extends Exception {}",
    "providers/NNAPIFlags": "public enum NNAPIFlags { USE_FP16, USE_NCHW, CPU_DISABLED, CPU_ONLY }",
    "OrtEnvironment": """public final class OrtEnvironment {
      public static OrtEnvironment getEnvironment() { return null; }
      public OrtSession createSession(String file, OrtSession.SessionOptions o) throws OrtException
      { return null; } }""",
    "OrtSession": """public class OrtSession { public static class SessionOptions {
      public enum ExecutionMode { SEQUENTIAL, PARALLEL }
      public enum OptLevel { NO_OPT, BASIC_OPT, EXTENDED_OPT, ALL_OPT }
      public void setOptimizationLevel(OptLevel level) throws OrtException {}
      public void setExecutionMode(ExecutionMode mode) throws OrtException {}
      public void setIntraOpNumThreads(int n) throws OrtException {}
      public void setInterOpNumThreads(int n) throws OrtException {}
      public void setCPUArenaAllocator(boolean on) throws OrtException {}
      public void setMemoryPatternOptimization(boolean on) throws OrtException {}
      public void addConfigEntry(String key, String value) throws OrtException {}
      public void addNnapi() throws OrtException {}
      public void addNnapi(java.util.EnumSet<ai.onnxruntime.providers.NNAPIFlags> f) throws OrtException {} } }""",
}
"""What the snippets call of ai.onnxruntime, as its sources declare it."""


def model(folder: Path) -> Path:
    node = helper.make_node("Add", ["x", "x"], ["y"])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    path = folder / "a model 'of' mine.onnx"
    graph = helper.make_graph([node], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize("settings", [SessionSettings(), EVERYTHING], ids=["nothing", "everything"])
def test_the_python_one_runs_and_sets_what_was_asked(settings: SessionSettings, tmp_path: Path) -> None:
    import onnxruntime

    said: dict[str, object] = {}
    code = python(HandOver(model_file=str(model(tmp_path)), settings=settings))
    exec(compile(code, "snippet.py", "exec"), said)
    options, session = said["options"], said["session"]
    assert isinstance(options, onnxruntime.SessionOptions)
    assert isinstance(session, onnxruntime.InferenceSession)
    found = session.run(None, {"x": np.array([1, 2], dtype=np.float32)})[0]
    assert found.tolist() == [2.0, 4.0]
    bare, level = onnxruntime.SessionOptions(), onnxruntime.GraphOptimizationLevel
    if settings == SessionSettings():
        assert options.graph_optimization_level == bare.graph_optimization_level
        assert options.intra_op_num_threads == bare.intra_op_num_threads
        return
    assert options.graph_optimization_level == level.ORT_ENABLE_EXTENDED
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)
    assert options.execution_mode == onnxruntime.ExecutionMode.ORT_PARALLEL
    assert not options.enable_cpu_mem_arena
    assert not options.enable_mem_pattern
    for key, value in {
        "session.intra_op.allow_spinning": "0",
        "session.set_denormal_as_zero": "1",
        "session.disable_prepacking": "1",
    }.items():
        assert options.get_session_config_entry(key) == value


@pytest.mark.parametrize("level", list(OptimizationLevel))
def test_every_level_has_its_word_in_python(level: OptimizationLevel, tmp_path: Path) -> None:
    code = python(HandOver(model_file=str(model(tmp_path)), settings=SessionSettings(level=level)))
    exec(compile(code, "snippet.py", "exec"), {})


def test_the_java_one_compiles_against_stubs_of_the_api(tmp_path: Path) -> None:
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("no javac on this machine: the Java snippet is not compiled")
    files = []
    for name, body in STUBS.items():
        path = tmp_path / "ai/onnxruntime" / f"{name}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        package = "ai.onnxruntime" + (".providers" if "/" in name else "")
        path.write_text(f"package {package};\n{body}\n")
        files.append(path)
    cases = {"Nothing": SessionSettings(), "All": EVERYTHING, "Npu": NNAPI}
    cases |= {f"Level{level.name}": SessionSettings(level=level) for level in OptimizationLevel}
    for name, settings in cases.items():
        lines = java(HandOver(model_file='odd "name" $x é\\.ort', settings=settings, cores="big")).splitlines()
        imports = [line for line in lines if line.startswith("import")]
        body = [line for line in lines if line not in imports]
        path = tmp_path / f"{name}.java"
        code = [*imports, f"class {name} {{ void make() throws OrtException {{", *body, "} }"]
        path.write_text("\n".join(code))
        files.append(path)
    done = subprocess.run(
        [compiler, "-J-XX:TieredStopAtLevel=1", "-proc:none", "-Werror", "-d", tmp_path / "out", *files],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_asked_stands_in_every_language() -> None:
    what = HandOver(model_file="net.ort", settings=EVERYTHING, cores="big", replay_saved=True)
    for code in snippets(what):
        assert '"net.ort"' in code.text
        assert "measured on the cores big only" in code.text
        assert '"session.enable_saved_runtime_optimizations", "1"' in code.text
        assert '"session.intra_op.allow_spinning", "0"' in code.text
        assert re.search(r"EXTENDED", code.text), code.language
        assert re.search(r"PARALLEL", code.text), code.language
        assert len(re.findall(r"(?i)false|disable", code.text)) >= 2
    assert {code.language: code.checked for code in snippets(what)} == {
        "Kotlin": "not compiled",
        "Java": "compiled against stubs of the API",
        "C++": "not compiled",
        "C#": "not compiled",
        "Python": "run",
    }


def test_nothing_asked_is_nothing_set() -> None:
    for code in snippets(HandOver(model_file="net.onnx", settings=SessionSettings())):
        assert not re.search(r"options\.\w+", code.text), code.text


def test_nnapi_and_its_flags() -> None:
    what = HandOver(model_file="net.ort", settings=NNAPI)
    assert (
        "OrtSessionOptionsAppendExecutionProvider_Nnapi(options, NNAPI_FLAG_USE_FP16 | NNAPI_FLAG_CPU_DISABLED)"
        in cpp(what)
    )
    assert "#include <nnapi_provider_factory.h>" in cpp(what)
    assert "NnapiFlags.NNAPI_FLAG_USE_FP16 | NnapiFlags.NNAPI_FLAG_CPU_DISABLED" in csharp(what)
    for code in (java(what), kotlin(what)):
        assert "options.addNnapi(EnumSet.of(NNAPIFlags.USE_FP16, NNAPIFlags.CPU_DISABLED))" in code
    assert "# NNAPI's flags can't be set from Python: FP16, CPU_DISABLED" in python(what)
    bare = HandOver(model_file="net.ort", settings=SessionSettings(provider=ExecutionProvider.NNAPI))
    assert "options.addNnapi()" in java(bare)
    assert "NNAPI_FLAG_USE_NONE" in cpp(bare)


def test_names_can_t_get_out_of_their_string() -> None:
    nasty = 'a"); system("x \\ ${b} é'
    for language, (write, _) in CODE.items():
        code = write(HandOver(model_file=nasty, settings=SessionSettings()))
        assert 'a\\"); system(\\"x \\\\' in code
        assert ("\\${b}" in code) == (language == "Kotlin")
        assert "\\u00e9" in code
    scope: dict[str, str] = {}
    exec(f"found = {quoted(nasty)}", scope)
    assert scope["found"] == nasty
    assert quoted("$x", dollar=True) == '"\\$x"'
    for bad in ("a\nb", "a\x7f", "\U0001f600"):
        with pytest.raises(ValueError, match="can't stand in code"):
            quoted(bad)
    remark = HandOver(model_file="m", settings=SessionSettings(), cores="big\nimport os")
    assert all("\nimport os" not in code.text for code in snippets(remark))
