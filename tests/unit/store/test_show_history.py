"""`orch show RUN/PHONE/ROW --history`: a row's nights out of a home, on a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from orchestrator.outcome import Measured
from orchestrator.store.ledger import Ledger
from tests.orch_cli import Orch
from tests.unit.store import sample_run as sample

BINARY_SINCE, SLOW_SINCE, NIGHTS = 11, 12, 15


@pytest.fixture(scope="module")
def orch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Orch]:
    home = tmp_path_factory.mktemp("home")
    ledger = Ledger.open(home)
    for at in range(NIGHTS):
        write_night(ledger, at)
    ledger.close()
    cli = Orch(home)
    yield cli
    cli.end()


def write_night(ledger: Ledger, at: int) -> None:
    run_id = f"n{at:02}"
    first = sample.contents(run_id, rounds=3, created_at=sample.START + timedelta(days=at))
    binary = "be" * 32 if at >= BINARY_SINCE else "bb" * 32
    cases = tuple(replace(one, binary_digest=binary) for one in first.cases)
    ids = {old.case_id: new.case_id for old, new in zip(first.cases, cases, strict=True)}
    trials = tuple(replace(one, case_id=ids[one.case_id]) for one in first.trials if one.phone == sample.PHONES[0])
    tags = ("nightly=lab", f"night=2026-04-{12 + at}")
    run = replace(first.run, tags=tags, binary_digest=binary)
    ledger.add_run(replace(first, run=run, cases=cases, trials=trials))
    level = 0.004 * (1.1 if at >= SLOW_SINCE else 1.0) * (1 + 0.002 * ((at * 7) % 5 - 2))
    ledger.record_attempts(
        sample.attempt(one, f"{run_id}-{n}", Measured(figures=sample.figures(level + one.round * 1e-6)), run_id)
        for n, one in enumerate(trials)
    )


def test_a_line_of_nights_with_marks(orch: Orch) -> None:
    ended = orch("show", "n14/B3/cpu all", "--history")
    assert ended.code == 0, ended
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "B3 Pixel 8 «α» · mnist cpu all"
    assert lines[1].startswith("2026-04-26: regressed: 10.")
    (bars,) = [at for at, one in enumerate(lines) if "▁" in one or "▂" in one]
    assert len(lines[bars]) == 2 + NIGHTS
    assert lines[bars + 1] == " " * (2 + BINARY_SINCE) + "b^"
    assert lines[bars + 2] == "  2026-04-12 … 2026-04-26, 15 nights"
    assert any(one.startswith(" ^ 2026-04-24 step: ") and "slower (run n12)" in one for one in lines)
    (said,) = [one for one in lines if one.startswith(" b 2026-04-23 another perf_test: ")]
    assert "bbbbbbbbbb" in said
    assert any(one.startswith(" 2026-04-24 4.42 ms suspected") for one in lines), ended.out


def test_the_same_as_json(orch: Orch) -> None:
    told = json.loads(orch("show", "n14/B3/cpu all", "--history", "--nights", "5", "--json").out)
    assert [one["run"] for one in told["points"]] == ["n10", "n11", "n12", "n13", "n14"]
    assert (told["model"], told["row"], told["points"][1]["marks"][0]["what"]) == ("mnist", "cpu all", "binary")
    assert told["judged"]["verdict"] == "insufficient data"


@pytest.mark.parametrize(
    ("what", "words"),
    [("n14", "names no single row"), ("n14/B3", "names no single row"), ("n14/B3/nothing", "no such row")],
)
def test_what_names_no_row_is_one_clear_error(orch: Orch, what: str, words: str) -> None:
    ended = orch("show", what, "--history")
    assert ended.code == 2, ended
    assert words in ended.err
