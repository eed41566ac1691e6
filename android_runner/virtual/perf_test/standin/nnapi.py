"""`-e nnapi` on a virtual phone: flags, the prepared graph in which what NNAPI claims runs apart, and what is said.

Preparing is another program's work (`android_runner.virtual.nnapi.prepare`), kept on the phone by `nnapi_store`; the
timed process only loads what that left. Everything here happens for `-e nnapi` alone.
"""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.nnapi_store import Store
from android_runner.virtual.perf_test.standin.nnapi_trace import rewrite_trace
from android_runner.virtual.perf_test.standin.options import Options
from android_runner.virtual.perf_test.standin.phone import Phone

FP16 = "NNAPI_FLAG_USE_FP16"
NCHW = "NNAPI_FLAG_USE_NCHW"
CPU_DISABLED = "NNAPI_FLAG_CPU_DISABLED"
CPU_ONLY = "NNAPI_FLAG_CPU_ONLY"
_FLAGS = (FP16, NCHW, CPU_DISABLED, CPU_ONLY)
_NOT_BUILT = "NNAPI is not supported in this build"
_WRONG_KEY = (
    "[ERROR] [NNAPI] wrong key type entered. Choose from the following runtime key options that are available for "
    f"NNAPI. ['{FP16}', '{NCHW}', '{CPU_DISABLED}', '{CPU_ONLY}'] "
)
_BOTH = (
    "/src/onnxruntime/core/providers/nnapi/nnapi_builtin/nnapi_execution_provider.cc:64 "
    "onnxruntime::NnapiExecutionProvider::NnapiExecutionProvider(uint32_t, const optional<std::string> &) "
    f"(cpu_disabled && cpu_only) == false was false. Both {CPU_DISABLED} and {CPU_ONLY} are set\n"
)
_NO_FALLBACK = "session.disable_cpu_ep_fallback"
_FALLBACK_REFUSED = (
    "This session contains graph nodes that are assigned to the default CPU EP, but fallback to CPU EP has been "
    "explicitly disabled by the user."
)
_COMPILED = (
    "Unable to serialize model as it contains compiled nodes. Please disable any execution providers which generate "
    "compiled nodes."
)


def flags_of(text: str, dialect: Dialect) -> list[str]:
    """The flags in `-i`'s value, sorted as the header has them; raises `PerfTestError` for another word."""
    words = text.split()
    if any(word not in _FLAGS for word in words):
        raise PerfTestError(dialect.providers_not_built["nnapi"].replace(_NOT_BUILT, _WRONG_KEY).replace("\n\n", "\n"))
    return [flag for flag in _FLAGS if flag in words]


class Nnapi:
    """The execution provider of one session on one phone."""

    def __init__(self, phone: Phone, options: Options, dialect: Dialect) -> None:
        """Find or make what is to be loaded; raises `PerfTestError` for a bad `-i`."""
        self._phone = phone
        self._flags = flags_of(options.provider_options, dialect) if dialect.nnapi_flags else []
        self._verbose = "v" in options.flags
        self._no_fallback = options.config.pop(_NO_FALLBACK, "") == "1"
        contradicting = CPU_DISABLED in self._flags and CPU_ONLY in self._flags
        self._store = None if contradicting else Store(phone, options, self._flags)

    def before_session(self, options: Options) -> str:
        """Say what is said while the session is made, and return the model to load; raises what stops the session."""
        if self._store is None:
            raise PerfTestError(_BOTH)
        found = self._store.description
        if found.refusal:
            raise PerfTestError(f"virtual NNAPI: {found.refusal}")
        self._say(found.before)
        if found.failure:
            raise PerfTestError(found.failure)
        if self._no_fallback and found.rest:
            raise PerfTestError(_FALLBACK_REFUSED)
        if found.partitions and options.optimized_path:
            raise PerfTestError(_COMPILED)
        return self._store.model or options.model

    def after_session(self) -> None:
        """Say where the nodes are; raises `PerfTestError` for a model that is run but could not be prepared."""
        if self._store is None:
            return
        if self._store.description.unloadable:
            raise PerfTestError(f"virtual NNAPI: the model can't be taken apart: {self._store.description.unloadable}")
        self._say(self._store.description.after)

    def _say(self, lines: list[tuple[str, str, str, str]]) -> None:
        for severity, logger, location, text in lines:
            if severity == "w" and self._verbose:
                continue
            if self._verbose or severity not in "VI":
                self._phone.log(severity.upper(), logger, location, text)

    def finish_trace(self, path: str) -> None:
        """Put each partition into a trace that onnxruntime has written, as the one node that it is on a phone."""
        if self._store is not None and path:
            rewrite_trace(path, self._store.description.partitions)


def is_own_line(location: str, text: str) -> bool:
    """Whether a line of onnxruntime's is about the virtual form and not about the model.

    Placements are said by `after_session`, of the model's nodes; the condition of the `If`s is no part of the model.
    """
    return "VerifyEachNodeIsAssignedToAnEp" in location or "virtual_nnapi_takes_it" in text
