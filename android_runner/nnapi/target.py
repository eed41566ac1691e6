"""Pure: what decides on a claim beside the graph: the phone's API level, its NNAPI devices, the flags.

Gates are those of `core/providers/nnapi/nnapi_builtin` in ONNX Runtime 1.21 (`nnapi_api_helper.cc`,
`nnapi_execution_provider.cc`).
"""

from __future__ import annotations

from dataclasses import dataclass

from android_runner.ort import NnapiFlag


@dataclass(frozen=True, slots=True)
class NnapiDevice:
    """An NNAPI device as the phone names it. `kind` is `cpu`, `gpu`, `accelerator` or `other`; `feature_level` in
    the numbers of NNAPI's `FeatureLevelCode` (27…31, 1000006, 1000007). `lacks` are ONNX operators that its driver
    can't run."""

    name: str
    kind: str
    feature_level: int
    lacks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class NnapiTarget:
    """Where a graph is to run. `devices` is empty where nobody knows them (a real phone before it was asked).

    `stop_ops` as ONNX Runtime's default for `ep.nnapi.partitioning_stop_ops`, which perf_test can't change.
    """

    api_level: int
    flags: frozenset[NnapiFlag] = frozenset()
    devices: tuple[NnapiDevice, ...] = ()
    stop_ops: frozenset[str] = frozenset({"NonMaxSuppression"})
