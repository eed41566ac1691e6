"""Pure: builds as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.app.binaries.build import BuildFacts
from orchestrator.app.binaries.registry import Build, CheckedBuild
from orchestrator.report.lines import shown


def build_lines(build: Build) -> list[str]:
    """A registered build: name, ABI, what it is, and below it what a person should know."""
    return _lines(build.name, build.facts, build.files, build.remarks, ())


def check_lines(checked: CheckedBuild) -> list[str]:
    """A build that was looked at, what is wrong with it last."""
    lines = _lines(checked.name, checked.facts, checked.files, checked.remarks, checked.problems)
    return lines if checked.problems else [*lines, "  ok"]


def _lines(
    name: str, facts: BuildFacts, files: Iterable[str], remarks: Sequence[str], problems: Sequence[str]
) -> list[str]:
    version = f"onnxruntime {facts.ort_version}" if facts.ort_version else "onnxruntime of unknown version"
    words = [version, facts.kind, facts.build_type, f"commit {facts.commit[:10]}" if facts.commit else ""]
    needs = [
        f"API {facts.android_api}+" if facts.android_api is not None else "",
        f"pages up to {facts.page_bytes // 1024} KB" if facts.page_bytes else "",
        f"{facts.dialect} dialect" if facts.dialect else "",
        f"EPs {' '.join(facts.eps)}" if facts.eps else "",
    ]
    lines = [f"{name}  {facts.abi}  {', '.join(word for word in words if word)}"]
    lines += [f"  {', '.join(word for word in needs if word)}"] if any(needs) else []
    lines.append(f"  {', '.join(sorted(files))}")
    lines += [f"  note: {remark}" for remark in remarks]
    lines += [f"  unusable: {problem}" for problem in problems]
    return [shown(line) for line in lines]
