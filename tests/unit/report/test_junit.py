"""A run as JUnit: every planned trial is a case, the sums hold, and nothing of it breaks the XML."""

from xml.etree import ElementTree as xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_frames import Made, lab

from orchestrator.report.junit import Ending, JunitCase, JunitSuite, render_junit
from orchestrator.report.run_junit import run_junit


@pytest.fixture(scope="module")
def frames():
    return lab()


@pytest.fixture(scope="module")
def suites(frames):
    return xml.fromstring(run_junit(frames).encode())


def endings(element):
    return [next((one.tag for one in case if one.tag != "system-out"), "passed") for case in element.iter("testcase")]


def test_each_planned_trial_is_a_case(frames, suites):
    trials = frames.trials
    states = endings(suites)
    assert len(states) == len(trials)
    assert states.count("passed") == (trials["state"] == "measured").sum()
    assert states.count("failure") + states.count("error") == (trials["state"] == "failed").sum()
    assert states.count("skipped") == (trials["state"] == "skipped").sum()
    names = [(case.get("classname"), case.get("name")) for case in suites.iter("testcase")]
    assert len(set(names)) == len(names)


def test_the_sums_are_those_of_the_cases(suites):
    for element in (suites, *suites.iter("testsuite")):
        found = endings(element)
        told = {name: int(element.get(name)) for name in ("tests", "failures", "errors", "skipped")}
        assert told == {
            "tests": len(found),
            "failures": found.count("failure"),
            "errors": found.count("error"),
            "skipped": found.count("skipped"),
        }


def test_reasons_and_virtual_phones_are_named(suites):
    refused = next(one for one in suites.iter("failure") if one.get("type") == "model_refused")
    assert refused.get("message") == "refused: Load model from m.onnx failed:"
    assert refused.text == "Load model from m.onnx failed:\nsecond line"
    assert {one.get("message") for one in suites.iter("skipped")} == {"deadline", "phone lost"}
    assert [suite.get("name").startswith("virtual ") for suite in suites] == [False, False, True]
    assert "no trial: squeezenet cpu all 16t: 16 intra-op threads" in "".join(suites.itertext())


def test_who_is_to_blame_decides_between_failure_and_error():
    made = Made(rounds=2)
    phone = made.phone("s1", "B1", "Pixel 8")
    made.case(phone, "net", "default", 4.0, fails={1: ("link_lost", "gone"), 2: ("crashed", "SIGSEGV")})
    made.trials[0]["blame"], made.trials[1]["blame"] = "lab", "runtime"
    made.case(phone, "net", "cpu all", 4.0, rounds=1)
    made.trials[2]["state"] = "planned"
    found = xml.fromstring(run_junit(made.frames()).encode())
    assert endings(found) == ["error", "failure", "error"]
    assert [one.get("type") for one in found.iter("error")] == ["link_lost", "not_ended"]


@settings(max_examples=50, deadline=None)
@given(st.text(), st.sampled_from(Ending))
def test_any_text_is_xml_that_a_parser_takes(text, ending):
    case = JunitCase(group=text, name=text, ending=ending, kind=text, message=text, details=text)
    suite = JunitSuite(name=text, cases=[case], properties=[(text, text)], out=text)
    found = xml.fromstring(render_junit(text, [suite]).encode())
    assert endings(found) == [ending.value]
