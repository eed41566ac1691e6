"""Ten nights on virtual phones: a step of 8 % that comes late, one that comes too early, a phone that dies."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.forked_orch import ForkedOrch
from tests.nightly_lab import PHONES, SLOTS, NightlyLab
from tests.orch_cli import Ended, Orch

USUAL, SLOWER = 1000, 1080
APPRISE = find_spec("apprise") is not None
"""The extra [notify]; without it the night says that nobody was told."""


@pytest.fixture
def nightly(orch: Orch, mnist: Path) -> NightlyLab:
    return NightlyLab(orch, mnist)


def run_night(lab: NightlyLab, night: int) -> Ended:
    return lab.orch("nightly", "run", "lab", "--date", f"2026-03-{night:02d}", *SLOTS)


def runs(home: Path) -> list[tuple[str, list[str]]]:
    """Each run with its tags, in their order, straight from the ledger."""
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        rows = ledger.execute("select run_id, tags from run order by created_at").fetchall()
    return [(name, json.loads(tags)) for name, tags in rows]


def digest(lab: NightlyLab, night: int) -> dict[str, Any]:
    """A night's digest as it was written at its end."""
    found = json.loads((lab.folder / "lab" / f"2026-03-{night:02d}" / "digest.json").read_text())
    assert isinstance(found, dict)
    return found


def shifts(found: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    return sorted((one["phone"], one["row"], one["fresh"]) for one in found)


@contextmanager
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on this computer that takes what people are told: its URL as apprise has it, and what it heard."""
    heard: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"json://127.0.0.1:{server.server_port}/", heard
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.timeout(240)
def test_a_step_on_the_ninth_night_and_one_on_the_third(orch: Orch, nightly: NightlyLab) -> None:
    """The default's figures step up on the ninth night, those with two threads on the third."""
    nightly.plan(2)
    nightly.always = {"notify": ["ORCH_TEST_HOOK"], "disk_bound": "100GB"}
    with webhook() as (url, told):
        orch.env["ORCH_TEST_HOOK"] = url
        for night in range(1, 11):
            nightly.level(SLOWER if night >= 9 else USUAL, SLOWER if night >= 3 else USUAL)
            ended = run_night(nightly, night)
            assert ended.code == (1 if night >= 9 else 0), f"night {night}: {ended}"
            assert ("warning  nobody was told" in ended.err) == (night == 9 and not APPRISE), ended
            assert len(told) == (1 if night >= 9 and APPRISE else 0)
    every = runs(orch.home)
    assert len(every) == 11, "what was slow on the ninth night is asked again, once; on the tenth it is known"
    own, again = every[8:10]
    assert own[1] == ["nightly=lab", "night=2026-03-09"]
    assert again[1] == ["nightly=lab", "night=2026-03-09", f"confirms={own[0]}"]
    with sqlite3.connect(orch.home / "ledger.sqlite") as ledger:
        asked = ledger.execute("select distinct row_name from run_case where run_id = ?", (again[0],)).fetchall()
    assert asked == [("default",)], "nothing else is asked again"

    third, ninth, tenth = (digest(nightly, night) for night in (3, 9, 10))
    assert (third["regressed"], third["suspected"], third["opened"], third["insufficient"]) == ([], [], [], 4)
    assert shifts(ninth["regressed"]) == [(phone, "default", True) for phone in PHONES]
    assert shifts(tenth["regressed"]) == [(phone, "default", False) for phone in PHONES]
    for one in ninth["regressed"]:
        assert (one["reason"], one["again_in"]) == ("asked again, it was slow again", [again[0]])
        assert one["change"] == pytest.approx(0.08, abs=0.008)  # both levels stray by up to 3 per mille
        assert 0.0 < one["threshold"] < one["low"] < one["change"] < one["high"]
        assert "perf_test" in one["changes"][0]["words"]
    assert (len(ninth["opened"]), len(ninth["standing"])) == (1, 0)
    assert (len(tenth["opened"]), len(tenth["standing"])) == (0, 1)
    (alert,) = json.loads(orch("nightly", "alerts", "--all", "--json").out)
    assert (alert["kind"], alert["opened_night"], alert["nights"], alert["closed_night"]) == (
        "regression", "2026-03-09", 2, "",
    )  # fmt: skip
    assert len(alert["members"]) == len(PHONES)
    assert ["2 cases regressed" in one["title"] for one in told] == [True] * APPRISE
    assert (nightly.folder / "lab" / "latest" / "digest.txt").read_text() == orch("nightly", "digest").out
    assert (nightly.folder / "lab" / "latest" / "digest.html").is_file()


@pytest.mark.timeout(120)
def test_a_phone_dies_on_the_seventh_night(orch: Orch, nightly: NightlyLab) -> None:
    """Its twin of the same device model goes on, and stands in its place in the digest."""
    (orch.home / "lab.toml").write_text("[recovery]\nwait_seconds = 1\n")
    assert run_night(nightly, 6).code == 0
    nightly.level(USUAL, sleep_s=1.0)
    forked = ForkedOrch(orch.home)
    forked.start("nightly", "run", "lab", "--date", "2026-03-07", *SLOTS)
    assert forked.said("plan  0/4"), forked.log.read_text()
    gone, twin = PHONES
    assert orch("virtual", "down", gone).code == 0
    assert forked.wait() == 3, forked.log.read_text()
    found = digest(nightly, 7)
    (died,) = found["died"]
    assert (died["phone"], died["device_model"], bool(died["at"]), bool(died["vitals"])) == (
        gone,
        "Pixel 8",
        True,
        True,
    )
    assert any("wait" in words for words in died["tried"])
    assert died["twin"]["phone"] == twin
    (figure,) = died["twin"]["figures"]
    assert (figure["row"], figure["last_night"]) == ("default", "2026-03-06")
    assert figure["twin_s"] == pytest.approx(0.000105, rel=0.004)
    assert figure["last_s"] == pytest.approx(0.000105, rel=0.004)
    hands = found["hands"][0]
    assert (hands["phone"], hands["missing"]) == (gone, True)
    (alert,) = found["opened"]
    assert (alert["kind"], alert["members"]) == ("phone", [gone])
