from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.capabilities import CommandDialect
from android_runner.errors import BinaryUnusable
from android_runner.ort import OrtVersion
from android_runner.ort_build import BuildKind, read_dialect, read_ort_build
from tests.unit.crafted_elf import elf

FULL = b"Failed to load model because protobuf parsing failed.\0"
MINIMAL = b"ONNX format model is not supported in this build.\0"
INFO = b"ORT Build Info: git-branch=HEAD, git-commit-id=2e2543fbe9, fp8-kv-cache=1, build type=Release\0"
NNAPI = b"/x/onnxruntime/core/providers/nnapi/nnapi_builtin/nnapi_execution_provider.cc\0"


def written(folder: Path, tail: bytes) -> Path:
    path = folder / "libonnxruntime.so"
    path.write_bytes(elf(needed=("libc.so",), api=24, tail=tail))
    return path


def test_what_a_runtime_says_of_its_build(tmp_path: Path) -> None:
    xnnpack = b"onnxruntime/core/providers/xnnpack/nn/conv.cc\0onnxruntime/core/providers/shared/utils/utils.cc\0"
    names = b"QNNExecutionProvider\0XnnpackExecutionProvider\0CoreMLExecutionProvider\0"
    found = read_ort_build(written(tmp_path, b"\0VERS_1.29.0\0" + FULL + INFO + NNAPI + xnnpack + names))
    assert found is not None
    assert (found.version, found.commit, found.build_type) == (OrtVersion(1, 29, 0), "2e2543fbe9", "Release")
    assert (found.eps, found.kind, found.openmp) == (("cpu", "nnapi", "xnnpack"), BuildKind.FULL, False)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (FULL, BuildKind.FULL),
        (MINIMAL, BuildKind.MINIMAL),
        (MINIMAL + b"QDQSelectorActionTransformer\0", BuildKind.EXTENDED),
        (MINIMAL + NNAPI, BuildKind.EXTENDED),
        (INFO, None),
    ],
)
def test_how_much_of_the_runtime_there_is(tmp_path: Path, words: bytes, kind: BuildKind | None) -> None:
    found = read_ort_build(written(tmp_path, words))
    assert found is not None
    assert found.kind is kind


def test_openmp_and_what_is_no_runtime(tmp_path: Path) -> None:
    found = read_ort_build(written(tmp_path, FULL + b"\0__kmpc_fork_call\0"))
    assert found is not None
    assert found.openmp
    assert read_ort_build(written(tmp_path, b"NnapiExecutionProvider\0")) is None


@pytest.mark.parametrize(
    ("words", "dialect"),
    [
        (b"perf_test [options...] model_path [result_file]\n", CommandDialect.OLD),
        (b"perf_test [options...] model_path [result_file]\n\t-C: Specify session", CommandDialect.MID),
        (
            b"onnxruntime_perf_test [options...] model_path [result_file]\0See 'onnxruntime_perf_test --help'.",
            CommandDialect.NEW,
        ),
        (b"onnx_test_runner [options...] <data_root>", None),
    ],
)
def test_the_dialect_is_told_by_the_usage_text(tmp_path: Path, words: bytes, dialect: CommandDialect | None) -> None:
    assert read_dialect(written(tmp_path, words)) is dialect


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("empty", "none"):
        with pytest.raises(BinaryUnusable, match="cannot be read"):
            read_ort_build(tmp_path / name)
