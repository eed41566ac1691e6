"""An onnxruntime as a converter: which one; the installed one's version, and its way of saying no."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

from orchestrator.variants.naming import shown

_FATAL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """What makes ORT format: an onnxruntime of a version, in this Python (`python` empty) or in another, and libraries
    of custom operators for it (path, sha256)."""

    version: str
    python: str = ""
    custom_ops: tuple[tuple[str, str], ...] = ()

    @property
    def mark(self) -> str:
        """Its part in a variant's identity: the version, and the libraries where there are any."""
        return " ".join([self.version, *sorted(digest for _, digest in self.custom_ops)])


def installed() -> Converter:
    """This Python's onnxruntime. Raises PackageNotFoundError."""
    return Converter(version=converter_version())


def converter_version() -> str:
    """The installed onnxruntime's version, without importing it. Raises PackageNotFoundError."""
    return version("onnxruntime")


def onnx_version() -> str:
    """The installed onnx package's version, without importing it. Raises PackageNotFoundError."""
    return version("onnx")


def runtime() -> Any:
    """The onnxruntime module, quiet: what matters comes as exceptions, its warnings are of no use to a person here."""
    import onnxruntime  # noqa: PLC0415  a fifth of a second

    module: Any = onnxruntime
    module.set_default_logger_severity(_FATAL)
    return module


def runtime_errors() -> tuple[type[Exception], ...]:
    """Every exception that a session may raise: onnxruntime's own have no base class of their own."""
    state: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    own = [item for item in vars(state).values() if isinstance(item, type) and issubclass(item, Exception)]
    return (*own, RuntimeError, ValueError, OSError, MemoryError)


def runtime_words(error: BaseException) -> str:
    """What onnxruntime said, on one line, without its prefix `[ONNXRuntimeError] : 1 : FAIL : `."""
    text = str(error)
    if text.startswith("[ONNXRuntimeError]"):
        text = text.split(" : ", 3)[-1]
    return shown(" ".join(text.split()) or type(error).__name__)
