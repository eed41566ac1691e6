"""docs/faults.md has every kind of the catalogue with its words, and its sketch of a schedule is one."""

from __future__ import annotations

import re
from pathlib import Path

from android_runner.virtual.fault_kinds import CATALOGUE
from android_runner.virtual.fault_schedule import parse_schedule

TEXT = (Path(__file__).parent.parent.parent / "docs" / "faults.md").read_text(encoding="utf-8")


def test_every_kind_stands_in_the_catalogue_in_its_words() -> None:
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| [^|]+ \| ([^|]+) \|$", TEXT, flags=re.MULTILINE))
    assert list(rows) == [kind.value for kind in CATALOGUE]
    for kind, traits in CATALOGUE.items():
        own_s = f" ({traits.for_s:g} s)" if traits.for_s else ""
        assert rows[kind.value] == traits.about + own_s


def test_the_sketch_is_a_schedule() -> None:
    (sketch,) = re.findall(r"```toml\n(.*?)```", TEXT, flags=re.DOTALL)
    schedule = parse_schedule(sketch.encode(), source="docs/faults.md")
    assert len(schedule.fault) == 2
    assert len(schedule.random) == 1
