"""Pure: JUnit XML, as CI systems read it: suites of cases that passed, failed, ended in an error, or were skipped.

The form is that of Ant's `junitreport` as Jenkins, GitLab and GitHub's actions take it: `testsuites` / `testsuite` /
`properties`, `testcase` with at most one of `failure`, `error`, `skipped`, then `system-out`; times in seconds.
Whatever is text goes through `shown`, so that nothing is in it that XML 1.0 forbids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from xml.etree import ElementTree as xml

from orchestrator.report.lines import shown


class Ending(StrEnum):
    """How a case ended; the words are the names of its elements."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class JunitCase:
    """One case: `group` and `name` together say which; `kind` is one word, `message` a line, `details` more lines."""

    group: str
    name: str
    ending: Ending = Ending.PASSED
    kind: str = ""
    message: str = ""
    details: str = ""
    time_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JunitSuite:
    """Cases that belong together, with what else is worth knowing of them as (name, value)."""

    name: str
    cases: Sequence[JunitCase]
    properties: Sequence[tuple[str, str]] = ()
    at: datetime | None = None
    out: str = ""


def render_junit(name: str, suites: Sequence[JunitSuite]) -> str:
    """The XML, with a newline at its end."""
    root = xml.Element("testsuites", {"name": shown(name), **_sums([case for one in suites for case in one.cases])})
    for at, suite in enumerate(suites):
        root.append(_suite(at, suite))
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _suite(at: int, suite: JunitSuite) -> xml.Element:
    heads = {"id": str(at), "name": shown(suite.name), **_sums(suite.cases)}
    if suite.at is not None:
        heads["timestamp"] = suite.at.strftime("%Y-%m-%dT%H:%M:%S")
    element = xml.Element("testsuite", heads)
    if suite.properties:
        listed = xml.SubElement(element, "properties")
        for name, value in suite.properties:
            xml.SubElement(listed, "property", {"name": shown(name), "value": shown(value)})
    element.extend(_case(case) for case in suite.cases)
    if suite.out:
        xml.SubElement(element, "system-out").text = _lines(suite.out)
    return element


def _case(case: JunitCase) -> xml.Element:
    heads = {"classname": shown(case.group), "name": shown(case.name), "time": f"{case.time_s:.6f}"}
    element = xml.Element("testcase", heads)
    if case.ending is not Ending.PASSED:
        said = {"message": shown(case.message)}
        if case.ending is not Ending.SKIPPED:
            said["type"] = shown(case.kind)
        xml.SubElement(element, case.ending.value, said).text = _lines(case.details) or None
    return element


def _lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.splitlines())


def _sums(cases: Sequence[JunitCase]) -> dict[str, str]:
    endings = [case.ending for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(endings.count(Ending.FAILURE)),
        "errors": str(endings.count(Ending.ERROR)),
        "skipped": str(endings.count(Ending.SKIPPED)),
        "time": f"{sum(case.time_s for case in cases):.6f}",
    }
