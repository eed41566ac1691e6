"""Pure: a comparison as JUnit XML: a test case for each gate on each case.

Without a gate each compared case is a test case that passes, or is skipped where the data did not suffice.
"""

from __future__ import annotations

from orchestrator.measure.contrast import Word
from orchestrator.report.comparison.nouns import ComparedCase, Comparison, GateResult, GateWord
from orchestrator.report.comparison.said import across_words, case_words
from orchestrator.report.junit import Ending, JunitCase, JunitSuite, render_junit

_ENDINGS = {GateWord.PASSED: Ending.PASSED, GateWord.FAILED: Ending.FAILURE, GateWord.NOT_TOLD: Ending.SKIPPED}


def comparison_junit(comparison: Comparison) -> str:
    """The whole file; a suite for each phone."""
    if comparison.gates:
        cases = [(one.label, _of_gate(one)) for one in comparison.gates]
    else:
        cases = [(one.label, _of_case(one)) for one in comparison.cases]
    suites: dict[str, list[JunitCase]] = {}
    for label, case in cases:
        suites.setdefault(label, []).append(case)
    said = (("across", "; ".join(across_words(comparison))), ("answer", comparison.sentence))
    name = f"{comparison.base.run} and {comparison.new.run}"
    return render_junit(name, [JunitSuite(name=one, cases=own, properties=said) for one, own in suites.items()])


def _of_gate(one: GateResult) -> JunitCase:
    return JunitCase(
        group=f"{one.label}.{one.model}",
        name=f"{one.row} {one.gate}",
        ending=_ENDINGS[one.word],
        kind="gate" if one.word is GateWord.FAILED else "",
        message=one.words,
    )


def _of_case(one: ComparedCase) -> JunitCase:
    return JunitCase(
        group=f"{one.label}.{one.models}",
        name=one.name,
        ending=Ending.SKIPPED if one.verdict is Word.INSUFFICIENT else Ending.PASSED,
        message=case_words(one),
    )
