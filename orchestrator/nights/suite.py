"""Pure: a nightly's file, `HOME/nightly/NAME.toml`: what is measured each night, on what, from when until when.

models = ["models/", "threads.toml"]   # .onnx, .ort, folders with them, one plan; paths start at the file's folder
device = ["all"]
start = "22:00"                        # local time; the night bears the date of its start
deadline = "06:00"                     # the first 06:00 after it: nothing is handed out from then on

The other keys are those of a plan (docs/plan.md) and go over those of the plan that `models` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import time
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from android_runner.toml_text import NotTomlError, toml_as_json
from orchestrator.errors import Problem, UsageError
from orchestrator.plan.presets import PRESETS, unknown

NAME_SHAPE = r"[a-z0-9][a-z0-9_-]{0,30}"
"""What a nightly may be called: part of a unit's name, of a folder and of a tag."""
FORM = "see docs/nightly.md for the form"
_STRICT = ConfigDict(extra="forbid", strict=True)
_TIME = r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$"
_SIZE = r"^([1-9]\d{0,8}(\.\d{1,3})?(kB|MB|GB|TB|KiB|MiB|GiB))?$"
_SPAN = r"^(\d{1,4}h)?(\d{1,5}m)?(\d{1,7}s?)?$"

TimeOfDay = Annotated[str, Field(pattern=_TIME)]
Word = Annotated[str, Field(min_length=1, max_length=1000)]
Variable = Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]{0,99}$")]
Rounds = Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Suite:
    """The whole file. `budget` is what each phone may take for its rounds, `start` and `deadline` are local times of
    day; what is None or empty is as the plan or the program has it."""

    models: Annotated[list[Word], Field(min_length=1)]
    device: Annotated[list[Word], Field(min_length=1)]
    start: TimeOfDay
    deadline: TimeOfDay
    preset: str = ""
    perf_test: str = ""
    lib: list[Word] = Field(default_factory=list)
    dialect: Literal["", "old", "mid", "new"] = ""
    converter: str = ""
    rounds: Rounds | None = None
    seconds: Annotated[float, Field(gt=0, le=60)] | None = None
    iterations: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    budget: Annotated[str, Field(pattern=_SPAN)] = ""
    reruns: Annotated[int, Field(ge=0, le=1000)] | None = None
    prepare: bool | None = None
    hot_plug: bool = False
    notify: list[Variable] = Field(default_factory=list)
    """Environment variables that hold the URLs of who is told."""
    disk_bound: Annotated[str, Field(pattern=_SIZE)] = ""
    """What the home may take: at a night's end the oldest raw files go until it holds."""

    @property
    def starts(self) -> time:
        """The time of day at which a night begins."""
        return time.fromisoformat(self.start)

    @property
    def ends(self) -> time:
        """The time of day after which nothing is handed out."""
        return time.fromisoformat(self.deadline)


def parse_suite(text: bytes, where: str) -> Suite:
    """The suite that a file's content describes. Raises UsageError with every problem and its place in the file."""
    try:
        suite = TypeAdapter(Suite).validate_json(toml_as_json(text))
    except NotTomlError as error:
        raise UsageError(Problem(where, f"is not TOML: {error}", FORM)) from None
    except ValidationError as error:
        raise UsageError(*_problems(error, where)) from None
    problems = []
    if suite.starts == suite.ends:
        problems.append(Problem(f"{where}: deadline", f"{suite.deadline} is the start, too", "give another time"))
    if suite.preset and suite.preset not in PRESETS:
        problems.append(unknown("preset", suite.preset, list(PRESETS), f"{where}: preset"))
    if problems:
        raise UsageError(*problems)
    return suite


def from_folder(suite: Suite, folder: Path) -> Suite:
    """The suite with its paths, which start at its file's folder, made whole."""
    return replace(
        suite,
        models=[str(folder / one) for one in suite.models],
        perf_test=str(folder / suite.perf_test) if suite.perf_test else "",
        lib=[str(folder / one) for one in suite.lib],
    )


def checked_name(name: str, where: str = "NAME") -> str:
    """The name of a nightly. Raises UsageError for what can't be one."""
    if not re.fullmatch(NAME_SHAPE, name):
        mend = "up to 31 of a-z, 0-9, _ and -, a letter or digit first"
        raise UsageError(Problem(where, f"{name!r} can't name a nightly", mend))
    return name


_MENDS = {
    "start": 'a time of day, such as "22:00"',
    "deadline": 'a time of day, such as "06:00"',
    "budget": 'a duration, such as "2h" or "90m"',
    "disk_bound": 'a size, such as "20GB"',
    "notify": "the name of an environment variable, such as ORCH_SLACK_URL; never a URL",
}


def _problems(error: ValidationError, where: str) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        path = [str(part) for part in item["loc"]]
        place = f"{where}: {'.'.join(path)}"
        if item["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            yield unknown("key", path[-1], [one.name for one in fields(Suite)], place)
        elif item["type"] in ("missing", "missing_argument"):
            yield Problem(place, "is missing", FORM)
        else:
            mend = _MENDS.get(path[0], item["msg"])
            yield Problem(place, f"{str(item['input'])[:60]!r} can't be it", mend)
