"""A nightly's file: what it may say, and every problem at once with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.app.nightly.suites import find_nightly, run_options
from orchestrator.errors import UsageError
from orchestrator.home import Home
from orchestrator.nights.suite import checked_name, parse_suite

GOOD = 'models = ["m.onnx"]\ndevice = ["all"]\nstart = "22:00"\ndeadline = "06:00"\n'


def problems_of(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_suite(text.encode(), "lab.toml")
    return str(caught.value)


def test_the_least_that_a_suite_says() -> None:
    suite = parse_suite(GOOD.encode(), "lab.toml")
    assert (suite.starts.hour, suite.ends.hour, suite.rounds, suite.hot_plug) == (22, 6, None, False)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rouns = 3", "lab.toml: rouns: unknown key 'rouns' (did you mean 'rounds'?"),
        ("rounds = 0", "lab.toml: rounds: '0' can't be it"),
        ('rounds = "3"', "lab.toml: rounds: '3' can't be it (Input should be a valid integer"),
        ('budget = "soon"', "lab.toml: budget: 'soon' can't be it"),
        ('preset = "quik"', "lab.toml: preset: unknown preset 'quik' (did you mean 'quick'?"),
        ('dialect = "newest"', "lab.toml: dialect: 'newest' can't be it"),
        ("seconds = inf", "lab.toml: seconds: 'inf' can't be it"),
        ("lib = [1]", "lab.toml: lib.0: '1' can't be it"),
        ("x = [", "lab.toml: is not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(line: str, said: str) -> None:
    assert said in problems_of(f"{GOOD}{line}\n")


def test_every_problem_at_once() -> None:
    said = problems_of('models = []\nstart = "24:00"\ndeadline = 2026-01-01\n')
    assert said.count("lab.toml: ") == 4
    assert "lab.toml: device: is missing (see docs/nightly.md for the form)" in said
    assert "lab.toml: start: '24:00' can't be it (a time of day, such as \"22:00\")" in said


def test_a_night_without_time() -> None:
    assert "lab.toml: deadline: 22:00 is the start, too" in problems_of(GOOD.replace("06:00", "22:00"))


@pytest.mark.parametrize("name", ["", "-x", "A", "a/b", "..", "a" * 32, "a\n", "é"])
def test_names_that_could_leave_their_folder_or_unit(name: str) -> None:
    with pytest.raises(UsageError):
        checked_name(name)


def test_it_is_found_by_name_by_path_or_as_the_only_one(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with pytest.raises(UsageError, match=r"no nightly \(write .*NAME\.toml"):
        find_nightly("", home)
    folder = home.root / "nightly"
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_text(GOOD)
    elsewhere = tmp_path / "other.toml"
    elsewhere.write_text(GOOD)
    assert find_nightly("", home) == find_nightly("lab", home)
    assert find_nightly(str(elsewhere), home).name == "other"
    with pytest.raises(UsageError, match=r"lap\.toml: can't be read: No such file or directory \(known: lab\)"):
        find_nightly("lap", home)
    (folder / "two.toml").write_text(GOOD)
    with pytest.raises(UsageError, match="2 nightlies: lab, two"):
        find_nightly("", home)


def test_its_run_is_an_ordinary_one_with_its_tags(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "nightly").mkdir()
    text = f'{GOOD}budget = "1h"\nperf_test = "bin/tool"\nlib = ["/x/lib.so"]\n'
    (tmp_path / "nightly" / "lab.toml").write_text(text)
    asked = run_options(find_nightly("lab", home), "2026-04-12", ("confirms=r",))
    assert asked.tag == ("nightly=lab", "night=2026-04-12", "confirms=r")
    folder = tmp_path / "nightly"
    assert (asked.things, asked.perf_test, asked.lib) == ((f"{folder}/m.onnx",), f"{folder}/bin/tool", ("/x/lib.so",))
    assert (asked.budget, asked.device) == ("1h", ("all",))
