from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.capabilities import Capabilities, CommandDialect
from android_runner.device import PhonePath
from android_runner.errors import SettingRefused
from android_runner.invocation import Invocation, argv, can_do
from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel, OrtVersion
from android_runner.settings import SessionSettings

BINARY = PhonePath("/data/local/tmp/orch/staged/b/onnxruntime_perf_test")
MODEL = PhonePath("/data/local/tmp/orch/staged/m/model.ort")
OLD = Capabilities(
    dialect=CommandDialect.OLD,
    flags=frozenset("bmertpxycdouifFAMPIvhsqz"),
    eps=frozenset({"cpu", "nnapi"}),
    layout_level=False,
    nnapi_flags=False,
)
MID = replace(OLD, dialect=CommandDialect.MID, flags=OLD.flags | frozenset("STCDZnlR"), nnapi_flags=True)
NEW = replace(MID, dialect=CommandDialect.NEW, layout_level=True)
LATER = replace(NEW, flags=NEW.flags | {"shrink_arena_between_runs"})


def call(settings: SessionSettings | None = None, **more: object) -> Invocation:
    given = {"iterations": 50} if "seconds" not in more else {}
    return Invocation(binary=BINARY, model=MODEL, settings=settings or SessionSettings(), **given, **more)  # type: ignore[arg-type]


def test_the_plain_call() -> None:
    words = argv(call(result_file="result.csv"), MID)
    assert words == (BINARY, "-e", "cpu", "-m", "times", "-r", "50", MODEL, "result.csv")
    assert isinstance(words[0], PhonePath)
    assert isinstance(words[-2], PhonePath)


def test_every_setting_has_its_letter() -> None:
    settings = SessionSettings(
        level=OptimizationLevel.EXTENDED,
        intra_op_threads=4,
        inter_op_threads=2,
        parallel_executor=True,
        spinning=False,
        arena=False,
        memory_pattern=False,
        denormals_as_zero=True,
        config=(("session.dynamic_block_base", "4"),),
    )
    words = argv(call(settings, trace_prefix="trace", seconds=3, verbose=True), MID)
    assert words[1:] == (
        "-e", "cpu", "-m", "duration", "-t", "3", "-x", "4", "-y", "2", "-o", "2", "-P", "-A", "-M", "-z", "-D",
        "-C", "session.dynamic_block_base|4", "-p", "trace", "-v", MODEL,
    )  # fmt: skip


def test_replay_is_asked_for_where_the_runtime_needs_it() -> None:
    key = "session.enable_saved_runtime_optimizations|1"
    assert key in argv(call(replay_saved=True), MID)
    assert key in argv(call(replay_saved=True), MID.with_ort_version(OrtVersion(1, 31, 1)))
    assert "-C" not in argv(call(replay_saved=True), MID.with_ort_version(OrtVersion(1, 21)))
    assert "-C" not in argv(call(replay_saved=True), OLD)
    assert "-C" not in argv(call(), MID)


def test_switches_that_1_23_turned_round() -> None:
    settings = SessionSettings(arena=False, memory_pattern=False)
    assert argv(call(settings), NEW)[-3:-1] == ("--noA", "--noM")
    assert argv(call(settings), LATER)[-3:-1] == ("-A", "-M")
    # a program of 1.23 runs with the library of a later release, and is turned round all the same
    assert argv(call(settings), NEW.with_ort_version(OrtVersion(1, 31, 1)))[-3:-1] == ("--noA", "--noM")
    assert argv(call(settings), MID)[-3:-1] == ("-A", "-M")


def test_spinning_goes_by_key_where_there_is_no_letter() -> None:
    without = replace(MID, flags=MID.flags - {"D"})
    assert "session.intra_op.allow_spinning|0" in argv(call(SessionSettings(spinning=False)), without)


def test_layout_level_only_from_1_23() -> None:
    settings = SessionSettings(level=OptimizationLevel.LAYOUT)
    assert "3" in argv(call(settings), NEW)
    with pytest.raises(SettingRefused, match=r"1\.23"):
        argv(call(settings), MID)


