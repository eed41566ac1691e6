"""A nightly's file read, and its night's run as options of an ordinary `orch run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from android_runner.toml_text import MAX_TOML_BYTES
from orchestrator.app.wish import RunOptions
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.nights.nouns import NIGHT_TAG, NIGHTLY_TAG
from orchestrator.nights.suite import FORM, Suite, checked_name, from_folder, parse_suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly:
    """A nightly of a home: its name, its file, what that says (paths made whole)."""

    name: str
    path: Path
    suite: Suite
    home: Home

    @property
    def folder(self) -> Path:
        """Where its nights lie: `HOME/nightly/NAME/NIGHT/…`."""
        return nightly_folder(self.home) / self.name


def nightly_folder(home: Home) -> Path:
    """Where a home's nightlies lie, their files and what their nights left."""
    return home.root / "nightly"


def names_in(home: Home) -> list[str]:
    """The nightlies that have a file in the home."""
    return sorted(path.stem for path in nightly_folder(home).glob("*.toml"))


def find_nightly(asked: str, home: Home) -> Nightly:
    """The nightly that a name or a path of a file means; "" the home's only one.

    Raises UsageError: there is none, there are several, or its file is wrong (every problem, with its place).
    """
    known = names_in(home)
    if not asked:
        if len(known) != 1:
            seen = f"{len(known)} nightlies: {', '.join(known)}" if known else "no nightly"
            mend = "name one" if known else f"write {nightly_folder(home) / 'NAME.toml'} (docs/nightly.md)"
            raise UsageError(Problem(str(nightly_folder(home)), seen, mend))
        asked = known[0]
    is_path = asked.endswith(".toml") or "/" in asked
    path = Path(asked).absolute() if is_path else nightly_folder(home) / f"{checked_name(asked)}.toml"
    name = checked_name(path.stem, str(path))
    return Nightly(name=name, path=path, suite=from_folder(_read(path, known), path.parent), home=home)


def _read(path: Path, known: list[str]) -> Suite:
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_TOML_BYTES + 1)
    except OSError as error:
        mend = f"known: {', '.join(known)}" if known else "write it (docs/nightly.md), or give a path"
        raise UsageError(Problem(str(path), f"can't be read: {error.strerror}", mend)) from error
    if len(text) > MAX_TOML_BYTES:
        raise UsageError(Problem(str(path), f"has over {MAX_TOML_BYTES} bytes", FORM))
    return parse_suite(text, str(path))


def run_options(nightly: Nightly, night: str, tags: tuple[str, ...] = ()) -> RunOptions:
    """What `orch run` is asked for in a night; `tags` beside those of every night."""
    suite = nightly.suite
    return RunOptions(
        things=tuple(suite.models),
        device=tuple(suite.device),
        preset=suite.preset,
        perf_test=suite.perf_test,
        lib=tuple(suite.lib),
        dialect=suite.dialect,
        converter=suite.converter,
        rounds=suite.rounds,
        seconds=suite.seconds,
        iterations=suite.iterations,
        budget=suite.budget,
        reruns=suite.reruns,
        prepare=suite.prepare,
        tag=(f"{NIGHTLY_TAG}{nightly.name}", f"{NIGHT_TAG}{night}", *tags),
    )
