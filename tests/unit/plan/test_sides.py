"""A and B: their words, what is wrong with them, and the pairs of cases they make on a phone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from test_matrix_and_order import facts, model, variant

from android_runner.ort import ExecutionProvider, NnapiFlag, OptimizationLevel
from orchestrator.app.ab import ROUNDS, ab_wish
from orchestrator.app.binary import BinaryAsked
from orchestrator.app.wish import RunOptions
from orchestrator.errors import UsageError
from orchestrator.plan.case import Case, Purpose, Side
from orchestrator.plan.matrix import Expansion, Target
from orchestrator.plan.order import trials_of
from orchestrator.plan.sides import expand_sides, parse_side, sides_of
from orchestrator.variants.recipe import Model

PHONE = facts()


def target(binary: str = "b", *, no_threads: str = "") -> Target:
    return Target(
        facts=PHONE,
        binary_digest=binary,
        refuses=lambda settings, recipe: no_threads if no_threads and settings.intra_op_threads else None,
    )


def expanded(a: str, b: str, *models: Model, targets: tuple[Target, Target] | None = None) -> Expansion:
    sources = [(one, f"inputs of {one.digest}") for one in models or (model(),)]
    return expand_sides(sides_of([a], [b], 0.02), sources, targets or (target(), target()), variant)


def test_words_of_plan_cells() -> None:
    side = parse_side(["ep=nnapi flags=fp16+nchw level=basic threads=4 spinning=off"], "--a")
    assert side.cell.settings.provider is ExecutionProvider.NNAPI
    assert side.cell.settings.nnapi_flags == (NnapiFlag.FP16, NnapiFlag.NCHW)
    assert side.cell.settings.level is OptimizationLevel.BASIC
    assert (side.cell.settings.intra_op_threads, side.cell.settings.spinning) == (4, False)
    assert side.cell.row == "nnapi onnx fp16 nchw basic 4t no-spin"


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("", "default"),
        ("format=onnx", "default"),
        ("format=ort", "cpu all"),
        ("recipe='all runtime'", "cpu all runtime"),
        ("affinity=big", "cpu onnx @big"),
    ],
)
def test_formats_and_recipes(words: str, row: str) -> None:
    assert parse_side([words], "--a").cell.row == row


def test_files_of_a_side() -> None:
    side = parse_side(["binary='my tools/perf test' lib=libort.so", "my model.onnx"], "--b")
    assert (side.binary, side.lib, side.model) == ("my tools/perf test", ("libort.so",), "my model.onnx")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("thread=4", "did you mean 'threads'?"),
        ("fast", "is no model's file and no NAME=VALUE"),
        ("threads=many", "is no number"),
        ("arena=perhaps", "is neither yes nor no"),
        ("format=tflite", "unknown format 'tflite'"),
        ("format=ort recipe=onnx", "said twice"),
        ("lib=x.so", "a library of no program"),
        ("binary=x dialect=old", "give one of the two"),
        ("binary=x binary=y", "binary is said twice"),
        ("binary=", "says nothing"),
        ("dialect=older", "did you mean 'old'?"),
        ("ep=gpu", "unknown EP 'gpu'"),
        ("flags=fp17 ep=nnapi", "--a flags: "),
        ("recipe=nonsense", "--a recipe: "),
        ("one.onnx threads=4 two.onnx", "2 models"),
        ("binary='x", "close the quotes"),
    ],
)
def test_what_is_wrong_with_a_side_is_said_with_its_place(words: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        sides_of([words], ["threads=2"], 0.02)
    assert said in str(error.value)
    assert "--a" in str(error.value)
    assert "matrix" not in str(error.value)


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(UsageError) as error:
        sides_of(["threads=x"], ["level=basicc"], 0.02)
    assert "--a" in str(error.value)
    assert "--b" in str(error.value)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("threads=2", "threads=2", "both ask for the same"),
        ("", "format=onnx", "both ask for the same"),
        ("spinning=no threads=1", "threads=1", "both ask for the same"),  # one thread has no pool to spin
        ("old.onnx", "threads=2", "give both, or none"),
    ],
)
def test_sides_that_make_no_comparison(a: str, b: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sides_of([a], [b], 0.02)


def test_a_pair_has_one_name_and_its_letters() -> None:
    a, b = expanded("threads=1", "threads=4").cases
    assert [(one.side, one.pair, one.row) for one in (a, b)] == [
        (Side.A, "mnist", "A cpu onnx 1t"), (Side.B, "mnist", "B cpu onnx 4t"),
    ]  # fmt: skip


def test_two_binaries_are_two_cases_of_the_same_words() -> None:
    a, b = expanded("binary=old", "binary=new", targets=(target("one"), target("other"))).cases
    assert (a.binary_digest, b.binary_digest) == ("one", "other")
    assert (a.row, b.row) == ("A default", "B default")
    assert a.case_id != b.case_id


def test_two_models_are_one_pair() -> None:
    a, b = expanded("old.onnx", "new.onnx", model("old"), model("new")).cases
    assert [(one.model_name, one.pair) for one in (a, b)] == [("old", "old and new"), ("new", "old and new")]


def test_a_model_that_was_trained_again_under_its_name() -> None:
    a, b = expanded("one/m.onnx", "two/m.onnx", model("m"), replace(model("m"), digest="again")).cases
    assert (a.pair, b.pair) == ("m", "m")
    assert a.inputs_digest != b.inputs_digest


def test_each_common_model_makes_a_pair() -> None:
    found = expanded("threads=1", "threads=2", model("one"), model("two")).cases
    assert Counter(case.pair for case in found) == {"one": 2, "two": 2}


def test_a_side_that_cannot_run_takes_the_other_along() -> None:
    both = (target(no_threads="no threads here"), target(no_threads="no threads here"))
    found = expanded("level=basic", "threads=2", targets=both)
    assert found.cases == ()
    assert [(one.row, one.reason) for one in found.dropped] == [
        ("A cpu onnx basic", "B can't run here"), ("B cpu onnx 2t", "no threads here"),
    ]  # fmt: skip


def test_sides_that_are_one_on_this_phone() -> None:
    found = expanded("binary=one", "binary=copy")
    assert found.cases == ()
    assert {one.reason for one in found.dropped} == {"A and B are one and the same here: nothing differs"}


def test_what_stands_beside_nnapi_is_traced_also_where_it_is_a_side() -> None:
    """The CPU on the same nodes is a case of NNAPI's own; here it is A itself."""
    cases = expanded("level=basic", "ep=nnapi").cases
    assert [(one.side, one.timed, one.traced) for one in cases] == [(Side.A, True, True), (Side.B, True, False)]
    turned = expanded("ep=nnapi", "level=basic").cases
    assert {(one.side, one.timed, one.traced) for one in turned} == {(Side.A, True, False), (Side.B, True, True)}


