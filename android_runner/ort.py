"""ONNX Runtime's words: execution providers, optimization levels and styles, formats, and their spellings.

Numbers of `-o` are those of perf_test (`test/perftest/command_args_parser.cc`); version rules are from the release
notes and sources named beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class ExecutionProvider(StrEnum):
    """ORT's backends that a plan may ask for; the value is perf_test's spelling after `-e`."""

    CPU = "cpu"
    NNAPI = "nnapi"

    @property
    def ort_name(self) -> str:
        """The name in traces and in onnxruntime's Python API."""
        return {"cpu": "CPUExecutionProvider", "nnapi": "NnapiExecutionProvider"}[self.value]

    @property
    def in_words(self) -> str:
        """What a sentence calls it."""
        return {"cpu": "the CPU", "nnapi": "NNAPI"}[self.value]


class NnapiFlag(StrEnum):
    """The NNAPI execution provider's flags; the value is a plan's word (`nnapi_provider_factory.h`)."""

    FP16 = "fp16"
    NCHW = "nchw"
    CPU_DISABLED = "cpu_disabled"
    CPU_ONLY = "cpu_only"

    @property
    def perf_test_word(self) -> str:
        """The bare word in perf_test's `-i`."""
        return {
            "fp16": "NNAPI_FLAG_USE_FP16",
            "nchw": "NNAPI_FLAG_USE_NCHW",
            "cpu_disabled": "NNAPI_FLAG_CPU_DISABLED",
            "cpu_only": "NNAPI_FLAG_CPU_ONLY",
        }[self.value]


class ModelFormat(StrEnum):
    """What lies on the phone: the ONNX protobuf, or ORT's flatbuffer."""

    ONNX = "onnx"
    ORT = "ort"


class OptimizationLevel(StrEnum):
    """How far ORT rewrites the graph."""

    DISABLE = "disable"
    BASIC = "basic"
    EXTENDED = "extended"
    LAYOUT = "layout"
    ALL = "all"

    @property
    def perf_test_number(self) -> int:
        """The value of perf_test's `-o`; 3 (layout) only from ORT 1.23 on."""
        return {"disable": 0, "basic": 1, "extended": 2, "layout": 3, "all": 99}[self.value]


class OptimizationStyle(StrEnum):
    """ORT-format conversion: optimizations baked in, or those for the CPU recorded and replayed at load."""

    FIXED = "fixed"
    RUNTIME = "runtime"


class TargetPlatform(StrEnum):
    """The kind of CPU that ORT format is made for, where it is not made for any (the converter's `--target_platform`).

    `arm` keeps int8 QDQ as it is, `amd64` lays convolutions out in blocks of the converting CPU's width (NCHWc).
    """

    ARM = "arm"
    AMD64 = "amd64"


@dataclass(frozen=True, slots=True, order=True)
class OrtVersion:
    """A release of ONNX Runtime, as `major.minor.patch`."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> OrtVersion:
        """Read `1.21.0` or `1.21`; a suffix such as `-dev` or `+cu12` is dropped. Raises ValueError."""
        numbers = re.split("[+-]", text, maxsplit=1)[0].split(".")
        values = [int(part) for part in numbers[:3]]
        if len(values) < 2:
            raise ValueError(f"not an ONNX Runtime version: {text!r}")
        return cls(values[0], values[1], values[2] if len(values) > 2 else 0)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


REPLAY_KEY = "session.enable_saved_runtime_optimizations"


def needs_replay_key(version: OrtVersion) -> bool:
    """Whether saved runtime optimizations are replayed only when `REPLAY_KEY` is 1 (from 1.30, PR #32077)."""
    return version >= OrtVersion(1, 30)


def readable_ort_formats(version: OrtVersion) -> range:
    """ORT format versions that a runtime loads (`core/flatbuffers/ort_format_version.h`).

    4 with 1.8-1.12, 5 with 1.13-1.15, 5 and 6 from 1.16. Full builds from 1.14 also update older files while
    loading; minimal builds refuse them, so nothing below 5 is counted on.
    """
    if version >= OrtVersion(1, 16):
        return range(5, 7)
    if version >= OrtVersion(1, 13):
        return range(5, 6)
    return range(4, 5)
