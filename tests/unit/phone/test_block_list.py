"""The list's renderer refuses what the phone could not carry out as asked."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.block import Block, TrialTask
from android_runner.phone.listing import render_list, script_digest, script_source
from android_runner.validity import Limits
from tests.host_phone import block_of, task


@pytest.mark.parametrize(
    "block",
    [
        block_of(),
        block_of(task("a", "true"), task("a", "true")),
        block_of(task("a", "true"), block_id="../b"),
        block_of(task("a", "true"), epoch=0),
        block_of(task("a", "true"), epoch=2**31),
        block_of(task("A", "true")),
        block_of(task("a/b", "true")),
        block_of(task("-a", "true")),
        block_of(task("a" * 65, "true")),
        block_of(task("a\n", "true")),
        block_of(task("a")),
        block_of(task("a", "")),
        block_of(task("a", "nul\0")),
        block_of(task("a", "\udcff")),
        block_of(task("a", "true", deadline_s=0)),
        block_of(task("a", "true", deadline_s=10**9)),
        block_of(task("a", "true", env={"A B": "1"})),
        block_of(task("a", "true", env={"A=$(x)": "1"})),
        block_of(task("a", "true", env={"A": "nul\0"})),
        block_of(replace(task("a", "true"), log_tags=("onnxruntime", "a b"))),
        block_of(replace(task("a", "true"), log_tags=("$(x)",))),
        block_of(replace(task("a", "true"), log_tags=("*",))),
        block_of(replace(task("a", "true"), log_tags=("t",) * 9)),
        block_of(replace(task("a", "true"), cpu_mask=0)),
        block_of(replace(task("a", "true"), cpu_mask=-1)),
        block_of(replace(task("a", "true"), cpu_mask=1 << 64)),
    ],
)
def test_what_cannot_be_carried_out_is_refused(block: Block) -> None:
    with pytest.raises(ValueError, match=r"block|task|id"):
        render_list(block)


words = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)


@given(st.lists(words, min_size=1, max_size=5).filter(lambda argv: argv[0] != ""), words)
def test_words_are_read_back_as_they_were(argv: list[str], value: str) -> None:
    block = block_of(TrialTask(task_id="a", argv=tuple(argv), deadline_s=7, env={"V": value}))
    line = render_list(block).decode().partition("\n")[2]
    assert shlex.split(line) == ["t", "a", "7", "1", f"V={value}", *argv]


def test_tags_of_the_log_stand_before_their_trial() -> None:
    block = block_of(task("a", "true"), replace(task("b", "true"), log_tags=("onnxruntime", "x_y")))
    assert render_list(block).decode().splitlines() == [
        "begin a b",
        "t a 20 0 true",
        "l onnxruntime x_y",
        "t b 20 0 true",
    ]


def test_cores_stand_before_their_trial_in_hex() -> None:
    block = block_of(replace(task("a", "true"), cpu_mask=0x1F0, log_tags=("x",)), task("b", "true"))
    assert render_list(block).decode().splitlines() == ["begin a b", "l x", "a 1f0", "t a 20 0 true", "t b 20 0 true"]


def test_limits_stand_in_the_list_in_the_scripts_units() -> None:
    line = render_list(replace(block_of(task("a", "true")), limits=Limits())).decode().splitlines()[0]
    assert line == "g 370 - 30 5 200 1 200 60 600"
    off = Limits(max_battery_c=None, max_zone_c=55.5, min_battery_level=98, max_load=None, max_status=None)
    assert (
        render_list(replace(block_of(task("a", "true")), limits=off)).decode().splitlines()[0]
        == "g - 55500 98 2 - - 200 60 600"
    )
    with pytest.raises(ValueError, match="count with"):
        render_list(replace(block_of(task("a", "true")), limits=Limits(gate_timeout_s=10**9)))


def test_the_script_is_found_and_is_plain_shell() -> None:
    assert script_source().startswith(b"#!/system/bin/sh\n")
    assert len(script_digest()) == 64
    for shell in ("bash", "dash", "mksh"):
        done = subprocess.run([shell, "-n"], input=script_source(), check=False, capture_output=True)
        assert done.returncode == 0, done.stderr
