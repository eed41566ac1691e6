"""The registered builds: `HOME/binaries/registered/DIGEST/`, files and a `build.json`, there whole or not at all."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.app.binaries.build import BuildFacts, ReadBuild, by_abi, facts_from, read_build
from orchestrator.app.binaries.taking import PERF_TEST, TEST_RUNNER, is_wanted, take
from orchestrator.digest import digest_of, digest_of_file
from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home

FORM = 1
_FILE = "build.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_PROGRAMS = (PERF_TEST, TEST_RUNNER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A registered build of one ABI. `files` are sha256 by name, `folder` is where they lie."""

    name: str
    digest: str
    added_at: str
    source: str
    facts: BuildFacts
    remarks: tuple[str, ...]
    files: dict[str, str]
    folder: str

    def path(self, name: str) -> Path:
        """Where a file of it lies."""
        return Path(self.folder) / name


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBuild:
    """A build that was looked at. `name` is its registered name or its path, `problems` make it unusable, `remarks`
    are what a person should know."""

    name: str
    facts: BuildFacts
    files: tuple[str, ...]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def registered(home: Home) -> list[Build]:
    """Every registered build, by name and ABI. Raises UsageError for one whose description is damaged."""
    found = []
    for folder in sorted(_root(home).glob("*/")):
        if len(folder.name) == 64:
            found.append(_read(folder))
    return sorted(found, key=lambda one: (one.name, one.facts.abi))


def named(home: Home, name: str) -> list[Build]:
    """The builds of a name, one for each ABI. Raises UsageError when there is none."""
    builds = registered(home)
    found = [one for one in builds if one.name == name]
    if not found:
        names = ", ".join(dict.fromkeys(one.name for one in builds)) or "none"
        raise UsageError(Problem(name, "is no registered build", f"registered: {names}; orch binaries add PATH"))
    return found


def add(home: Home, source: Path, name: str = "", companions: Sequence[Path] = ()) -> list[Build]:
    """Take the builds of a program, folder or archive in, with `companions` (libraries, files) for each of them.

    All of what is found, or nothing. What is registered already stays, and is told again. Raises UsageError with every
    problem: what can't be read, files that don't go together, a name that is taken.
    """
    if name and not _NAME.fullmatch(name):
        raise UsageError(Problem("--name", f"{name!r} is no name", "letters, digits, . _ + -, at most 64"))
    root = _root(home)
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".taking-") as scratch:
        taken = take(source, Path(scratch))
        paths = [one.path for one in taken] + [_companion(one) for one in companions]
        groups, problems = by_abi(paths)
        read: dict[str, ReadBuild] = {}
        places = {one.path: one.place for one in taken}
        for abi, files in groups.items():
            files[:], twice = _one_each(files, places, source)
            problems += twice
            read[abi] = read_build(abi, files)
            problems += [dataclasses.replace(one, where=f"{source}, {abi}: {one.where}") for one in read[abi].problems]
        builds = [_described(name, source, read[abi], files) for abi, files in groups.items()]
        known = {one.digest: one for one in registered(home)}
        problems += _taken_names(builds, list(known.values()))
        if problems:
            raise UsageError(*problems)
        return [
            known.get(build.digest) or _keep(root, build, files)
            for build, files in zip(builds, groups.values(), strict=True)
        ]


def check_path(source: Path) -> list[CheckedBuild]:
    """What is in a file, folder or archive that is not registered. Raises UsageError for what can't be read."""
    with tempfile.TemporaryDirectory(prefix="orch-binaries-") as scratch:
        groups, unreadable = by_abi([one.path for one in take(source, Path(scratch))])
        if not groups:
            raise UsageError(*unreadable)
        broken = tuple(one.line() for one in unreadable)
        return [_checked(str(source), read_build(abi, files), files, broken) for abi, files in groups.items()]


def check(build: Build) -> CheckedBuild:
    """Read a registered build again: what is wrong with it now, its files compared with what was added."""
    changed = []
    for name, sha256 in build.files.items():
        path = build.path(name)
        if not path.is_file() or digest_of_file(path) != sha256:
            what = "has changed since it was added" if path.is_file() else "is gone"
            changed.append(Problem(name, what, f"orch binaries remove {build.name}, then add it again").line())
    if changed:
        return CheckedBuild(
            name=build.name, facts=build.facts, files=tuple(build.files), problems=tuple(changed), remarks=build.remarks
        )
    files = [build.path(name) for name in build.files]
    return _checked(build.name, read_build(build.facts.abi, files), files, ())


