"""A home whose ledger is a PostgreSQL database: the same runs, moved or made there, also over a restart of it."""

from __future__ import annotations

import json
import socket
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from orchestrator.app.standing import FRESH_S, refuse_driven_elsewhere, standing_of
from orchestrator.errors import StoreError, UsageError
from orchestrator.home import Home
from orchestrator.store.database import Database
from orchestrator.store.ledger import Ledger
from orchestrator.store.records import RunState
from tests.orch_cli import Orch, cpu_plan
from tests.postgres_server import PostgresServer, use
from tests.unit.store import sample_run

pytestmark = pytest.mark.xdist_group("postgresql")


def test_a_run_moves_to_postgresql_and_the_next_is_made_there(
    orch: Orch, postgres: PostgresServer, mnist: Path
) -> None:
    plan = cpu_plan(orch.home.parent)
    words = ("run", plan, mnist, "--device", "virtual", "--seconds", "0.05", "--rounds", "1", "--yes")
    assert orch(*words).code == 0
    before = json.loads(orch("report", "@last", "--format", "json").out)
    url = postgres.fresh()
    (orch.home / "lab.toml").write_text("[recovery]\nwait_seconds = 30\n[lab]  # ours\npush_per_hub = 3\n")
    ended = orch("disk", "ledger", url)
    assert ended.code == 0, ended
    assert ended.out.startswith("1 runs, ")
    assert not (orch.home / "ledger.sqlite").exists()
    assert (orch.home / "ledger.sqlite.moved").is_file()
    assert f'[lab]  # ours\nledger = "{url}"\npush_per_hub = 3' in (orch.home / "lab.toml").read_text()
    assert json.loads(orch("report", "@last", "--format", "json").out) == before
    ended = orch(*words)
    assert ended.code == 0, ended
    assert not (orch.home / "ledger.sqlite").exists()
    assert len(json.loads(orch("runs", "--json").out)) == 2
    again = orch("disk", "ledger", postgres.fresh())
    assert again.code == 2
    assert "already" in again.err


def test_a_restart_of_the_server_is_waited_for(tmp_path: Path, postgres: PostgresServer) -> None:
    use(tmp_path, postgres.fresh())
    ledger = Ledger.open(tmp_path)
    assert ledger.next_epoch("P") == 1
    postgres.stop()
    back = threading.Timer(1.0, postgres.start)
    back.start()
    assert ledger.next_epoch("P") == 2
    back.join()
    ledger.close()


def test_writers_of_several_processes_take_turns(tmp_path: Path, postgres: PostgresServer) -> None:
    """Two openings of one database stand for two hosts: who reads and writes in one transaction is alone."""
    use(tmp_path, postgres.fresh())
    ledgers = [Ledger.open(tmp_path) for _ in range(4)]
    seen: list[int] = []

    def count(ledger: Ledger) -> None:
        for _ in range(10):
            seen.append(ledger.next_epoch("P"))

    threads = [threading.Thread(target=count, args=(one,)) for one in ledgers]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(seen) == list(range(1, 41))
    for one in ledgers:
        one.close()


def test_a_reader_sees_one_moment_and_can_not_write(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.fresh()
    use(tmp_path, url)
    ledger = Ledger.open(tmp_path)
    database = Database(url)
    with database.reading() as view:
        assert view.exec_driver_sql("SELECT count(*) FROM phone_epoch").scalar() == 0
        ledger.next_epoch("P")
        assert view.exec_driver_sql("SELECT count(*) FROM phone_epoch").scalar() == 0
        with pytest.raises(DBAPIError, match="read-only"):
            view.exec_driver_sql("DELETE FROM phone_epoch")
    database.close()
    ledger.close()


def test_what_can_not_be_a_ledger_is_said_with_its_mend(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match=r"rules of a language.*createdb .*--locale=C.UTF-8"):
        Database.open(postgres.fresh("--locale-provider=icu", "--icu-locale=en-US"))
    with pytest.raises(StoreError, match=r"does not exist.*createdb"):
        Database.open(f"postgresql://orch@127.0.0.1:{postgres.port}/nobodys")
    with pytest.raises(StoreError, match="is the server up"):  # one that never was there is not waited for
        Database.open("postgresql://orch@127.0.0.1:1/orch")


@pytest.mark.parametrize("url", ["postgresql://me:secret@db/orch", "mysql://db/orch", "postgresql://db", "x y"])
def test_a_url_with_a_password_or_of_another_database_is_refused(tmp_path: Path, url: str) -> None:
    use(tmp_path, url)
    with pytest.raises(UsageError, match=r"ledger.*password"):
        Ledger.open(Home(tmp_path).root)


def test_a_run_of_another_host_is_on_it_while_it_writes(tmp_path: Path, postgres: PostgresServer) -> None:
    """The hosts of a lab share a ledger; a claim is seen on its own host alone."""
    use(tmp_path, postgres.fresh())
    home = Home(tmp_path)
    ledger = Ledger.open(home.root)
    ledger.add_run(sample_run.contents())
    ledger.set_run_state(sample_run.RUN, RunState.RUNNING, host="farm-b")
    one = standing_of(home, "7k2f")
    assert (one.elsewhere, one.cut_off, one.needs_eyes, one.living) == ("farm-b", False, True, None)
    assert (one.row().state, one.row().mend) == ("on farm-b", "")
    with pytest.raises(UsageError, match=f"{sample_run.RUN}: farm-b drives it .orch cancel .* there"):
        refuse_driven_elsewhere(home, sample_run.RUN)
    long_ago = datetime.now(UTC) - timedelta(seconds=FRESH_S + 1)
    ledger.set_run_state(sample_run.RUN, RunState.RUNNING, long_ago, host="farm-b")
    assert standing_of(home, "7k2f").cut_off
    refuse_driven_elsewhere(home, sample_run.RUN)
    ledger.set_run_state(sample_run.RUN, RunState.RUNNING, host=socket.gethostname())
    assert standing_of(home, "7k2f").cut_off, "here nobody holds its claim"
    ledger.set_run_state(sample_run.RUN, RunState.INTERRUPTED)
    assert standing_of(home, "7k2f").elsewhere == ""
    ledger.close()