@pytest.mark.parametrize(
    ("settings", "can", "why"),
    [
        (SessionSettings(), replace(MID, eps=frozenset({"nnapi"})), "not an execution provider"),
        (SessionSettings(spinning=False), OLD, "neither -D"),
        (SessionSettings(config=(("a.b", "1"),)), OLD, "-C came with 1.18"),
        (SessionSettings(config=(("a b", "1"),)), MID, "white space"),
        (SessionSettings(config=(("a", "1 2"),)), MID, "white space"),
        (SessionSettings(config=(("a|b", "1"),)), MID, "white space"),
        (SessionSettings(config=(("", "1"),)), MID, "white space"),
        (SessionSettings(config=(("a", "1\x00"),)), MID, "white space"),
        (SessionSettings(config=(("a", "1"), ("a", "2"))), MID, "given twice"),
        (
            SessionSettings(spinning=False, config=(("session.intra_op.allow_spinning", "1"),)),
            MID,
            "twice, by its own setting",
        ),
        (
            SessionSettings(denormals_as_zero=True, config=(("session.set_denormal_as_zero", "0"),)),
            MID,
            "twice, by its own setting",
        ),
        (SessionSettings(denormals_as_zero=True), replace(MID, flags=MID.flags - {"z"}), "no -z"),
        (SessionSettings(intra_op_threads=-1), MID, "below 0"),
    ],
)
def test_what_a_binary_cannot_do_is_refused_with_the_reason(
    settings: SessionSettings, can: Capabilities, why: str
) -> None:
    reason = can_do(settings, can)
    assert reason is not None
    assert why in reason
    with pytest.raises(SettingRefused) as caught:
        argv(call(settings), can)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    "length",
    [{}, {"iterations": 0}, {"iterations": 1, "seconds": 1}, {"seconds": -1}, {"iterations": 1, "result_file": "-x"}],
)
def test_a_call_without_a_sensible_length_or_name_is_none(length: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"iterations|name"):
        Invocation(binary=BINARY, model=MODEL, settings=SessionSettings(), **length)  # type: ignore[arg-type]


@given(
    st.builds(
        SessionSettings,
        level=st.none() | st.sampled_from(OptimizationLevel),
        intra_op_threads=st.none() | st.integers(-1, 64),
        inter_op_threads=st.none() | st.integers(0, 64),
        parallel_executor=st.booleans(),
        spinning=st.booleans(),
        arena=st.booleans(),
        memory_pattern=st.booleans(),
        denormals_as_zero=st.booleans(),
        config=st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), max_size=3).map(tuple),
    ),
    st.sampled_from([OLD, MID, NEW, LATER]),
    st.booleans(),
)
def test_every_command_line_keeps_the_rules(settings: SessionSettings, can: Capabilities, replay: bool) -> None:
    asked = call(settings, replay_saved=replay, result_file="result.csv")
    reason = can_do(settings, can, replay_saved=replay)
    if reason is not None:
        with pytest.raises(SettingRefused):
            argv(asked, can)
        return
    words = argv(asked, can)
    assert words[-2:] == (MODEL, "result.csv")
    values = {"-e", "-m", "-r", "-x", "-y", "-o", "-C"}
    at = 1
    while at < len(words) - 2:
        word = words[at]
        assert word[:1] == "-"
        assert len(word) == 2 or word in ("--noA", "--noM")
        assert word[-1] in can.flags
        at += 2 if word in values else 1
    assert at == len(words) - 2


def test_nnapi_flags_are_bare_words_in_one_token() -> None:
    settings = SessionSettings(provider=ExecutionProvider.NNAPI, nnapi_flags=(NnapiFlag.FP16, NnapiFlag.CPU_DISABLED))
    words = argv(call(settings), MID)
    assert words[1:3] == ("-e", "nnapi")
    assert words[words.index("-i") + 1] == "NNAPI_FLAG_USE_FP16 NNAPI_FLAG_CPU_DISABLED"
    assert can_do(settings, OLD) == "this binary always runs NNAPI without flags: perf_test takes them from 1.11 on"
    assert "-i" not in argv(call(SessionSettings(provider=ExecutionProvider.NNAPI)), OLD)
    assert "with -e cpu" in (can_do(SessionSettings(nnapi_flags=(NnapiFlag.FP16,)), MID) or "")


def test_custom_operators_go_by_their_own_letter() -> None:
    words = argv(call(custom_ops=PhonePath("/t/libcustom_ops.so")), MID)
    assert words[words.index("-R") + 1] == PhonePath("/t/libcustom_ops.so")
    assert words.index("-R") < words.index(MODEL)
    with pytest.raises(SettingRefused, match="has no -R, which custom operators need"):
        argv(call(custom_ops=PhonePath("/t/libcustom_ops.so")), OLD)
