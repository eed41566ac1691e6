"""Pure: one call of onnxruntime_perf_test as a value, and as the command line of a binary with known capabilities.

What holds in every era (`test/perftest/command_args_parser.cc` 1.8-1.31): a value is a token of its own (getopt reads
`-x=4` as 0, Abseil refuses `-x4`), one letter a token (Abseil refuses `-IP`), every option before the model (bionic's
getopt does not reorder), `-m` always given (the default mode runs 600 s).
"""

from __future__ import annotations

from dataclasses import dataclass

from android_runner.capabilities import Capabilities
from android_runner.device import PhonePath
from android_runner.errors import SettingRefused
from android_runner.ort import REPLAY_KEY, ExecutionProvider, OptimizationLevel, needs_replay_key
from android_runner.settings import SessionSettings

SPINNING_KEY = "session.intra_op.allow_spinning"
DENORMALS_KEY = "session.set_denormal_as_zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One call. Exactly one of `iterations` and `seconds` is given, a whole number above 0.

    `result_file` and `trace_prefix` are relative names: they land in the process's working directory. `replay_saved`
    asks that optimizations saved in a runtime-style ORT model be replayed. `verbose` prints each iteration and ORT's
    log, and disturbs latencies.
    """

    binary: PhonePath
    model: PhonePath
    settings: SessionSettings
    iterations: int | None = None
    seconds: int | None = None
    result_file: str | None = None
    trace_prefix: str | None = None
    replay_saved: bool = False
    verbose: bool = False
    custom_ops: PhonePath | None = None
    """A library of custom operators that the model needs."""

    def __post_init__(self) -> None:
        length = [n for n in (self.iterations, self.seconds) if n is not None]
        if len(length) != 1 or length[0] < 1:
            raise ValueError("an invocation needs either iterations or seconds, at least 1")
        for name in (self.result_file, self.trace_prefix):
            if name is not None and (not name or name.startswith("-")):
                raise ValueError(f"not a name for a result: {name!r}")


def config_entries(
    settings: SessionSettings, capabilities: Capabilities, *, replay_saved: bool = False
) -> tuple[tuple[str, str], ...]:
    """Entries for `-C`, sorted by key: those asked for, and those that stand for a letter or version.

    Spinning goes by `-D` where there is one. The replay key is left out where the runtime is known to replay without
    it (before 1.30, and before `-C` existed); an unknown key is ignored, so it is given when the version is unknown.
    """
    entries = dict(settings.config)
    if not settings.spinning and "D" not in capabilities.flags:
        entries[SPINNING_KEY] = "0"
    version = capabilities.ort_version
    if replay_saved and capabilities.session_config and (version is None or needs_replay_key(version)):
        entries.setdefault(REPLAY_KEY, "1")
    return tuple(sorted(entries.items()))


def no_custom_ops(capabilities: Capabilities) -> str | None:
    """Why the binary can't load a library of custom operators; None when it can."""
    return (
        None if "R" in capabilities.flags else "this binary has no -R, which custom operators need: it came with 1.20"
    )


def can_do(settings: SessionSettings, capabilities: Capabilities, *, replay_saved: bool = False) -> str | None:
    """Why the binary can't do what is asked; None when it can."""
    if settings.provider.value not in capabilities.eps:
        return f"-e {settings.provider.value}: not an execution provider that this binary's command line knows"
    if settings.level is OptimizationLevel.LAYOUT and not capabilities.layout_level:
        return "optimization level layout (-o 3) is not in this binary: it came with 1.23"
    if settings.nnapi_flags and settings.provider is not ExecutionProvider.NNAPI:
        return f"NNAPI flags ({', '.join(settings.nnapi_flags)}) with -e {settings.provider.value}"
    if settings.nnapi_flags and not capabilities.nnapi_flags:
        return "this binary always runs NNAPI without flags: perf_test takes them from 1.11 on"
    for value, what in ((settings.intra_op_threads, "intra"), (settings.inter_op_threads, "inter")):
        if value is not None and value < 0:
            return f"{what}-op threads: {value} is below 0"
    for letter, why in _letters(settings):
        if letter not in capabilities.flags:
            return f"this binary has no -{letter}, which {why} needs"
    return _config_refusal(settings, capabilities, replay_saved)