def rounds_of(cases: tuple[Case, ...], rounds: int) -> list[str]:
    side = {case.case_id: f"{case.pair[0]}{case.side}" for case in cases}
    found: dict[int, str] = {}
    for one in trials_of(cases, "P", rounds=rounds, seed=5):
        if one.purpose is Purpose.TIME:
            found[one.round] = f"{found.get(one.round, '')} {side[one.case_id]}".strip()
    return list(found.values())


def test_pairs_stand_side_by_side_a_b_b_a() -> None:
    assert rounds_of(expanded("threads=1", "threads=2").cases, 4) == ["mA mB", "mB mA", "mA mB", "mB mA"]


def test_pairs_of_several_models_are_shuffled_whole() -> None:
    found = rounds_of(expanded("threads=1", "threads=2", model("x"), model("y"), model("z")).cases, 12)
    for number, one in enumerate(found, start=1):
        words = one.split()
        wanted = "AB" if number % 2 else "BA"
        assert [first[0] + second[0] for first, second in zip(words[::2], words[1::2], strict=True)] == [
            2 * first[0] for first in words[::2]
        ]
        assert {first[1] + second[1] for first, second in zip(words[::2], words[1::2], strict=True)} == {wanted}
    assert len({tuple(word[0] for word in one.split()) for one in found}) > 1


# --- the wish -------------------------------------------------------------------------------------------------------


def test_the_wish_of_two_binaries_with_common_libraries() -> None:
    options = RunOptions(things=("m.onnx",), perf_test="common", lib=("lib.so",))
    wish = ab_wish(options, ["threads=1"], ["threads=2 binary=new lib=new.so"])
    assert wish.binaries == (
        BinaryAsked("common", ("lib.so",)), BinaryAsked("new", ("new.so",), "", ("--b binary", "--b lib")),
    )  # fmt: skip
    assert (wish.name, wish.max_rounds, wish.twins, wish.canary) == ("ab", ROUNDS, False, True)
    assert [cell.row for cell in wish.cells(8, None)] == ["cpu onnx 1t", "cpu onnx 2t"]


def test_the_wish_of_two_models() -> None:
    wish = ab_wish(RunOptions(), ["old.onnx"], ["new.onnx"], "1%")
    assert [one.path for one in wish.models] == ["old.onnx", "new.onnx"]
    assert wish.sides is not None
    assert wish.sides.delta == 0.01


@pytest.mark.parametrize(
    ("options", "a", "said"),
    [
        (RunOptions(), "threads=1", "no model"),
        (RunOptions(things=("m.onnx",)), "old.onnx", "models of their own"),
        (RunOptions(things=("p.toml",)), "threads=1", "orch run"),
        (RunOptions(things=("m.onnx",), rounds=2), "threads=1", "--rounds: 2 pairs tell no spread"),
    ],
)
def test_a_wish_that_is_none(options: RunOptions, a: str, said: str) -> None:
    b = "new.onnx" if a.endswith(".onnx") else "threads=2"
    with pytest.raises(UsageError, match=said):
        ab_wish(options, [a], [b])


def test_a_delta_that_is_none() -> None:
    with pytest.raises(UsageError, match="--delta: '2 percent' is no share"):
        ab_wish(RunOptions(things=("m.onnx",)), ["threads=1"], ["threads=2"], "2 percent")
