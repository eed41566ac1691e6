"""Pure: the columns on what a case asks of the runtime, and of the phone's cores."""

from __future__ import annotations

from orchestrator.store.meaning import ColumnMeaning as _C
from orchestrator.store.meaning import Columns

SETTINGS: Columns = {
    "provider": _C("", "execution provider asked for"),
    "level": _C("", "optimization level that the runtime was asked for; missing: not asked"),
    "intra_op_threads": _C("", "threads within an operator asked for; missing: not asked", "int"),
    "inter_op_threads": _C("", "threads between operators asked for; missing: not asked", "int"),
    "parallel_executor": _C("", "whether the parallel executor was asked for", "flag"),
    "spinning": _C("", "whether waiting threads may spin", "flag"),
    "arena": _C("", "whether the memory arena is used", "flag"),
    "memory_pattern": _C("", "whether memory patterns are used", "flag"),
    "denormals_as_zero": _C("", "whether denormal numbers are taken as zero", "flag"),
    "nnapi_flags": _C("", "flags of NNAPI's execution provider asked for", "list"),
    "config": _C("", "further session config entries asked for", "list"),
    "in_force": _C("", "the settings that the runtime said it had set", "list"),
    "affinity": _C("", "the cores asked for: big, mid, little, a mask; missing: all"),
    "cpu_mask": _C("", "these cores on its phone, as the mask for taskset; missing: all"),
}
