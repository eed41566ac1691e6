"""What the program under test asks of a binary, each dialect's stand-in takes, and takes as it was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.capabilities import Capabilities, CommandDialect, parse_usage
from android_runner.device import PhonePath
from android_runner.errors import SettingRefused
from android_runner.invocation import DENORMALS_KEY, SPINNING_KEY, Invocation, argv, config_entries
from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel, OrtVersion
from android_runner.settings import SessionSettings
from android_runner.virtual.perf_test.standin import mid, new, old
from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.options import Options

CORPUS = Path(__file__).parents[2] / "corpus"
SPOKEN: dict[CommandDialect, tuple[Dialect, str]] = {
    CommandDialect.OLD: (old.DIALECT, "command_line/usage-1.8.txt"),
    CommandDialect.MID: (mid.DIALECT, "perf_test-1.21/help/stdout"),
    CommandDialect.NEW: (new.DIALECT, "command_line/help-1.24.txt"),
}
CAN = {
    dialect: parse_usage((CORPUS / usage).read_text(), "", 255).with_ort_version(OrtVersion(1, 31, 1))
    for dialect, (_, usage) in SPOKEN.items()
}
MODEL = PhonePath("/data/local/tmp/orch/staged/m/model.ort")
WORD = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1, max_size=8)


@st.composite
def invocations(draw: st.DrawFn) -> Invocation:
    provider = draw(st.sampled_from(ExecutionProvider))
    flags = draw(st.sets(st.sampled_from(NnapiFlag))) if provider is ExecutionProvider.NNAPI else set()
    settings = SessionSettings(
        provider=provider,
        nnapi_flags=tuple(flag for flag in NnapiFlag if flag in flags),
        level=draw(st.none() | st.sampled_from(OptimizationLevel)),
        intra_op_threads=draw(st.none() | st.integers(0, 64)),
        inter_op_threads=draw(st.none() | st.integers(0, 64)),
        parallel_executor=draw(st.booleans()),
        spinning=draw(st.booleans()),
        arena=draw(st.booleans()),
        memory_pattern=draw(st.booleans()),
        denormals_as_zero=draw(st.booleans()),
        config=tuple(draw(st.dictionaries(WORD, WORD, max_size=3)).items()),
    )
    length = draw(st.sampled_from(["iterations", "seconds"]))
    return Invocation(
        binary=PhonePath("/data/local/tmp/orch/staged/b/onnxruntime_perf_test"),
        model=MODEL,
        settings=settings,
        result_file=draw(st.sampled_from([None, "result.csv"])),
        trace_prefix=draw(st.sampled_from([None, "trace"])),
        replay_saved=draw(st.booleans()),
        verbose=draw(st.booleans()),
        **{length: draw(st.integers(1, 10**6))},
    )


@pytest.mark.parametrize("dialect", CommandDialect)
@given(asked=invocations())
def test_it_is_taken_as_it_was_meant(dialect: CommandDialect, asked: Invocation) -> None:
    can = CAN[dialect]
    try:
        words = argv(asked, can)
    except SettingRefused:
        return
    spoken = SPOKEN[dialect][0]
    options = spoken.parse("./perf", list(words[1:]), spoken)
    assert (options.model, options.result_file) == (MODEL, asked.result_file or "")
    assert options.provider == asked.settings.provider.value
    assert options.provider_options.split() == [flag.perf_test_word for flag in asked.settings.nnapi_flags]
    assert options.by_times == (asked.iterations is not None)
    assert (options.repetitions if options.by_times else options.duration_s) == (asked.iterations or asked.seconds)
    same_session(options, asked, can)


def same_session(options: Options, asked: Invocation, can: Capabilities) -> None:
    settings = asked.settings
    assert options.level == (99 if settings.level is None else settings.level.perf_test_number)
    assert options.intra_threads == (settings.intra_op_threads or 0)
    assert options.inter_threads == (settings.inter_op_threads or 0)
    assert options.profile_prefix == (asked.trace_prefix or "")
    assert options.config == dict(config_entries(settings, can, replay_saved=asked.replay_saved))
    off = {"A": settings.arena, "M": settings.memory_pattern}
    on = {"P": settings.parallel_executor, "z": settings.denormals_as_zero, "v": asked.verbose}
    assert {letter for letter in "AMPzv" if letter in options.flags} == {
        *(letter for letter, enabled in off.items() if not enabled),
        *(letter for letter, enabled in on.items() if enabled),
    }
    if not settings.spinning:
        assert "D" in options.flags or options.config[SPINNING_KEY] == "0"
    assert not (settings.denormals_as_zero and DENORMALS_KEY in options.config)


def test_each_dialect_refuses_something_and_takes_something() -> None:
    """The property is not empty: what 1.24 alone, and what all but 1.8 take."""

    def takes(settings: SessionSettings) -> list[bool]:
        call = Invocation(binary=PhonePath("/b"), model=MODEL, settings=settings, iterations=1)
        found = []
        for can in CAN.values():
            try:
                found.append(bool(argv(call, can)))
            except SettingRefused:
                found.append(False)
        return found

    assert takes(SessionSettings()) == [True, True, True]
    assert takes(SessionSettings(config=(("a", "b"),))) == [False, True, True]
    assert takes(SessionSettings(level=OptimizationLevel.LAYOUT)) == [False, False, True]
    nnapi = SessionSettings(provider=ExecutionProvider.NNAPI, nnapi_flags=(NnapiFlag.FP16,))
    assert takes(nnapi) == [False, True, True]
