"""The command line on whatever hangs on adb: `make test-device SERIAL=…`, with a program that its shell can run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.adb.server import DEFAULT_PORT, AdbServer
from tests.contract.lent_phone import SERIAL, left_as_it_was
from tests.known_tool import known_perf_test
from tests.no_phones import PORT_VARIABLE
from tests.orch_cli import Orch

TRUE = os.environ.get("ORCH_PERF_TEST", "")

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not SERIAL, reason="ORCH_TEST_SERIAL names no phone"),
]


@pytest.fixture(autouse=True)
def put_back(orch: Orch) -> Iterator[None]:
    orch.env[PORT_VARIABLE] = str(DEFAULT_PORT)
    with left_as_it_was(AdbServer(), SERIAL):
        yield


def run(orch: Orch, *words: str | Path) -> dict[str, int]:
    """A quick run whose trials wait for nothing, to its end; planned and measured."""
    limits = [f"--limit={name}=off" for name in ("max_load", "max_battery_c", "max_status", "min_battery_level")]
    ended = orch("run", *words, "--device", SERIAL, "--preset", "quick", "--seconds", "0.2", *limits, timeout_s=200)
    assert ended.code in (0, 3), ended  # a phone that hardly answers may leave too little for an answer
    return orch.counts()


def test_it_is_listed_and_usable(orch: Orch) -> None:
    rows = json.loads(orch("devices", "--json").out)
    (row,) = [one for one in rows if one["serial"] == SERIAL]
    assert row["usable"], row
    assert row["api_level"] is None or row["api_level"] >= 26


def test_a_run_measures_what_it_planned(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    counts = run(orch, mnist, "--rounds", "3", "--perf-test", known_perf_test(tmp_path / "tool", 2.0))
    assert counts["planned"] == counts["measured"] > 0


@pytest.mark.skipif(not TRUE, reason="ORCH_PERF_TEST names no onnxruntime_perf_test for this device")
def test_a_true_perf_test_measures_there(orch: Orch, mnist: Path) -> None:
    library = ("--lib", os.environ["ORCH_PERF_TEST_LIB"]) if "ORCH_PERF_TEST_LIB" in os.environ else ()
    counts = run(orch, mnist, "--rounds", "2", "--perf-test", TRUE, *library)
    assert counts["planned"] == counts["measured"] > 0
