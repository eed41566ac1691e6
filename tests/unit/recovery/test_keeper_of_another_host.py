"""The server of another host: looked for while its tunnel is down, told once, never taken for ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.adb.server import AdbServer
from android_runner.errors import LinkLost
from android_runner.recovery.keeper import Keeper, ServerEvent, ServerNews


def test_a_tunnel_that_is_down_is_told_once(tmp_path: Path) -> None:
    server = AdbServer(port=9, of="b")

    def revive() -> AdbServer:
        raise LinkLost(f"{server.words}: nobody answers")

    events: list[ServerEvent] = []
    keeper = Keeper(server, revive, root=tmp_path)
    keeper.watch([], events.append)
    for _ in range(3):
        with pytest.raises(LinkLost, match="host b: adb server on port"):
            keeper.look_after()
    assert [one.news for one in events] == [ServerNews.LOST]
    assert not keeper.own()
    assert not keeper.to_blame(silent=True)
