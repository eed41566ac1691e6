"""Merged traces against the rules of the Trace Event Format, and what they must tell."""

from pathlib import Path

import orjson
import pytest

from android_runner.trace_lines import OneEvent, read_events
from orchestrator.report.trace_merge import KERNELS, CounterPoint, MergedTrace, TraceLane

CORPUS = Path(__file__).parent.parent.parent / "corpus" / "trace"


def well_formed(events):
    """The format's published rules for the phases that are used here; the events back."""
    for event in events:
        assert event["ph"] in {"X", "M", "C"}
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert isinstance(event["name"], str)
        assert isinstance(event["ts"], int)
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert isinstance(event["dur"], int)
            assert event["dur"] >= 0
            assert isinstance(event["cat"], str)
        elif event["ph"] == "C":
            assert event["args"]
            assert all(isinstance(value, int | float) for value in event["args"].values())
        else:
            assert event["name"] in {"process_name", "process_sort_index", "thread_name"}
            assert set(event["args"]) == {"sort_index" if event["name"] == "process_sort_index" else "name"}
    named = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    assert {(one["pid"], one["tid"]) for one in events if one["ph"] == "X"} <= named
    assert orjson.loads(orjson.dumps(events)) == events
    return events


@pytest.mark.parametrize("name", ["plain-1.31.1", "nested-1.23.2", "quoted-1.20.1"])
def test_two_cases_are_two_lanes_with_their_own_times(name):
    merged, text = MergedTrace(), (CORPUS / f"{name}.json").read_bytes()
    lanes = [
        TraceLane(phone="B3", words=f"net {case}", starts_us=at) for case, at in (("cpu", 0), ("nnapi", 5_000_000))
    ]
    events = well_formed([event for lane in lanes for event in merged.lane(lane, read_events([text]))])
    names = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert names == ["B3 · net cpu", "B3 · net nnapi"]
    first, second = ([one for one in events if one["ph"] == "X" and one["pid"] == pid] for pid in (1, 2))
    assert [one["ts"] + 5_000_000 for one in first] == [one["ts"] for one in second]
    assert len(first) >= len(list(read_events([text])))


def test_threads_that_helped_and_kernels_have_lanes_of_their_own():
    stats = {"sub_threads": {"9": {"num_run": 2, "core": 5}}}
    node = {"cat": "Node", "tid": 1, "dur": 17, "ts": 100, "name": "Add_kernel_time"}
    kernel = {"cat": "Kernel", "tid": -1, "dur": 33, "ts": 105, "name": "ort_add_cuda_kernel", "args": {}}
    text = b",\n".join(map(orjson.dumps, ({**node, "args": {"thread_scheduling_stats": stats}}, kernel)))
    events = well_formed(list(MergedTrace().lane(TraceLane(phone="p", words="w", starts_us=0), read_events([text]))))
    threads = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    assert set(threads.values()) == {"thread 1", "pool thread 9", KERNELS}
    helper = next(one for one in events if threads.get(one["tid"]) == "pool thread 9" and one["ph"] == "X")
    assert (helper["dur"], helper["args"]) == (17, {"blocks run": "2", "core": "5"})
    kernel = next(one for one in events if one["name"] == "ort_add_cuda_kernel")
    assert kernel["args"] == {"launched by": "Add_kernel_time"}


def test_vitals_are_counters():
    points = [CounterPoint(at_us=at, values={"battery °C": 30.0 + at, "clock MHz": 1800.0}) for at in (0, 7)]
    events = well_formed(list(MergedTrace().counters("B3", points)))
    assert [(one["ts"], one["args"]["value"]) for one in events if one["name"] == "battery °C"] == [
        (0, 30.0),
        (7, 37.0),
    ]


def test_what_a_phone_says_does_not_act():
    event = OneEvent(category="Node", name="\x1b[2J\u202e", tid=1, start_us=0, dur_us=1, arguments={"\x07": "\x9b"})
    events = well_formed(list(MergedTrace().lane(TraceLane(phone="\x1b", words="\x1b", starts_us=0), [event])))
    assert "\x1b" not in str(events)