def _checked(name: str, read: ReadBuild, files: Sequence[Path], broken: tuple[str, ...]) -> CheckedBuild:
    return CheckedBuild(
        name=name,
        facts=read.facts,
        files=tuple(one.name for one in files),
        problems=(*broken, *(one.line() for one in read.problems)),
        remarks=read.remarks,
    )


def remove(home: Home, name: str) -> list[Build]:
    """Forget the builds of a name; what runs used stays with them. Raises UsageError when there is none."""
    gone = named(home, name)
    for one in gone:
        folder = _root(home) / one.digest
        aside = folder.with_name(f".gone-{one.digest}-{os.getpid()}")
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    return gone


def _root(home: Home) -> Path:
    return home.binaries / "registered"


def _read(folder: Path) -> Build:
    try:
        data = json.loads((folder / _FILE).read_bytes())
        if data["form"] != FORM:
            raise ValueError(f"form {data['form']!r}, {FORM} was expected")
        return Build(
            name=str(data["name"]),
            digest=folder.name,
            added_at=str(data["added_at"]),
            source=str(data["source"]),
            facts=facts_from(data["facts"]),
            remarks=tuple(map(str, data["remarks"])),
            files={str(one): str(sha256) for one, sha256 in data["files"].items()},
            folder=str(folder),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"can't be read: {error}"
        raise UsageError(Problem(str(folder / _FILE), what, "remove the folder, and add the build again")) from error


def _companion(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(Problem("--with", f"{path} is not a file", "give a library's path"))
    if not is_wanted(path.name):
        mend = (
            "give libonnxruntime.so, libc++_shared.so, libonnxruntime_providers_*.so or libQnn*.so under its own name"
        )
        raise UsageError(Problem("--with", f"{path.name} is no library that we know", mend))
    return path


def _one_each(files: Sequence[Path], places: dict[Path, str], source: Path) -> tuple[list[Path], list[Problem]]:
    """Each name once: equal files are one, others of one name are a problem."""
    first: dict[str, Path] = {}
    problems = []
    for path in files:
        other = first.setdefault(path.name, path)
        if other is not path and digest_of_file(other) != digest_of_file(path):
            both = f"{places.get(other, str(other))} and {places.get(path, str(path))}"
            problems.append(Problem(str(source), f"two different files: {both}", "add one build at a time"))
    return list(first.values()), problems


def _described(name: str, source: Path, read: ReadBuild, files: Sequence[Path]) -> Build:
    sums = {path.name: digest_of_file(path) for path in sorted(files)}
    return Build(
        name=name or _own_name(read.facts, source),
        digest=digest_of(["build", sums]),
        added_at=datetime.now(UTC).isoformat(timespec="seconds"),
        source=str(source.absolute()),
        facts=read.facts,
        remarks=read.remarks,
        files=sums,
        folder="",
    )


def _own_name(facts: BuildFacts, source: Path) -> str:
    """The version, with what sets the build apart; the source's name where it tells no version."""
    kind = {"extended minimal": "-extended", "minimal": "-minimal"}.get(facts.kind, "")
    if facts.ort_version:
        return f"ort-{facts.ort_version}{kind}{'' if facts.programs else '-lib'}"
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", source.stem).strip("-.")[:64] or "unnamed"


def _taken_names(builds: Sequence[Build], known: Sequence[Build]) -> list[Problem]:
    problems = []
    for build in builds:
        for other in known:
            if (other.name, other.facts.abi) == (build.name, build.facts.abi) and other.digest != build.digest:
                what = f"{build.name} for {build.facts.abi} is another build already"
                mend = f"give --name, or: orch binaries remove {build.name}"
                problems.append(Problem(build.source, what, mend))
    return problems


def _keep(root: Path, build: Build, files: Sequence[Path]) -> Build:
    folder = root / build.digest
    part = Path(tempfile.mkdtemp(dir=root, prefix=".adding-"))
    try:
        part.chmod(0o755 | root.stat().st_mode & 0o070)
        for path in files:
            shutil.copyfile(path, part / path.name)
            (part / path.name).chmod(0o755 if path.name in _PROGRAMS else 0o644)
            if digest_of_file(part / path.name) != build.files[path.name]:
                raise UsageError(Problem(str(path), "changed while it was copied", "add it again"))
        data = dataclasses.asdict(build) | {"form": FORM}
        for left_out in ("digest", "folder"):
            del data[left_out]
        (part / _FILE).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return dataclasses.replace(build, folder=str(folder))
