"""Files and text of others, damaged: what phones leave behind, what people configure, what we kept ourselves."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from android_runner.assignment import from_phone_log, from_stderr
from android_runner.block import Ending
from android_runner.capabilities import Capabilities, parse_usage
from android_runner.facts import MAX_TEXT
from android_runner.host.kernel_log import usb_troubles
from android_runner.nnapi.notation import graph_from_text
from android_runner.phone.journal import parse_journal
from android_runner.phone.snapshots import read_snapshots
from android_runner.phone_log import read_phone_log
from android_runner.preparing.knobs import setting
from android_runner.preparing.steps import StepName
from android_runner.preparing.undo import UndoEntry, UndoList, undo_from_text, undo_to_text
from android_runner.probe import facts_from
from android_runner.profile import ProfileError, parse_profile
from android_runner.receipts import parse_look, parse_residents
from android_runner.virtual.auth import BadKey, read_public_key
from android_runner.virtual.fault_schedule import FaultScheduleError, parse_schedule
from android_runner.virtual.heat.scenario import ScenarioError, parse_scenario
from android_runner.vitals_text import parse_process, parse_vitals
from orchestrator.errors import MAX_PART_CHARS, UsageError
from orchestrator.lab import parse_lab
from orchestrator.plan.load import load_plan
from tests.damage import damaged
from tests.guarded import guarded
from tests.host_phone import block_of, task

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT / "tests" / "corpus"
PHONE_TEXT = CORPUS / "phone_text"


def many(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.data_too_large, HealthCheck.too_slow],
    )


def any_of(texts: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.sampled_from(texts).flatmap(damaged)


# --- what phones leave behind -------------------------------------------------------------------------------------

# As the phone script writes one: a trial that ended, one that the watchdog ended, one that nobody saw end.
JOURNAL = b"""\
1 begin 5 3 20397 4574.47 62183f3f-a36c-4b2e-ac65-b6b00cdd15f1 20987
2 start 1 12 1 4574.50 54135
3 exited 1 12 0 2 4575.08 11272
4 start 2 done 2 4575.10 55914
5 timed_out 2 done 143 4 4585.09 35225
6 start 3 t3 4 4585.10 58642
7 lost 3 t3 7967
8 finish done 4590.00 6670
"""
BLOCK = block_of(task("12", "true"), task("done", "true"), task("t3", "true"))


@given(damaged(JOURNAL))
@many(300)
def test_journals(data: bytes) -> None:
    with guarded():
        journal = parse_journal(data, BLOCK)
    assert set(journal.records) <= {"12", "done", "t3"}
    for record in journal.records.values():
        assert record.ending is None or record.ending in Ending
        assert record.exit_code is None or 0 <= record.exit_code <= 255
    if data == JOURNAL:
        assert journal.damage is None
    elif journal.damage is None:
        assert JOURNAL.startswith(data[: data.rfind(b"\n") + 1])


SNAPSHOT = (PHONE_TEXT / "snapshot.txt").read_bytes()


@given(damaged(b"== 1\n" + SNAPSHOT + b"== 2\n" + SNAPSHOT))
@many(150)
def test_snapshots(data: bytes) -> None:
    with guarded():
        for vitals in [*read_snapshots(data, {1, 2, 3}).values(), parse_vitals(data.decode(errors="replace"))]:
            assert vitals.battery_c is None or -100 <= vitals.battery_c <= 200
            assert all(-100 <= zone <= 200 for zone in vitals.zones_c.values())
            assert vitals.uptime_s is None or 0 <= vitals.uptime_s < 1e12


@given(damaged(b"nice:0\ncpuset:/top-app\ncgroup:/top\nallowed:0-7\nonline:0-3,6\n"))
@many(60)
def test_how_a_process_was_placed(data: bytes) -> None:
    with guarded():
        parse_process(data.decode(errors="replace"))


PROPERTIES = [path.read_bytes() for path in sorted(PHONE_TEXT.glob("getprop-*.txt"))]
CPUINFO = (PHONE_TEXT / "cpuinfo-arm64.txt").read_bytes()


@given(any_of(PROPERTIES), damaged(CPUINFO), any_of([path.read_bytes() for path in PHONE_TEXT.glob("df-*.txt")]))
@many(150)
def test_what_a_phone_says_of_itself(properties: bytes, cpuinfo: bytes, df: bytes) -> None:
    said = {"properties": properties, "cpuinfo": cpuinfo, "df": df, "possible": b"0-7\n", "tools": b"su\nsh\n"}
    with guarded():
        facts = facts_from({name: text.decode(errors="replace") for name, text in said.items()}, "SERIAL")
    words = [facts.identity, facts.device_model, facts.manufacturer, facts.fingerprint, facts.soc, facts.shell]
    assert all(len(word) <= MAX_TEXT and (word.isprintable() or not word) for word in words)
    assert 1 <= facts.cores <= 1025
    assert len(facts.abis) <= 16


LOGS = [path.read_bytes() for path in sorted((CORPUS / "nnapi_log").glob("*.txt"))]


@given(any_of(LOGS))
@many(150)
def test_logs_of_phones(data: bytes) -> None:
    with guarded():
        for assignment in (from_phone_log(read_phone_log(data)), from_stderr(data)):
            assert assignment.known or assignment.why_not_known
            assert assignment.partitions is None or assignment.partitions >= 0


DIGEST = "ab" * 32
STAT = f"12 1 7 {DIGEST}/m.onnx\n"
LOOK = f"orch-receipt 1 {DIGEST}\nsha {DIGEST} m.onnx\n{STAT}end {DIGEST}\nMARK\n{STAT}"


@given(damaged(LOOK.encode()), damaged(f"17 {DIGEST}.receipt\n40\t{DIGEST}\n".encode()))
@many(150)
def test_what_is_staged(look: bytes, residents: bytes) -> None:
    with guarded():
        seen = parse_look(look.decode(errors="replace"), "MARK")
        found = parse_residents(residents.decode(errors="replace"))
    assert all(size >= 0 for size, _, _ in seen.stats.values())
    assert all(re.fullmatch(r"[0-9a-f]{8,64}", one.digest) for one in found)


KERNEL = b"""[   12.5] usb 1-1.3: device descriptor read/64, error -110
[   13.5] usb 1-1.3: USB disconnect, device number 9
[   14.5] xhci_hcd 0000:00:14.0: Not enough bandwidth for new device state.
"""


@given(damaged(KERNEL))
@many(60)
def test_the_kernel_s_log(data: bytes) -> None:
    with guarded():
        usb_troubles(data.decode(errors="replace"))


# --- what people configure ----------------------------------------------------------------------------------------

ODD = (
    b"x = " + b"9" * 5000,
    b"x = " + b"9" * 40,
    b"x = -" + b"9" * 19,
    b"x = 0x" + b"f" * 60,
    b"x = 1979-05-27T07:32:00Z",
    b"x = nan",
    b"x = -inf",
    b"x = " + b"[" * 2000 + b"]" * 2000,
    b"x = " + b"{a=" * 2000 + b"1" + b"}" * 2000,
    b"[" + b"a." * 3000 + b"b]",
    b'"\\u0000" = 1',
    b'x = "' + b"y" * 5_000 + b'"',
    b"\xef\xbb\xbf",
)
"""Lines that a TOML reader has to survive, and values that fit no schema."""


@st.composite
def toml(draw: st.DrawFn, texts: list[bytes]) -> bytes:
    """A TOML file, damaged, or with a line or a value that is odd."""
    text = draw(st.sampled_from(texts))
    how = draw(st.integers(0, 2))
    if how == 0:
        return draw(damaged(text))
    odd = draw(st.sampled_from(ODD))
    lines = text.split(b"\n")
    at = draw(st.integers(0, len(lines) - 1))
    if how == 1:
        lines.insert(at, odd)
    else:
        lines[at] = lines[at].partition(b"=")[0] + b"=" + odd.partition(b"=")[2]
    return b"\n".join(lines)


def shipped(*patterns: str) -> list[bytes]:
    return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def fenced(*pages: str) -> list[bytes]:
    """The TOML of the pages: what people copy."""
    return [
        block.encode()
        for page in pages
        for block in re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    ]


@given(toml(fenced("plan.md", "measuring.md")))
@many(250)
def test_plans(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(text)
    with guarded():
        try:
            plan = load_plan(path)
        except UsageError as error:
            said(error, [problem.line() for problem in error.problems])
            return
    assert plan.rounds >= 1


@given(toml(fenced("lab.md")))
@many(200)
def test_lab_files(text: bytes) -> None:
    with guarded():
        try:
            parse_lab(text.decode("utf-8", errors="surrogateescape"), "lab.toml")
        except UsageError as error:
            said(error, [problem.line() for problem in error.problems])


def said(error: Exception, problems: list[str]) -> None:
    assert problems
    assert all(len(problem) <= 3 * MAX_PART_CHARS + 5 for problem in problems), str(error)[:200]


def read_profile(text: bytes) -> object:
    return parse_profile(text, source="mine.toml")


def read_scenario(text: bytes) -> object:
    return parse_scenario(text, source="mine.toml")


def read_schedule(text: bytes) -> object:
    return parse_schedule(text, source="faults.toml")


@pytest.mark.parametrize(
    ("read", "texts", "refusal"),
    [
        (read_profile, shipped("device_profiles/*.toml"), ProfileError),
        (read_scenario, shipped("android_runner/virtual/heat/scenarios/*.toml"), ScenarioError),
        (read_schedule, fenced("faults.md"), FaultScheduleError),
    ],
)
def test_descriptions(read: Callable[[bytes], object], texts: list[bytes], refusal: type[Any]) -> None:
    @given(toml(texts))
    @many(150)
    def reads(text: bytes) -> None:
        with guarded():
            try:
                read(text)
            except refusal as error:
                said(error, list(error.problems))

    reads()


# --- what we kept ourselves, and somebody changed -------------------------------------------------------------------

USAGE = (CORPUS / "perf_test-1.21" / "help" / "stdout").read_text()
KNOB = setting("global", "stay_on_while_plugged_in")
UNDO = undo_to_text(
    UndoList(
        phone="R58N30ABCDE",
        run_id="0412-quick-7k2f",
        made_at="2026-04-12T02:14:05Z",
        entries=(UndoEntry(step=StepName.AWAKE, knob=KNOB, before="0", ours="3", confirmed=True),),
    )
)
GRAPH = json.dumps(
    {
        "inputs": ["x"],
        "outputs": ["y"],
        "opset": 14,
        "nodes": [["a", "Relu", "", 14, ["x"], ["y"], {"axis": 1, "pads": [0, 1]}, [], False]],
        "values": [["x", 1, [1, 4], False, None, False], ["y", 1, None, False, [1.0], False]],
    }
)
KEPT = (
    (undo_from_text, UNDO),
    (graph_from_text, GRAPH),
    (Capabilities.from_json, parse_usage(USAGE, "", 0).to_json()),
)
SHAPES = ("null", "[]", "{}", "7", '"x"', "true", "1e400", "[" * 3000 + "]" * 3000, "9" * 5000)


@st.composite
def json_texts(draw: st.DrawFn, text: str) -> str:
    """JSON text, damaged, or with one value in the place of another."""
    if draw(st.booleans()):
        return draw(damaged(text.encode())).decode(errors="replace")
    places = [found.span() for found in re.finditer(r'"[^"]*"(?!:)|\[[^\[\]]*\]|\b\d+\b|true|false|null', text)]
    start, end = draw(st.sampled_from([*places, (0, len(text))]))
    return text[:start] + draw(st.sampled_from(SHAPES)) + text[end:]


@pytest.mark.parametrize(("read", "text"), KEPT)
def test_json_of_ours(read: Callable[[str], object], text: str) -> None:
    @given(json_texts(text))
    @many(150)
    def reads(changed: str) -> None:
        with guarded():
            try:
                read(changed)
            except ValueError:  # what each of them says that it raises
                return

    read(text)
    reads()


@given(damaged(b"QAAAA" + b"A" * 690 + b" user@host"))
@many(60)
def test_keys_of_adb(text: bytes) -> None:
    with guarded():
        try:
            read_public_key(text.decode(errors="replace"))
        except BadKey:
            return
