"""What a person asked for: options over the plan file, every problem at once, and kept so that `resume` goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.app.amounts import fraction_of, seconds_of
from orchestrator.app.kept import Kept, kept_from_text, kept_to_text
from orchestrator.app.wish import RunOptions, wish_of
from orchestrator.errors import UsageError

PLAN = """
name = "threads"
models = ["a.onnx", { path = "b.onnx", dims = { batch = 2, width = 3 }, inputs = "samples" }]
rounds = 7
seconds = 1.5
seed = 9
device = ["all"]
note = "from the file"
[[matrix]]
recipe = ["all"]
threads = [1, 2]
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return str(path)


def test_a_plan_file_alone_is_taken_as_it_is(plan: str) -> None:
    wish = wish_of(RunOptions(things=(plan,)))
    assert (wish.name, wish.plan.rounds, wish.plan.seed, wish.device) == ("threads", 7, 9, ("all",))
    assert wish.plan.preset == ""
    assert [cell.row for cell in wish.cells(8, None)] == ["cpu all 1t", "cpu all 2t"]
    assert wish.length().min_s == 1.5
    folder = Path(plan).parent
    assert [(one.path, one.dims, one.inputs) for one in wish.models] == [
        (str(folder / "a.onnx"), {}, ""),
        (str(folder / "b.onnx"), {"batch": 2, "width": 3}, str(folder / "samples")),
    ]


def test_what_is_typed_goes_over_the_file(plan: str) -> None:
    options = RunOptions(
        things=(plan, "c.onnx"), device=("B3",), rounds=2, seconds=0.5, seed=0, dim=("batch=1",), note="typed",
        preset="quick", iterations=4,
    )  # fmt: skip
    wish = wish_of(options)
    assert (wish.plan.rounds, wish.plan.seconds, wish.plan.seed, wish.plan.note) == (2, 0.5, 0, "typed")
    assert wish.plan.iterations == 4
    assert wish.device == ("B3",)
    assert [one.dims for one in wish.models] == [{"batch": 1}, {"batch": 1, "width": 3}, {"batch": 1}]
    rows = [cell.row for cell in wish.cells(8, None)]
    assert rows[0] == "default"
    assert rows[-2:] == ["cpu all 1t", "cpu all 2t"]


def test_without_a_plan_the_preset_is_quick_and_names_the_run() -> None:
    wish = wish_of(RunOptions(things=("m.onnx",)))
    assert (wish.name, wish.plan.preset, wish.plan.seed) == ("quick", "quick", None)


def test_a_cell_of_preset_and_matrix_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('models = ["m.onnx"]\npreset = "quick"\n[[matrix]]\nrecipe = ["onnx", "all"]\n')
    cells = wish_of(RunOptions(things=(str(path),))).cells(4, None)
    assert len(cells) == len(set(cells)) == 8


def test_a_folder_gives_its_models_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("z.onnx", "a.ort", "readme.txt", "weights.bin"):
        (tmp_path / name).touch()
    (tmp_path / "folder.onnx").mkdir()
    wish = wish_of(RunOptions(things=(str(tmp_path),)))
    assert [Path(one.path).name for one in wish.models] == ["a.ort", "z.onnx"]


def test_every_problem_is_said_at_once(tmp_path: Path) -> None:
    options = RunOptions(
        things=(str(tmp_path),), preset="quik", rounds=0, seconds=61.0, iterations=0, seed=-1,
        dim=("batch", "=1", "n=0", "n=-1", "n=٣", "a=b=2"),
    )  # fmt: skip
    with pytest.raises(UsageError) as caught:
        wish_of(options)
    places = [problem.where for problem in caught.value.problems]
    assert places == [
        "--preset", "--rounds", "--seconds", "--iterations", "--seed", *["--dim"] * 5, str(tmp_path),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("things", "words"), [((), "no model"), (("a.toml", "b.toml"), "2 plans"), (("no.toml",), "can't be read")]
)
def test_what_names_no_plan_is_refused(things: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        wish_of(RunOptions(things=things))


@given(
    st.builds(
        Kept,
        rounds=st.integers(1, 1000),
        seconds=st.floats(0.001, 60),
        iterations=st.none() | st.integers(1, 10**9),
        seed=st.integers(0, 2**63),
        trace=st.booleans(),
        devices=st.lists(st.text(), max_size=3).map(tuple),
        inputs=st.dictionaries(st.text(), st.text(), max_size=3),
        command=st.text(),
        custom_ops=st.lists(st.tuples(st.text(), st.text()), max_size=2).map(tuple),
    )
)
def test_what_is_kept_of_a_plan_comes_back_as_it_was(kept: Kept) -> None:
    text = kept_to_text(kept)
    assert kept_from_text(text) == kept
    assert "\n" not in text


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"devices": [], "more": 1}', "null"])
def test_a_text_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        kept_from_text(text)


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0.5 %", 0.005), ("0.02", 0.02), (".1", 0.1)])
def test_a_precision_is_a_share_in_per_cent_or_as_a_fraction(text: str, share: float) -> None:
    assert fraction_of(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "0", "0%", "1", "100%", "-1%", "1e-3", "nan", "%"])
def test_what_is_no_share_is_none(text: str) -> None:
    assert fraction_of(text) is None


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90.0), ("45", 45.0), ("2m", 120.0), ("1h30m", 5400.0)])
def test_a_budget_is_a_duration(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "m", "-2m", "2.5m", "2m1h", "2 minutes"])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert seconds_of(text) is None


def test_what_ends_the_rounds_is_checked_and_rounds_are_planned_as_many_as_may_be_needed(plan: str) -> None:
    with pytest.raises(UsageError) as told:
        wish_of(RunOptions(things=(plan,), precision="no", budget="soon", max_rounds=3, reruns=-1))
    places = [problem.where for problem in told.value.problems]
    assert places == ["--reruns", "--precision", "--budget", "--max-rounds"]
    with pytest.raises(UsageError, match="nothing would end the rounds"):
        wish_of(RunOptions(things=(plan,), max_rounds=9))
    with pytest.raises(UsageError, match="tell no spread"):
        wish_of(RunOptions(things=(plan,), rounds=2, precision="1%"))
    assert wish_of(RunOptions(things=(plan,))).max_rounds == 7
    assert wish_of(RunOptions(things=(plan,), precision="1%")).max_rounds == 30
    assert wish_of(RunOptions(things=(plan,), budget="2m", max_rounds=20)).max_rounds == 20
    assert wish_of(RunOptions(things=(plan,), budget="2m")).max_rounds == 7