def _letters(settings: SessionSettings) -> list[tuple[str, str]]:
    """Letters that are used and since when they are there does not go without saying."""
    asked = [
        ("o", "an optimization level", settings.level is not None),
        ("x", "a number of intra-op threads", settings.intra_op_threads is not None),
        ("y", "a number of inter-op threads", settings.inter_op_threads is not None),
        ("P", "the parallel executor", settings.parallel_executor),
        ("A", "switching the arena off", not settings.arena),
        ("M", "switching the memory pattern off", not settings.memory_pattern),
        ("z", "flushing denormals", settings.denormals_as_zero),
    ]
    return [(letter, why) for letter, why, used in asked if used]


def _config_refusal(settings: SessionSettings, capabilities: Capabilities, replay_saved: bool) -> str | None:
    entries = config_entries(settings, capabilities, replay_saved=replay_saved)
    if entries and not capabilities.session_config:
        if not settings.spinning and not settings.config:
            return "this binary can't switch spinning off: it has neither -D (from 1.15) nor -C (from 1.18)"
        return f"this binary takes no session configuration ({entries[0][0]}): -C came with 1.18"
    keys = [key for key, _ in settings.config]
    if len(set(keys)) < len(keys):
        return "a session configuration key is given twice"
    letters = {SPINNING_KEY: settings.spinning, DENORMALS_KEY: not settings.denormals_as_zero}
    for key, value in entries:
        if not key or "|" in key or any(char.isspace() or not char.isprintable() for char in key + value):
            return f"session configuration {key!r}={value!r}: perf_test can't take white space, or '|' in a key"
        if not letters.get(key, True) and key in keys:
            return f"session configuration {key} is asked for twice, by its own setting and by key"
    return None


def _require_can_do(invocation: Invocation, capabilities: Capabilities) -> None:
    reason = can_do(invocation.settings, capabilities, replay_saved=invocation.replay_saved)
    if reason is None and invocation.verbose and "v" not in capabilities.flags:
        reason = "this binary has no -v"
    if reason is None and invocation.custom_ops is not None:
        reason = no_custom_ops(capabilities)
    if reason is not None:
        raise SettingRefused(reason)


def argv(invocation: Invocation, capabilities: Capabilities) -> tuple[str, ...]:
    """The command line, binary first; paths on the phone stay `PhonePath`. Raises SettingRefused with the reason."""
    settings = invocation.settings
    _require_can_do(invocation, capabilities)
    words: list[str] = [invocation.binary, "-e", settings.provider.value]
    if invocation.iterations is not None:
        words += ["-m", "times", "-r", str(invocation.iterations)]
    else:
        words += ["-m", "duration", "-t", str(invocation.seconds)]
    if settings.nnapi_flags:
        # Bare words in one token: `while (ss >> key)`; `key|value` is refused.
        words += ["-i", " ".join(flag.perf_test_word for flag in settings.nnapi_flags)]
    words += _session_words(settings, capabilities)
    if entries := config_entries(settings, capabilities, replay_saved=invocation.replay_saved):
        words += ["-C", " ".join(f"{key}|{value}" for key, value in entries)]
    if invocation.custom_ops is not None:
        words += ["-R", invocation.custom_ops]
    if invocation.trace_prefix is not None:
        words += ["-p", invocation.trace_prefix]
    if invocation.verbose:
        words.append("-v")
    words.append(invocation.model)
    if invocation.result_file is not None:
        words.append(invocation.result_file)
    return tuple(words)


def _session_words(settings: SessionSettings, capabilities: Capabilities) -> list[str]:
    words: list[str] = []
    numbers = (
        ("-x", settings.intra_op_threads),
        ("-y", settings.inter_op_threads),
        ("-o", None if settings.level is None else settings.level.perf_test_number),
    )
    for option, number in numbers:
        if number is not None:
            words += [option, str(number)]
    switch = "--no" if capabilities.inverted_switches else "-"
    switches = (
        ("-P", settings.parallel_executor),
        (f"{switch}A", not settings.arena),
        (f"{switch}M", not settings.memory_pattern),
        ("-z", settings.denormals_as_zero),
        ("-D", not settings.spinning and "D" in capabilities.flags),
    )
    return words + [word for word, used in switches if used]
