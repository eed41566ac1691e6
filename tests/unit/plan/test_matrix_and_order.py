"""From cells to trials: what is merged, dropped, measured twice on purpose, and in which order all of it runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from android_runner.facts import PhoneFacts
from android_runner.ort import ExecutionProvider, ModelFormat, OptimizationLevel, OptimizationStyle, TargetPlatform
from android_runner.settings import SessionSettings
from orchestrator.plan.case import Case, Purpose
from orchestrator.plan.cells import ONNX, Cell, ort_recipe
from orchestrator.plan.matrix import Expansion, Target, expand, merge_by_phone
from orchestrator.plan.order import introspected, trials_of, trials_planned, verified
from orchestrator.plan.presets import PresetFor, preset_cells
from orchestrator.variants.recipe import Model, Recipe, Variant

BASIC, EXTENDED = ort_recipe(OptimizationLevel.BASIC), ort_recipe(OptimizationLevel.EXTENDED)
ALL = ort_recipe(OptimizationLevel.ALL)
RUNTIME = ort_recipe(OptimizationLevel.ALL, OptimizationStyle.RUNTIME)
PLAIN = SessionSettings()


def facts(cores: int = 8, exec_abi: str = "arm64-v8a", identity: str = "A") -> PhoneFacts:
    return PhoneFacts(
        identity=identity, device_model="Pixel 8", manufacturer="Google", fingerprint="f", soc="zuma", api_level=34,
        abis=(exec_abi,), exec_abis=(exec_abi,), cores=cores, max_freq_khz=(1,) * cores, memory_bytes=8 << 30,
        rooted=False, virtual=False, confinement="", shell="mksh", tools=(), launcher="", profile="",
        free_bytes=1 << 30,
    )  # fmt: skip


def model(name: str = "mnist") -> Model:
    return Model(
        name=name, path=Path("/m") / name, format=ModelFormat.ONNX, digest=f"d-{name}", ir_version=7, opset=13,
        inputs=(), outputs=(), node_count=12, size_bytes=1,
    )  # fmt: skip


def variant(source: Model, recipe: Recipe) -> Variant:
    """Extended equals all, as it does for most CNNs; every other graph is its own."""
    graph = "all" if recipe in (EXTENDED, ALL) else recipe.name
    return Variant(
        variant_id=f"{source.name}/{recipe.name}", model=source, recipe=recipe, dims=(), converter_version="1",
        path=Path("/v"), size_bytes=1, sha256="s", graph_digest=f"{source.name}:{graph}", operators_before=(),
        operators_after=(), ort_format=6, build_s=0.0,
    )  # fmt: skip


def expanded(cells: list[Cell], phone: PhoneFacts | None = None, *models: Model, refuses: str = "") -> Expansion:
    target = Target(
        facts=phone or facts(),
        binary_digest="b",
        refuses=lambda settings, recipe: refuses if refuses and settings.parallel_executor else None,
    )
    return expand(cells, [(one, "inputs") for one in models or (model(),)], target, variant)


def test_twins_are_one_case_under_all_names_and_the_first_pair_is_measured_apart_too() -> None:
    cells = [Cell(ONNX, PLAIN), Cell(BASIC, PLAIN), Cell(EXTENDED, PLAIN), Cell(ALL, PLAIN)]
    cases = expanded(cells).cases
    assert [(case.row, case.also, case.twin_of) for case in cases] == [
        ("default", (), ""),
        ("cpu basic", (), ""),
        ("cpu all", ("cpu extended",), ""),
        ("cpu all", (), "cpu all"),
    ]
    assert cases[2].variant_id != cases[3].variant_id
    assert cases[2].case_id != cases[3].case_id


def test_a_phone_gets_one_pair_of_twins_however_many_models_have_them() -> None:
    cases = expanded([Cell(EXTENDED, PLAIN), Cell(ALL, PLAIN)], None, model("one"), model("two")).cases
    assert [(case.model_name, case.twin_of) for case in cases] == [("one", ""), ("one", "cpu all"), ("two", "")]


def test_cells_that_cannot_act_differently_are_one_case_and_no_twins() -> None:
    cells = [Cell(ALL, PLAIN), Cell(ALL, SessionSettings(level=OptimizationLevel.BASIC))]
    cases = expanded(cells).cases
    assert len(cases) == 1
    assert cases[0].twin_of == ""


@pytest.mark.parametrize(
    ("cell", "phone", "words"),
    [
        (Cell(ALL, SessionSettings(intra_op_threads=9)), facts(cores=8), "9 intra-op threads: this phone has 8 cores"),
        (Cell(ALL, SessionSettings(denormals_as_zero=True)), facts(), "x86 only"),
        (Cell(ALL, SessionSettings(parallel_executor=True)), facts(), "no -P here"),
        (Cell(replace(ALL, platform=TargetPlatform.AMD64), PLAIN), facts(), "laid out for this host's x86-64 CPU"),
        (
            Cell(replace(ALL, platform=TargetPlatform.AMD64), PLAIN),
            replace(facts(), exec_abis=()),
            "this phone executes nothing known",
        ),
    ],
)
def test_what_cannot_run_is_dropped_with_its_reason(cell: Cell, phone: PhoneFacts, words: str) -> None:
    found = expanded([Cell(ONNX, PLAIN), cell], phone, refuses="no -P here")
    assert [case.row for case in found.cases] == ["default"]
    assert [(one.row, one.phone) for one in found.dropped] == [(cell.row, "A")]
    assert words in found.dropped[0].reason


def test_what_acts_on_this_phone_is_kept() -> None:
    cells = [Cell(ALL, SessionSettings(denormals_as_zero=True)), Cell(ALL, SessionSettings(intra_op_threads=8))]
    cells += [Cell(replace(ALL, platform=platform), PLAIN) for platform in TargetPlatform]
    assert expanded(cells, facts(exec_abi="linux-x86_64")).dropped == ()


def test_what_the_build_has_no_kernel_for_is_dropped_for_this_level_only() -> None:
    def lacks(built: Variant, settings: SessionSettings) -> str | None:
        return "no FusedConv" if built.recipe == ONNX and settings.level is None else None

    target = Target(facts=facts(), binary_digest="b", refuses=lambda settings, recipe: None, lacks=lacks)
    cells = [Cell(ONNX, PLAIN), Cell(ONNX, SessionSettings(level=OptimizationLevel.BASIC)), Cell(ALL, PLAIN)]
    found = expand(cells, [(model(), "i")], target, variant)
    assert [case.row for case in found.cases] == ["cpu onnx basic", "cpu all"]
    assert [(one.row, one.reason) for one in found.dropped] == [("default", "no FusedConv")]


def test_a_recipe_that_cannot_be_built_costs_only_its_cells() -> None:
    target = Target(facts=facts(), binary_digest="b", refuses=lambda settings, recipe: None)

    def broken(source: Model, recipe: Recipe) -> Variant | str:
        return "the converter says no" if recipe == RUNTIME else variant(source, recipe)

    found = expand([Cell(RUNTIME, PLAIN), Cell(ALL, PLAIN)], [(model(), "i")], target, broken)
    assert [case.row for case in found.cases] == ["cpu all"]
    assert [one.reason for one in found.dropped] == ["the converter says no"]


def test_phones_share_cases() -> None:
    one = expanded([Cell(ONNX, PLAIN), Cell(ALL, PLAIN)], facts(identity="A"))
    other = expanded([Cell(ONNX, PLAIN), Cell(BASIC, PLAIN)], facts(identity="B"))
    assert [case.row for case in merge_by_phone({"A": one, "B": other})] == ["default", "cpu all", "cpu basic"]


def cases_named(*names: str) -> list[Case]:
    return [
        Case(
            model_name="m", variant_id=name, graph_digest=name, recipe_name=name, settings=PLAIN, binary_digest="b",
            inputs_digest="i", row=name,
        )
        for name in names
    ]  # fmt: skip


def test_each_round_has_every_case_once_and_rounds_follow_each_other() -> None:
    cases = cases_named(*"abcdef")
    trials = trials_of(cases, "A", rounds=4, seed=3, trace=True)
    assert [trial.position for trial in trials] == list(range(30))
    assert [trial.round for trial in trials[:24]] == sorted(trial.round for trial in trials[:24])
    assert Counter((trial.purpose, trial.round, trial.case_id) for trial in trials) == Counter(
        (purpose, number, case.case_id)
        for purpose, rounds in ((Purpose.TIME, 4), (Purpose.TRACE, 1))
        for number in range(1, rounds + 1)
        for case in cases
    )
    assert {trial.purpose for trial in trials[24:]} == {Purpose.TRACE}
    assert len({trial.trial_id("run") for trial in trials}) == 30


def test_nnapis_cases_are_introspected_and_traced_after_the_rounds() -> None:
    nnapi = SessionSettings(provider=ExecutionProvider.NNAPI)
    cases = cases_named(*"abcdef")
    cases = [replace(case, settings=nnapi) if case.row in "bd" else case for case in cases]
    assert introspected(cases) == {case.case_id for case in cases if case.row in "bd"}
    for trace in (False, True):
        trials = trials_of(cases, "A", rounds=2, seed=3, trace=trace)
        purposes = [trial.purpose for trial in trials]
        traced = 6 if trace else 2
        assert purposes == [Purpose.TIME] * 12 + [Purpose.INTROSPECT] * 2 + [Purpose.TRACE] * traced
        assert {trial.case_id for trial in trials[12:14]} == introspected(cases)
        assert introspected(cases) <= {trial.case_id for trial in trials[14:]}
        assert len(trials) == trials_planned(cases, rounds=2, trace=trace)
        assert len({trial.trial_id("run") for trial in trials}) == len(trials)


def test_what_is_verified_is_traced_too_and_comes_last() -> None:
    cases = cases_named(*"abcdef")
    cases = [
        replace(case, timed=case.row != "e", twin_of="a" if case.row == "f" else "", traced=case.row == "e")
        for case in cases
    ]
    by_row = {case.row: case.case_id for case in cases}
    assert verified(cases) == {by_row[row] for row in "abcd"}, "what is ranked, and nothing else"
    trials = trials_of(cases, "A", rounds=2, seed=3, verify=[by_row[row] for row in "abef"])
    by_purpose = Counter(trial.purpose for trial in trials)
    assert by_purpose == {Purpose.TIME: 10, Purpose.TRACE: 3, Purpose.VERIFY: 2}
    assert {trial.case_id for trial in trials[-2:]} == {by_row["a"], by_row["b"]}
    assert {trial.purpose for trial in trials[-2:]} == {Purpose.VERIFY}
    traced = {trial.case_id for trial in trials if trial.purpose is Purpose.TRACE}
    assert traced == {by_row[row] for row in "abe"}
    assert len({trial.trial_id("run") for trial in trials}) == len(trials)
    assert len(trials_of(cases, "A", rounds=2, seed=3)) == trials_planned(cases, rounds=2)
    every = trials_of(cases, "A", rounds=2, seed=3, trace=True, verify=verified(cases))
    assert len(every) == trials_planned(cases, rounds=2, trace=True, verify=True)


def test_the_order_is_the_seeds_the_phones_and_the_rounds_but_not_the_lists() -> None:
    cases = cases_named(*"abcdefgh")

    def order(phone: str = "A", seed: int = 1, number: int = 1, of: list[Case] = cases) -> list[str]:
        return [trial.case_id for trial in trials_of(of, phone, rounds=2, seed=seed) if trial.round == number]

    assert order() == order(of=cases[::-1])
    assert len({tuple(order()), tuple(order("B")), tuple(order(seed=2)), tuple(order(number=2))}) == 4


NNAPI = ExecutionProvider.NNAPI
ON_NNAPI = SessionSettings(provider=NNAPI)


def test_a_cell_of_the_second_step_that_equals_one_of_the_first_is_of_the_first() -> None:
    later = Cell(ALL, PLAIN, where_pays=ExecutionProvider.CPU)
    for cells in ([Cell(EXTENDED, PLAIN), later], [later, Cell(EXTENDED, PLAIN)], [later, Cell(ALL, PLAIN)]):
        (case,) = expanded(cells).cases
        assert case.where_pays is None
        assert case.row == (cells[1].row if cells[0] is later else "cpu extended")
        assert not case.twin_of
    (alone,) = expanded([later]).cases
    assert alone.where_pays is ExecutionProvider.CPU
    assert alone.case_id == replace(alone, where_pays=None).case_id


def test_twins_of_the_second_step_are_not_measured_apart() -> None:
    one, other = Cell(EXTENDED, ON_NNAPI, where_pays=NNAPI), Cell(ALL, ON_NNAPI, where_pays=NNAPI)
    timed = [case for case in expanded([one, other]).cases if case.timed]
    assert [(case.row, case.also, case.twin_of) for case in timed] == [("nnapi all", ("nnapi extended",), "")]


def test_what_is_traced_beside_the_second_step_alone_goes_with_it() -> None:
    cells = [Cell(BASIC, ON_NNAPI), Cell(ONNX, ON_NNAPI, where_pays=NNAPI), Cell(BASIC, PLAIN)]
    beside = {case.row: case.where_pays for case in expanded(cells).cases if case.traced}
    assert beside == {"cpu basic": None, "cpu onnx (trace)": NNAPI}
    both = [Cell(ONNX, ON_NNAPI, where_pays=NNAPI), Cell(ONNX, replace(ON_NNAPI, intra_op_threads=2))]
    assert {case.where_pays for case in expanded(both).cases if case.traced} == {None}


def test_a_case_of_the_first_step_on_one_phone_is_that_on_all() -> None:
    one = expanded([Cell(ALL, PLAIN, where_pays=ExecutionProvider.CPU)], facts(identity="A"))
    other = expanded([Cell(ALL, PLAIN)], facts(identity="B"))
    assert [case.where_pays for case in merge_by_phone({"A": one, "B": other})] == [None]


def test_guided_of_a_model_that_is_ort_format_already_is_one_step_but_for_flags_and_settings() -> None:
    """Every recipe gives the same file, so that only flags and session settings are left to differ."""
    target = Target(facts=facts(), binary_digest="b", refuses=lambda settings, recipe: None)
    cells = preset_cells("guided", PresetFor(cores=8))
    found = expand(
        cells, [(model(), "i")], target, lambda source, recipe: variant(source, Recipe(format=ModelFormat.ORT))
    )
    first = [case.row for case in found.cases if case.where_pays is None and case.timed]
    assert first == ["default", "nnapi all runtime", "nnapi all runtime fp16"]
    assert len([case for case in found.cases if case.where_pays is NNAPI and case.timed]) == 3
    assert all(case.where_pays is None for case in found.cases if not case.timed)


def test_the_second_step_has_its_rounds_behind_the_first_and_numbers_of_its_own() -> None:
    cases = cases_named(*"abcdef")
    cases = [replace(case, settings=ON_NNAPI, where_pays=NNAPI) if case.row in "ef" else case for case in cases]
    later = {case.case_id for case in cases if case.where_pays is not None}
    trials = trials_of(cases, "A", rounds=3, seed=3)
    steps = [(trial.purpose, trial.round, trial.case_id in later) for trial in trials]
    assert steps[:12] == [(Purpose.TIME, number, False) for number in (1, 2, 3) for _ in range(4)]
    assert steps[12:18] == [(Purpose.TIME, number, True) for number in (4, 5, 6) for _ in range(2)]
    assert {purpose for purpose, _, _ in steps[18:]} == {Purpose.INTROSPECT, Purpose.TRACE}
    assert len(trials) == trials_planned(cases, rounds=3)
    assert len({trial.trial_id("run") for trial in trials}) == len(trials)
    alone = [case for case in cases if case.where_pays is None]
    assert [one for one in trials_of(alone, "A", rounds=3, seed=3)] == trials[:12]
