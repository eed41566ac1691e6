import json
from dataclasses import replace
from datetime import UTC, datetime

import golden
import pytest
from report_frames import START, lab

from orchestrator.report.as_json import render_json
from orchestrator.report.devices import DeviceRow, render_devices
from orchestrator.report.markdown import render_markdown
from orchestrator.report.plan_text import PlanCase, PlanPhone, PlanView, render_plan
from orchestrator.report.runs_text import RunLine, render_runs
from orchestrator.report.show import parse_target, show
from orchestrator.report.show_text import render_show
from orchestrator.report.summarize import summarize
from orchestrator.report.summary import DroppedRow
from orchestrator.report.terminal import render_terminal


@pytest.fixture(scope="module")
def frames():
    return lab()


@pytest.fixture(scope="module")
def summary(frames):
    return summarize(frames)


def test_terminal(summary):
    golden.check("terminal.txt", render_terminal(summary))


def test_terminal_with_all_tables(summary):
    golden.check("terminal_all.txt", render_terminal(summary, all_tables=True))


def test_markdown(summary):
    golden.check("report.md", render_markdown(summary, repeat_command="orch run squeezenet.onnx mnist.onnx"))


def test_json(summary):
    text = render_json(summary)
    golden.check("report.json", text)
    assert json.loads(text)["models"][0]["phones"][0]["verdict"]["sureness"] == "sure"


@pytest.mark.parametrize(
    ("name", "words"),
    [("show_run", "0412"), ("show_phone", "0412/B3"), ("show_row", "0412/A1/cpu all"), ("show_refused", "0412/A1/6")],
)
def test_show(frames, name, words):
    attempts = frames.attempts.copy()
    binary = f"/data/local/tmp/orch/staged/{'2e' * 32}/onnxruntime_perf_test"
    attempts["argv"] = [(binary, "-e", "cpu", "-m", "times", "-r", "200", "my model.ort")] * len(attempts)
    attempts["evidence"] = [{"stdout": "aa" * 32, "stderr": "bb" * 32}] * len(attempts)
    attempts["binary_digest"] = "2e" * 32
    frames = type(frames)(**{**vars(frames), "attempts": attempts})
    read = {"bb" * 32: b"warning: one\nsecond\nthird\nfourth\nfifth\n"}.__getitem__
    golden.check(f"{name}.txt", render_show(show(frames, parse_target(words), read)))


DEVICES = [
    DeviceRow(
        label="B3",
        device_model="Pixel 8",
        serial="R58N30ABCDE",
        api_level=34,
        rooted=False,
        state="ready",
        usable=True,
        battery_c=31.2,
        battery_percent=78,
        where="hub 1-1.3",
        care=("battery holds 78 % of its design: replace it before it swells",),
    ),
    DeviceRow(
        label="C2",
        device_model="Pixel 4",
        serial="9A281FFAZ00013456",
        api_level=None,
        rooted=None,
        state="unauthorized",
        usable=False,
        battery_c=None,
        battery_percent=None,
        where="hub 2.7",
        mend="accept the key on its screen, then: orch devices add 9A281FFAZ00013456",
    ),
    *(
        DeviceRow(
            label=label,
            device_model="Pixel 4",
            serial=f"127.0.0.1:4123{at}",
            api_level=33,
            rooted=bool(at),
            state="ready",
            usable=True,
            battery_c=25.0,
            battery_percent=100,
            virtual=True,
            confinement=confinement,
            shell="mksh, toybox",
        )
        for at, (label, confinement) in enumerate([("V1", "namespace"), ("V2", "unconfined")])
    ),
]


def test_devices():
    golden.check("devices.txt", render_devices(DEVICES))
    golden.check("devices_none.txt", render_devices([]))
    golden.check("devices_without_labels.txt", render_devices([replace(row, label=row.serial) for row in DEVICES]))
    names = [f"virtual-galaxy-s9-{at}" for at in range(1, 4)]
    rows = [
        replace(
            DEVICES[-1], label=name, serial=f"127.0.0.1:4123{at}", where="tcp", device_model="Galaxy S9 (small disk)"
        )
        for at, name in enumerate(names)
    ]
    text = render_devices(rows)
    assert all(name[-11:] in text for name in names), text
    assert max(len(line) for line in text.splitlines()) <= 80


def plan():
    cases = (
        PlanCase(model="squeezenet", row="default"),
        PlanCase(model="squeezenet", row="cpu all", also=("cpu basic", "cpu extended", "cpu layout")),
        PlanCase(model="squeezenet", row="cpu layout", twin_of="cpu all"),
    )
    real = {"virtual": False, "cases": cases, "trials": 15}
    drops = [DroppedRow(row=f"cpu all {n}t", reason=f"{n} threads: 8 cores", phones=("B3", "B4")) for n in range(9, 19)]
    return PlanView(
        name="quick",
        seed=4711,
        rounds=5,
        phones=(
            PlanPhone(label="B3", device_model="Pixel 8", estimate_s=95.0, stage_bytes=12_345_678, **real),
            PlanPhone(label="B4", device_model="Galaxy A54", **real),
            PlanPhone(label="V1", device_model="Pixel 4", virtual=True, cases=cases[:1], trials=5, stage_bytes=0),
            PlanPhone(label="V2", device_model="Old", virtual=True, cases=(), trials=0),
        ),
        dropped=tuple(("squeezenet", drop) for drop in drops),
        estimate_s=101.0,
        stage_bytes=12_345_678,
        estimate_basis="2 s a trial until calibrated",
        notes=("4 variants to build",),
    )


def test_plan():
    golden.check("plan.txt", render_plan(plan()))
    assert "and 2 more" not in render_plan(plan(), all_rows=True)
    assert "seed is drawn when it runs" in render_plan(replace(plan(), seed=None))


def test_runs():
    rows = [
        RunLine(run="0412-quick-7k2f", created_at=START, state="finished", planned=9, measured=7, failed=1, skipped=1),
        RunLine(
            run="0411-cpu-aaaa",
            created_at=datetime(2026, 4, 11, 23, 59, tzinfo=UTC),
            state="cut off",
            planned=12000,
            measured=3,
            failed=0,
            skipped=0,
            note="before the new driver",
            mend="orch resume 0411-cpu-aaaa",
        ),
    ]
    golden.check("runs.txt", render_runs(rows))
    assert render_runs([]) == "no runs\n"


def test_a_plans_second_step_is_marked_and_makes_the_estimate_a_bound():
    whole = plan()
    later = PlanCase(model="squeezenet", row="nnapi onnx", also=("nnapi basic",), where_pays="NNAPI")
    phones = tuple(replace(phone, cases=(*phone.cases, later)) for phone in whole.phones[:1])
    text = render_plan(replace(whole, phones=phones, estimate_at_most=True))
    assert "at most 1 min 41 s" in text
    assert "where NNAPI pays · also nnapi basic" in text
    assert "where" not in render_plan(whole)
