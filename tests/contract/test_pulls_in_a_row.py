"""Files larger than a chunk, asked for in a row: each ends where it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.adb.discovery import open_device
from android_runner.adb.server import AdbServer, adb_binary
from android_runner.deadline import Deadline
from android_runner.device import PhonePath, PullItem, PushItem
from android_runner.virtual.lifecycle import down, ensure_server, up

FOLDER = PhonePath("/data/local/tmp/row")


@pytest.mark.parametrize("size_bytes", [1_000, 65_536, 100_000, 700_000])
def test_pulled_files_are_whole(tmp_path: Path, size_bytes: int) -> None:
    (phone,) = up(tmp_path, [("pixel-8", 1)], adb_binary())
    try:
        server = AdbServer(port=ensure_server(tmp_path, adb_binary()).port)
        device = open_device(server, str(phone.serial), Deadline.after(10))
        contents = [bytes([65 + k]) * (size_bytes + k) for k in range(5)]
        device.push([PushItem(data, FOLDER / f"f{k}") for k, data in enumerate(contents)], deadline=Deadline.after(20))
        items = [PullItem(FOLDER / f"f{k}", tmp_path / f"f{k}", 10**7) for k in range(5)]
        assert device.pull(items, deadline=Deadline.after(10)) == [True] * 5
        assert [item.target.read_bytes() for item in items] == contents
    finally:
        down(tmp_path)
