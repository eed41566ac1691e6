"""What one trial asks of ONNX Runtime's session: a value, comparable and hashable, with no spelling in it.

`invocation.py` turns it into a command line for a binary whose capabilities are known. None means "not asked for":
the option is left out and ORT's default holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Session options of one case.

    `level` acts only on `.onnx` (and on runtime-style `.ort` at extended and above). `spinning`, `arena` and
    `memory_pattern` are True in ORT by default. `nnapi_flags` are for NNAPI only, in the enum's order. `config` holds
    further session config entries, sorted by key.
    """

    provider: ExecutionProvider = ExecutionProvider.CPU
    level: OptimizationLevel | None = None
    intra_op_threads: int | None = None
    inter_op_threads: int | None = None
    parallel_executor: bool = False
    spinning: bool = True
    arena: bool = True
    memory_pattern: bool = True
    denormals_as_zero: bool = False
    nnapi_flags: tuple[NnapiFlag, ...] = ()
    config: tuple[tuple[str, str], ...] = ()

    @property
    def relaxes_to_half(self) -> bool:
        """Whether NNAPI may compute in half precision."""
        return self.provider is ExecutionProvider.NNAPI and NnapiFlag.FP16 in self.nnapi_flags

    @property
    def is_nnapi_reference(self) -> bool:
        """Whether Android's own CPU implementation alone may compute what NNAPI takes."""
        return self.provider is ExecutionProvider.NNAPI and NnapiFlag.CPU_ONLY in self.nnapi_flags
