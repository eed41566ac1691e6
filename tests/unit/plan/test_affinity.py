"""Which cores a case may use: words to masks by measured clocks, threads that fit, names, identity, what is dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from android_runner.affinity import affinity_word, clusters, core_list_text, cores_in, mask_for, mask_of_cores
from android_runner.facts import PhoneFacts
from android_runner.ort import ExecutionProvider
from android_runner.settings import SessionSettings
from orchestrator.errors import UsageError
from orchestrator.plan.cells import ONNX, Cell
from orchestrator.plan.load import matrix_cells, parse_plan
from orchestrator.plan.matrix import Target, expand, merge_by_phone
from tests.unit.plan.test_matrix_and_order import ALL, PLAIN, expanded, facts, model, variant

PIXEL_8 = (1_704_000,) * 4 + (2_367_000,) * 4 + (2_914_000,)
"""As the phone's cpuinfo_max_freq tell: four little cores, four of middle clock, one big."""
A54 = (2_000_000,) * 4 + (2_400_000,) * 4
BIG_FIRST = (2_400_000, 2_400_000, 1_600_000, 1_600_000)


def phone(clocks: tuple[int, ...], *tools: str, identity: str = "A") -> PhoneFacts:
    return replace(facts(len(clocks), identity=identity), max_freq_khz=clocks, tools=tools or ("taskset",))


@pytest.mark.parametrize(
    ("word", "clocks", "mask"),
    [
        ("big", PIXEL_8, 0x100),
        ("mid", PIXEL_8, 0x0F0),
        ("little", PIXEL_8, 0x00F),
        ("big+mid", PIXEL_8, 0x1F0),
        ("all", PIXEL_8, 0x1FF),
        ("big", A54, 0xF0),
        ("big", BIG_FIRST, 0x3),
        ("little", BIG_FIRST, 0xC),
        ("0x81", A54, 0x81),
    ],
)
def test_a_word_goes_by_clocks_not_by_the_numbers_of_cores(word: str, clocks: tuple[int, ...], mask: int) -> None:
    assert mask_for(word, len(clocks), clocks) == mask


@pytest.mark.parametrize(
    ("word", "clocks", "said"),
    [
        ("mid", A54, "no core of this phone has a clock between"),
        ("big", (1_400_000,) * 4, "all 4 cores of this phone have one highest clock"),
        ("big", (2_000_000, 0), "does not tell the highest clock of every core"),
        ("little", (), "does not tell the highest clock of every core"),
        ("0x1f0", A54, "names core 8: this phone has 8 cores"),
    ],
)
def test_a_word_that_means_nothing_on_a_phone_says_why(word: str, clocks: tuple[int, ...], said: str) -> None:
    assert said in str(mask_for(word, max(len(clocks), 8) if word == "0x1f0" else len(clocks) or 4, clocks))


def test_words_have_one_spelling() -> None:
    assert [affinity_word(one) for one in ("mid+big", "0xF0", "0x0f0", "all+big", "little")] == [
        "big+mid", "0xf0", "0xf0", "all", "little"
    ]  # fmt: skip
    for wrong in ("", "0x0", "f0", "fast", "big,mid", "0x" + "f" * 17):
        with pytest.raises(ValueError, match="mask"):
            affinity_word(wrong)


def test_masks_and_lists_of_cores_are_each_other() -> None:
    assert clusters(PIXEL_8) == (0x00F, 0x0F0, 0x100)
    assert cores_in(0x81) == (0, 7)
    assert mask_of_cores([0, 7, 0]) == 0x81
    assert core_list_text((3, 0, 1, 2, 6)) == "0-3,6"


def test_a_case_without_a_number_gets_a_thread_for_each_of_its_cores() -> None:
    found = expanded([Cell(ALL, PLAIN, affinity="big"), Cell(ALL, PLAIN)], phone(A54))
    pinned, free = found.cases
    assert (pinned.row, pinned.cpu_mask, pinned.settings.intra_op_threads) == ("cpu all @big", 0xF0, 4)
    assert (free.row, free.cpu_mask, free.settings.intra_op_threads) == ("cpu all", None, None)
    assert pinned.case_id != free.case_id
    parallel = expanded([Cell(ALL, replace(PLAIN, parallel_executor=True), affinity="big")], phone(A54)).cases[0]
    assert (parallel.settings.intra_op_threads, parallel.settings.inter_op_threads) == (4, 4)


@pytest.mark.parametrize("count", [0, 5, 8])
def test_more_threads_than_cores_in_the_mask_are_no_case(count: int) -> None:
    found = expanded([Cell(ALL, replace(PLAIN, intra_op_threads=count), affinity="big")], phone(A54))
    assert not found.cases
    assert found.dropped[0].row == f"cpu all {count}t @big"
    assert "they may use: @big has 4 here (0xf0)" in found.dropped[0].reason


