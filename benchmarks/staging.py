"""100 MB onto a virtual phone, verified there, against `adb push` and `adb shell sha256sum`; then again, unchanged."""

from __future__ import annotations

import hashlib
import os
import secrets
import statistics
import time
from pathlib import Path

from android_runner.adb.discovery import open_device
from android_runner.adb.server import AdbServer
from android_runner.deadline import Deadline
from android_runner.device import Device, Serial
from android_runner.staging import StageFile, StageUnit, stage
from benchmarks.lab import Lab, lab
from benchmarks.row import Row, spread

SIZE_BYTES = 100_000_000
REPEATS = 5
GOAL, GOAL_AGAIN = 1.1, 0.05
DEADLINE_S = 300.0


def run() -> Row:
    """The row of the speed table."""
    ours, theirs, again = [], [], []
    pushed_again = 0
    with lab() as place:
        source = place.files / "blob"
        source.write_bytes(os.urandom(SIZE_BYTES))
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        (serial,) = place.phones("pixel-8")
        device = _device(place, serial)
        for repeat in range(REPEATS):
            unit = StageUnit(
                digest=secrets.token_hex(32), files=(StageFile(name="blob", source=source, sha256=digest),)
            )
            if repeat % 2:
                theirs.append(_plain_s(place, serial, source, digest))
            ours.append(_staged(device, unit, SIZE_BYTES))
            if not repeat % 2:
                theirs.append(_plain_s(place, serial, source, digest))
            begin_s = time.perf_counter()
            pushed_again += stage(device, [unit], deadline=Deadline.after(DEADLINE_S)).pushed_bytes
            again.append(time.perf_counter() - begin_s)
            place.adb(serial, "shell", f"rm -rf /data/local/tmp/orch/staged/{unit.digest}* /data/local/tmp/plain")
    ratio = statistics.median(ours) / statistics.median(theirs)
    ratio_again = statistics.median(again) / statistics.median(theirs)
    return Row(
        name="staging",
        goal=f"≤ {GOAL} of adb push + sha256sum; again: 0 bytes, ≤ {GOAL_AGAIN}",
        figure=f"{ratio:.3f}; again: {pushed_again} bytes, {ratio_again:.4f}",
        met=ratio <= GOAL and ratio_again <= GOAL_AGAIN and pushed_again == 0,
        detail=(
            f"{SIZE_BYTES / 1e6:.0f} MB of noise, {REPEATS} interleaved repeats, median [range]: ours {spread(ours)}, "
            f"adb push and sha256sum {spread(theirs)}, again {spread(again)}"
        ),
    )


def _device(place: Lab, serial: str) -> Device:
    port = int(place.adb_words(serial)[2])
    return open_device(AdbServer(port=port), Serial(serial), Deadline.after(DEADLINE_S))


def _staged(device: Device, unit: StageUnit, wanted_bytes: int) -> float:
    """Seconds for staging a unit that is not there yet."""
    begin_s = time.perf_counter()
    report = stage(device, [unit], deadline=Deadline.after(DEADLINE_S))
    took_s = time.perf_counter() - begin_s
    if report.pushed_bytes != wanted_bytes:
        raise RuntimeError(f"{report.pushed_bytes} bytes travelled, not {wanted_bytes}")
    return took_s


def _plain_s(place: Lab, serial: str, source: Path, digest: str) -> float:
    """Seconds for the two commands that a person types."""
    begin_s = time.perf_counter()
    place.adb(serial, "push", str(source), "/data/local/tmp/plain")
    said = place.adb(serial, "shell", "sha256sum /data/local/tmp/plain")
    took_s = time.perf_counter() - begin_s
    if digest not in said:
        raise RuntimeError(f"adb push came out wrong: {said}")
    return took_s
