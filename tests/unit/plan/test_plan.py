"""Cells, their names and normal forms, presets, order and length of trials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel, OptimizationStyle, OrtVersion
from android_runner.settings import SessionSettings
from orchestrator.errors import UsageError
from orchestrator.plan.cells import ONNX, Cell, normal_form, ort_recipe
from orchestrator.plan.length import Calibration, TrialLength, iterations_for, next_calibration
from orchestrator.plan.load import matrix_cells, parse_plan
from orchestrator.plan.nnapi_gates import FlagSet, flag_sets, gate
from orchestrator.plan.presets import PRESETS, PresetFor, preset_cells

ALL = ort_recipe(OptimizationLevel.ALL)
RUNTIME = ort_recipe(OptimizationLevel.ALL, OptimizationStyle.RUNTIME)


@pytest.mark.parametrize(
    ("cell", "row"),
    [
        (Cell(ONNX, SessionSettings()), "default"),
        (Cell(ALL, SessionSettings()), "cpu all"),
        (Cell(RUNTIME, SessionSettings()), "cpu all runtime"),
        (Cell(ALL, SessionSettings(intra_op_threads=4)), "cpu all 4t"),
        (Cell(ONNX, SessionSettings(level=OptimizationLevel.BASIC)), "cpu onnx basic"),
        (Cell(ALL, SessionSettings(spinning=False, arena=False)), "cpu all no-spin no-arena"),
        (Cell(ALL, SessionSettings(parallel_executor=True, inter_op_threads=2)), "cpu all parallel 2"),
    ],
)
def test_a_row_is_called_what_a_person_calls_it(cell: Cell, row: str) -> None:
    assert cell.row == row


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SessionSettings(level=OptimizationLevel.BASIC), SessionSettings()),
        (SessionSettings(inter_op_threads=2), SessionSettings()),
        (SessionSettings(intra_op_threads=1, spinning=False), SessionSettings(intra_op_threads=1)),
        (
            SessionSettings(parallel_executor=True, memory_pattern=False),
            SessionSettings(parallel_executor=True),
        ),
    ],
)
def test_settings_that_cannot_act_do_not_make_a_case(one: SessionSettings, other: SessionSettings) -> None:
    assert normal_form(Cell(ALL, one)) == normal_form(Cell(ALL, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Cell(ONNX, SessionSettings(level=OptimizationLevel.BASIC)), Cell(ONNX, SessionSettings())),
        (
            Cell(ALL, SessionSettings(intra_op_threads=2, spinning=False)),
            Cell(ALL, SessionSettings(intra_op_threads=2)),
        ),
        (Cell(ALL, SessionSettings(parallel_executor=True)), Cell(ALL, SessionSettings())),
    ],
)
def test_settings_that_act_do(one: Cell, other: Cell) -> None:
    assert normal_form(one) != normal_form(other)


def rows(name: str, version: OrtVersion | None = None) -> list[str]:
    return [cell.row for cell in preset_cells(name, PresetFor(cores=8, version=version))]


def test_presets_hold_each_cell_once_and_no_more_threads_than_cores() -> None:
    for name in PRESETS:
        for cores in (1, 3, 8):
            cells = preset_cells(name, PresetFor(cores=cores))
            assert len(set(cells)) == len(cells)
            assert cells[0].row == "default"
            assert max(cell.settings.intra_op_threads or 0 for cell in cells) <= cores


def test_quick_is_what_the_tuning_guide_compares_first() -> None:
    assert rows("quick") == [
        "default", "cpu extended", "cpu layout", "cpu all",
        "nnapi basic", "nnapi basic fp16", "nnapi all runtime", "nnapi all runtime fp16",
    ]  # fmt: skip
    assert "nnapi all runtime" in rows("quick", OrtVersion(1, 11))
    assert rows("quick", OrtVersion(1, 10))[1:] == [
        "cpu extended", "cpu layout", "cpu all", "nnapi basic", "nnapi basic fp16",
    ]  # fmt: skip
    assert rows("quick", OrtVersion(1, 7)) == ["default", "cpu extended", "nnapi basic", "nnapi basic fp16"]


def test_nnapi_has_all_twelve_flag_sets_on_three_kinds_of_variant() -> None:
    assert len(flag_sets()) == len(set(flag_sets())) == 12
    found = rows("nnapi")
    for recipe in ("basic", "all runtime", "onnx"):
        assert len([row for row in found if row.startswith(f"nnapi {recipe}")]) == 12
    assert "nnapi basic fp16 nchw cpu_disabled" in found
    assert set(found) < set(rows("full"))


@pytest.mark.parametrize(
    ("api_level", "stay"),
    [(26, []), (27, [()]), (28, [(), (NnapiFlag.FP16,)]), (29, flag_sets()), (34, flag_sets())],
)
def test_flag_sets_that_mean_nothing_at_an_api_level_are_dropped_with_a_reason(
    api_level: int, stay: list[FlagSet]
) -> None:
    reasons = {flags: gate(flags, api_level) for flags in flag_sets()}
    assert [flags for flags, reason in reasons.items() if reason is None] == stay
    for flags, reason in reasons.items():
        assert reason is None or str(api_level) in reason or any(flag in reason for flag in flags)


def test_a_target_that_tells_no_api_level_has_no_nnapi() -> None:
    assert all(
        gate(flags, 0) == "NNAPI needs Android, and this phone does not say which it has" for flags in flag_sets()
    )


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'quick'"):
        preset_cells("quik", PresetFor(cores=4))


def test_flags_belong_to_nnapi_alone() -> None:
    axes = {"ep": ["cpu", "nnapi"], "nnapi_flags": [[], ["cpu_only", "fp16"]]}
    cells = matrix_cells(parse_plan({"matrix": [axes]}, "p").matrix)
    assert [cell.row for cell in cells] == ["default", "nnapi onnx", "nnapi onnx fp16 cpu_only"]
    with pytest.raises(UsageError, match="contradict"):
        parse_plan({"matrix": [{"ep": ["nnapi"], "nnapi_flags": [["cpu_only", "cpu_disabled"]]}]}, "p")
    plain, flagged = SessionSettings(), SessionSettings(nnapi_flags=(NnapiFlag.FP16,))
    assert normal_form(Cell(ALL, plain)) == normal_form(Cell(ALL, flagged))


def test_a_plan_names_every_problem_with_its_place() -> None:
    with pytest.raises(UsageError) as caught:
        parse_plan({"nam": "x", "rounds": -1, "matrix": [{"threads": [-1]}, {"thread": [1]}]}, "p.toml")
    places = {problem.where for problem in caught.value.problems}
    assert places == {"p.toml: nam", "p.toml: rounds", "p.toml: matrix.0.threads.0", "p.toml: matrix.1.thread"}


def test_the_matrix_is_the_product_of_its_axes() -> None:
    plan = parse_plan({"matrix": [{"recipe": ["all", "onnx"], "threads": [1, 2], "spinning": [True, False]}]}, "p")
    assert len(matrix_cells(plan.matrix)) == 8


@given(mean_s=st.floats(1e-7, 1e3))
def test_a_calibration_settles_and_the_trial_keeps_its_bounds(mean_s: float) -> None:
    done: list[Calibration] = []
    while (count := next_calibration(done)) is not None:
        done.append(Calibration(count, mean_s))
    length = TrialLength()
    iterations = iterations_for(done[-1], length)
    assert len(done) <= 3
    assert iterations >= 1
    assert iterations * mean_s <= length.max_s * 1.001 or iterations == 1
    if length.max_s / mean_s >= length.min_iterations:
        assert iterations >= length.min_iterations
        assert iterations * mean_s >= min(length.min_s, length.max_s - mean_s)


def test_guided_is_quick_and_then_what_the_guides_say_to_try_next() -> None:
    cells = preset_cells("guided", PresetFor(cores=8))
    second = {
        provider: [cell.row for cell in cells if cell.where_pays is provider] for provider in [None, *ExecutionProvider]
    }
    assert second == {
        None: rows("quick"),
        ExecutionProvider.NNAPI: [
            "nnapi onnx", "nnapi onnx fp16",
            "nnapi basic nchw", "nnapi basic cpu_disabled", "nnapi basic fp16 cpu_disabled",
            "nnapi all runtime nchw", "nnapi all runtime cpu_disabled", "nnapi all runtime fp16 cpu_disabled",
        ],
        ExecutionProvider.CPU: ["cpu all 1t", "cpu all 2t", "cpu all 4t", "cpu all no-spin", "cpu all parallel"],
    }  # fmt: skip
    assert [cell.row for cell in cells][: len(second[None])] == second[None]
    for cell in cells:
        assert cell.where_pays in (None, cell.settings.provider)


def test_guided_leaves_out_what_cores_version_or_android_do_not_have() -> None:
    old = preset_cells("guided", PresetFor(cores=2, version=OrtVersion(1, 7)))
    found = [cell.row for cell in old if cell.where_pays is ExecutionProvider.CPU]
    assert found == ["cpu extended 1t", "cpu extended 2t", "cpu extended no-spin", "cpu extended parallel"]
    assert not any("runtime" in cell.row for cell in old)
    second = [cell for cell in preset_cells("guided", PresetFor(cores=8)) if cell.where_pays is ExecutionProvider.NNAPI]
    stay = {api: [cell.row for cell in second if gate(cell.settings.nnapi_flags, api) is None] for api in (26, 27, 28)}
    assert stay == {26: [], 27: ["nnapi onnx"], 28: ["nnapi onnx", "nnapi onnx fp16"]}
