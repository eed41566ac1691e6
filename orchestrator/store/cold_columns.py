"""Pure: the columns on what a process costs before its first answer: of its figures, and of a trace."""

from __future__ import annotations

from orchestrator.store.meaning import ColumnMeaning as _C
from orchestrator.store.meaning import Columns

START: Columns = {
    "session_creation_s": _C("s", "time to create the session", "float"),
    "first_inference_s": _C(
        "s", "time of the first inference, in whole ms; missing where not told, or below 1 ms", "float"
    ),
    "first_inference_below_s": _C("s", "what that surely is below: it is printed in whole ms, cut off", "float"),
    "peak_working_set_bytes": _C("bytes", "the process's peak memory", "int"),
    "page_cache": _C("", "warm: an earlier process of the run had read this model since boot; missing: not known"),
}

TRACED: Columns = {
    "first_inference_s": _C("s", "time of the first inference, to the microsecond, of a process that traces", "float"),
    "session_initialization_s": _C("s", "initialization of the session, by the trace", "float"),
    "model_loading_s": _C("s", "loading of the model, by the trace", "float"),
    "complete": _C("", "whether the whole trace was there and understood", "flag"),
}
