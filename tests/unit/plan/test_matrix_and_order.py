"""From cells to trials: what is merged, dropped, measured twice on purpose, and in which order all of it runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from android_runner.facts import PhoneFacts
from android_runner.ort import ExecutionProvider, ModelFormat, OptimizationLevel, OptimizationStyle
from android_runner.settings import SessionSettings
from orchestrator.plan.case import Case, Purpose
from orchestrator.plan.cells import ONNX, Cell, ort_recipe
from orchestrator.plan.matrix import Expansion, Target, expand, merge_by_phone
from orchestrator.plan.order import introspected, trials_of, trials_planned
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
    ],
)
def test_what_cannot_run_is_dropped_with_its_reason(cell: Cell, phone: PhoneFacts, words: str) -> None:
    found = expanded([Cell(ONNX, PLAIN), cell], phone, refuses="no -P here")
    assert [case.row for case in found.cases] == ["default"]
    assert [(one.row, one.phone) for one in found.dropped] == [(cell.row, "A")]
    assert words in found.dropped[0].reason


def test_what_acts_on_this_phone_is_kept() -> None:
    cells = [Cell(ALL, SessionSettings(denormals_as_zero=True)), Cell(ALL, SessionSettings(intra_op_threads=8))]
    assert expanded(cells, facts(exec_abi="linux-x86_64")).dropped == ()


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


def test_the_order_is_the_seeds_the_phones_and_the_rounds_but_not_the_lists() -> None:
    cases = cases_named(*"abcdefgh")

    def order(phone: str = "A", seed: int = 1, number: int = 1, of: list[Case] = cases) -> list[str]:
        return [trial.case_id for trial in trials_of(of, phone, rounds=2, seed=seed) if trial.round == number]

    assert order() == order(of=cases[::-1])
    assert len({tuple(order()), tuple(order("B")), tuple(order(seed=2)), tuple(order(number=2))}) == 4
