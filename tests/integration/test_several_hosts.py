"""A lab of two computers: the second one's adb server stands behind a port of this one, as a tunnel would have it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from android_runner.virtual import lifecycle
from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from android_runner.virtual.spec import Wanted
from orchestrator.store.ledger import Ledger
from tests.orch_cli import Orch, cpu_plan, wait_for_line
from tests.tunnel import Tunnel
from tests.virtual_lab import VirtualLab, adb_path

FIRST, SECOND = "virtual-pixel-8-1", "virtual-pixel-8-2"


@pytest.fixture
def other(tmp_path: Path) -> Iterator[VirtualLab]:
    """The other computer: a home and an adb server of its own, and one phone."""
    with VirtualLab(tmp_path / "other" / "home") as made:
        lifecycle.up_named(made.home, [(SECOND, Wanted(profile="pixel-8"))], adb_path(), idle_exit_s=120)
        yield made


def hosts(orch: Orch, **ports: int) -> None:
    """Write the lab's file with these hosts."""
    lines = [f'[hosts.{name}]\nadb = "127.0.0.1:{port}"' for name, port in ports.items()]
    orch.home.mkdir(exist_ok=True)
    (orch.home / "lab.toml").write_text("\n".join(lines))


def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_one_run_over_the_phones_of_two_hosts(orch: Orch, other: VirtualLab, mnist: Path, tmp_path: Path) -> None:
    assert orch("virtual", "up", "pixel-8").code == 0
    own = lifecycle.running_server(orch.home)
    assert own is not None
    hosts(orch, b=other.server_port, again=own)
    listed = orch("devices")
    assert listed.code == 0, listed
    assert max(map(len, listed.out.splitlines())) <= 80
    assert listed.out.split()[0] == "host"
    assert "2 phones, 2 usable" in listed.out, "one that two servers list counts once"
    rows = json.loads(orch("devices", "--json").out)
    assert {row["phone"]: row["host"] for row in rows} == {FIRST: "again", SECOND: "b"}

    hosts(orch, b=other.server_port)
    rows = json.loads(orch("devices", "--json").out)
    assert {row["phone"]: row["host"] for row in rows} == {FIRST: "", SECOND: "b"}
    sleeping = sleeping_perf_test(tmp_path, 0.1)
    words = ("run", mnist, cpu_plan(tmp_path), "--perf-test", sleeping, "--rounds", "2", "--iterations", "3")
    ran = orch(*words, "--device", FIRST, "--device", SECOND)
    assert ran.code == 0, ran
    of_two = asked_and_answered(orch)

    hosts(orch)
    (orch.home / "ledger.sqlite").rename(orch.home / "ledger.before")
    other.down()
    assert orch("virtual", "up", "pixel-8x2").code == 0
    ran = orch(*words, "--device", FIRST, "--device", SECOND)
    assert ran.code == 0, ran
    assert asked_and_answered(orch) == of_two


def test_a_tunnel_that_falls_costs_only_waiting(orch: Orch, other: VirtualLab, mnist: Path, tmp_path: Path) -> None:
    with Tunnel(other.server_port) as tunnel:
        hosts(orch, b=tunnel.port)
        few = ("--rounds", "3", "--iterations", "3", "--perf-test", sleeping_perf_test(tmp_path, 0.3))
        process = orch.start("run", mnist, cpu_plan(tmp_path), "--device", SECOND, *few)
        wait_for_line(process, "run ")
        time.sleep(1.5)
        tunnel.fall()
        time.sleep(2)
        tunnel.rise()
        out, err = process.communicate(timeout=150)
    assert process.returncode == 0, f"{out}\n{err}"
    assert {state for *_, state in asked_and_answered(orch)} == {"measured"}
    assert "host b: adb server on port" in err


def asked_and_answered(orch: Orch) -> list[tuple[str, ...]]:
    """The newest run without figures: what was asked of whom, and how it ended."""
    ledger = Ledger.open(orch.home)
    run_id = ledger.find_run("@last")
    rows = [
        (row.trial.phone, row.trial.case_id, str(row.trial.purpose), str(row.trial.round), str(row.state))
        for row in ledger.trials(run_id)
    ]
    ledger.close()
    return sorted(rows)


def test_a_host_that_does_not_answer_is_named_and_the_rest_goes_on(orch: Orch, mnist: Path, tmp_path: Path) -> None:
    assert orch("virtual", "up", "pixel-8").code == 0
    port = unused_port()
    hosts(orch, c=port)
    said = f"host c: adb server on port {port}: nobody answers; is its tunnel up? ssh -N -L 127.0.0.1:{port}:"
    listed = orch("devices")
    assert listed.code == 3, listed
    assert said in listed.err
    assert FIRST in listed.out
    few = ("--rounds", "1", "--iterations", "3", "--perf-test", sleeping_perf_test(tmp_path, 0.05))
    ran = orch("run", mnist, cpu_plan(tmp_path), "--device", FIRST, *few)
    assert ran.code == 0, ran
    assert said in ran.err
    found = {one["check"]: one for one in json.loads(orch("doctor", "--json").out)["findings"]}
    assert (found["lab-host"]["level"], found["lab-host"]["about"]) == ("warn", "c")


@pytest.mark.parametrize(
    "address", ["10.0.0.7:5037", "0.0.0.0:5037", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "b.lab:5038"]
)
def test_an_address_beyond_the_loopback_is_refused_with_the_tunnel_to_make(orch: Orch, address: str) -> None:
    orch.home.mkdir()
    (orch.home / "lab.toml").write_text(f'[hosts.b]\nadb = "{address}"\n')
    refused = orch("devices")
    assert refused.code == 2, refused
    assert "lab.toml: hosts.b.adb: " in refused.err
    assert "ssh -N -L 127.0.0.1:5038:127.0.0.1:5037 b" in refused.err
