"""Sayable names of runs, and what a person may type for one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import UsageError
from orchestrator.store.naming import run_name, which_run

NOW = datetime(2026, 4, 12, 12, 0, tzinfo=UTC)
RUNS = [
    ("0410-quick-aaaa", NOW - timedelta(days=2)),
    ("0411-cpu-7k2f", NOW - timedelta(days=1, hours=2)),
    ("0411-quick-bbbb", NOW - timedelta(days=1)),
    ("0412-quick-7k9x", NOW),
]


@given(st.text(max_size=60), st.integers(0, 2**62))
def test_names_are_safe_for_folders_and_phones(plan: str, seed: int) -> None:
    name = run_name(plan, NOW, seed, ())
    assert re.fullmatch(r"[0-9]{4}-[a-z0-9][a-z0-9-]{0,23}-[a-z0-9]{4}", name)
    assert "--" not in name
    assert run_name(plan, NOW, seed, (name,)) != name


def test_a_name_says_day_and_plan() -> None:
    assert run_name("quick", NOW, 1, ()).startswith(NOW.astimezone().strftime("%m%d-quick-"))
    assert run_name("My Plan/../x.toml", NOW, 1, ())[5:-5] == "my-plan-x-toml"
    assert run_name("…", NOW, 1, ())[5:-5] == "run"


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("@last", "0412-quick-7k9x"),
        ("@yesterday", "0411-quick-bbbb"),
        ("0411-cpu-7k2f", "0411-cpu-7k2f"),
        ("0410", "0410-quick-aaaa"),
        ("0411-c", "0411-cpu-7k2f"),
        ("7k2f", "0411-cpu-7k2f"),
        ("7K2F", "0411-cpu-7k2f"),
        ("bb", "0411-quick-bbbb"),
    ],
)
def test_what_a_text_means(text: str, run: str) -> None:
    assert which_run(text, RUNS, NOW) == run


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0411", "0411-quick-bbbb, 0411-cpu-7k2f"),
        ("7k", "2 runs match"),
        ("", "nearest: 0412-quick-7k9x"),
        ("7k2g", "nearest: 0411-cpu-7k2f"),
        ("0411-quikc-bbbb", "nearest: 0411-quick-bbbb"),
        ("../../etc", "no such run"),
    ],
)
def test_what_means_no_run_is_told_with_the_nearest(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        which_run(text, RUNS, NOW)
    assert told in str(error.value)


def test_homes_without_runs_and_days_without_runs_are_told() -> None:
    with pytest.raises(UsageError, match="no run lies in this home"):
        which_run("@last", [], NOW)
    with pytest.raises(UsageError, match="no run began on"):
        which_run("@yesterday", RUNS, NOW + timedelta(days=30))