def test_names_for_the_same_cores_are_one_case() -> None:
    four = replace(PLAIN, intra_op_threads=4)
    cells = [Cell(ALL, four, affinity="0xf0"), Cell(ALL, PLAIN, affinity="big"), Cell(ALL, four, affinity="big")]
    (case,) = expanded(cells, phone(A54)).cases
    assert (case.row, case.also) == ("cpu all 4t @big", ("cpu all 4t @0xf0", "cpu all @big"))
    assert case.affinity == "big"


def test_all_cores_are_what_a_case_has_that_asks_for_none() -> None:
    (case,) = expanded([Cell(ONNX, PLAIN), Cell(ONNX, PLAIN, affinity="all")], phone(A54, "sh")).cases
    assert (case.row, case.also, case.affinity, case.cpu_mask) == ("default", ("cpu onnx @all",), "", None)


def test_a_phone_without_taskset_or_with_cores_all_alike_drops_with_the_reason() -> None:
    cells = [Cell(ALL, PLAIN, affinity="big")]
    (without,) = expanded(cells, phone(A54, "sh")).dropped
    assert without.reason == "@big: this phone has no taskset, so nothing can be kept on some of its cores"
    (alike,) = expanded(cells, phone((1_400_000,) * 4)).dropped
    assert alike.reason == "big: all 4 cores of this phone have one highest clock, so this would be all of them"


def test_a_virtual_phone_s_cores_are_this_computer_s_or_none() -> None:
    """Where a phone claims eight cores and its computer has two, nothing can be kept on the seventh."""
    target = Target(
        facts=phone((1, 1, 2, 2)),
        binary_digest="b",
        refuses=lambda _settings, _recipe: None,
        cores_there=frozenset({0, 1}),
    )
    cells = [Cell(ALL, PLAIN, affinity="little"), Cell(ALL, PLAIN, affinity="big")]
    found = expand(cells, [(model(), "inputs")], target, variant)
    assert [case.cpu_mask for case in found.cases] == [0b11]
    assert found.dropped[0].reason == "@big is 0xc here: a virtual phone's cores 2-3 are none of this computer's"


def test_the_same_word_on_two_phones_is_two_cases_of_one_name() -> None:
    cells = [Cell(ALL, PLAIN, affinity="big")]
    found = merge_by_phone({"A": expanded(cells, phone(A54)), "B": expanded(cells, phone(BIG_FIRST, identity="B"))})
    assert [(case.row, case.cpu_mask) for case in found] == [("cpu all @big", 0xF0), ("cpu all @big", 0x3)]
    mid = expanded([Cell(ALL, PLAIN, affinity="mid")], phone((1, 1, 1, 1, *(2,) * 4, 3), identity="C"))
    both = merge_by_phone({"A": expanded(cells, phone(A54)), "C": mid})
    assert [case.row for case in both] == ["cpu all @big", "cpu all @mid"]  # one mask, two names


def test_what_is_traced_beside_nnapi_has_its_cores_and_threads() -> None:
    nnapi = SessionSettings(provider=ExecutionProvider.NNAPI)
    asked, beside = expanded([Cell(ALL, nnapi, affinity="big")], phone(A54)).cases
    assert (beside.row, beside.timed, beside.traced) == ("cpu all @big (trace)", False, True)
    assert (beside.cpu_mask, beside.settings.intra_op_threads) == (asked.cpu_mask, 4)


def test_a_case_on_all_cores_keeps_the_identity_it_always_had() -> None:
    """The history of a case goes by its id: an axis that is not used must not begin a new one."""
    (case,) = expanded([Cell(ONNX, PLAIN)], phone(A54)).cases
    assert case.case_id == "ddefe0df35c9b8f76500f0f00a59a97c580d6e0f80941a40906a9e60717fd40e"


def test_a_plan_s_axis() -> None:
    def plan(*words: str) -> dict[str, Any]:
        return {"models": ["m.onnx"], "matrix": [{"recipe": ["all"], "threads": [2], "affinity": list(words)}]}

    cells = matrix_cells(parse_plan(plan("big", "mid+big", "0xF"), "p.toml").matrix)
    assert [cell.row for cell in cells] == ["cpu all 2t @big", "cpu all 2t @big+mid", "cpu all 2t @0xf"]
    with pytest.raises(UsageError) as caught:
        parse_plan(plan("big", "huge", "0x0"), "p.toml")
    assert [one.where for one in caught.value.problems] == ["p.toml: matrix[0].affinity"] * 2
