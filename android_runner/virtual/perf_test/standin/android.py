"""What perf_test on Android needs of onnxruntime beyond `ortapi`: its log not on stderr, and the trace's end."""

from __future__ import annotations

from _collections_abc import Callable  # `collections` would load more than is needed
from ctypes import CFUNCTYPE, byref, c_char_p, c_int, c_void_p

from android_runner.virtual.perf_test.standin.ortapi import Api, Session

_CREATE_ENV_WITH_CUSTOM_LOGGER = 4
_SESSION_END_PROFILING = 110
_Logging = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p, c_char_p, c_char_p)
_SEVERITIES = "VIWEF"


class Logged:
    """An `OrtEnv` like `Api.environment`'s whose lines go to `sink`; keep it as long as the environment.

    `sink` gets the severity's letter, logger id, code location and text, on any thread.
    """

    def __init__(self, api: Api, log_level: int, sink: Callable[[str, str, str, str], None]) -> None:
        def log(_: object, severity: int, __: bytes, logger: bytes, location: bytes, text: bytes) -> None:
            words = [(part or b"").decode("utf-8", "surrogateescape") for part in (logger, location, text)]
            sink(_SEVERITIES[severity], *words)

        self._function = _Logging(log)
        self.env = c_void_p()
        level = c_int(log_level)
        api.call(_CREATE_ENV_WITH_CUSTOM_LOGGER, self._function, None, level, c_char_p(b"Default"), byref(self.env))


def end_profiling(api: Api, session: Session) -> str:
    """Write the trace now and return its path."""
    path = c_char_p()
    api.call(_SESSION_END_PROFILING, session.pointer, api.allocator, byref(path))
    return (path.value or b"").decode("utf-8", "surrogateescape")
