"""What `orch disk clean` takes and what it leaves; the bound over two hundred nights."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.app.clean_plan import AskedCleaning
from orchestrator.app.cleaning import clean, keep_bound
from orchestrator.app.disk_use import disk_use
from orchestrator.app.standing import drive
from orchestrator.errors import UsageError
from orchestrator.farm.lock import PhoneLock
from orchestrator.home import Home
from orchestrator.store.evidence import EvidenceStore
from orchestrator.store.kept_numbers import Number, Use
from orchestrator.store.ledger import Ledger
from tests.unit.app.nights_of_a_home import PHONE, add_night, age, moment_of, run_of, variant_of

BOUND_BYTES = 12_000_000
NIGHTS = 200
COMPARED = 20
"""A night, one number of which is compared on the morning after."""


def there(home: Home, digests: object) -> list[bool]:
    store = EvidenceStore(home.root)
    return [bool(store.size_bytes(one)) for one in digests]  # type: ignore[attr-defined]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """In memory where there is such a place: two hundred nights are written durably, file by file."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield Home(tmp_path / "home")
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="orch-disk-") as folder:
        yield Home(Path(folder) / "home")


def test_the_bound_holds_over_two_hundred_nights_and_what_was_compared_is_still_there(home: Home) -> None:
    raw: dict[int, dict[str, str]] = {}
    cleaned_at = []
    ledger = Ledger.open(home.root)
    for night in range(NIGHTS):
        raw[night] = add_night(home, ledger, night)
        if night == COMPARED:
            first = next(iter(raw[night]))
            ledger.kept.keep([Number(run_of(night), PHONE, first)], Use.COMPARED, "compare", moment_of(night))
        done = clean(home, ledger, AskedCleaning(bound_bytes=BOUND_BYTES), now=moment_of(night) + timedelta(hours=5))
        assert done.holds, f"night {night}: {done}"
        assert not done.problems
        if done.runs:
            cleaned_at.append(night)
    assert cleaned_at[0] > COMPARED, "the bound has to be reached after something was compared"
    assert len(cleaned_at) > NIGHTS // 20
    use = disk_use(home, ledger)
    assert use.size_bytes <= BOUND_BYTES
    assert len(ledger.runs()) == NIGHTS, "rows stay"
    assert len(ledger.attempts(run_of(0))) == 2
    ledger.close()
    assert there(home, raw[0].values()) == [False, False]
    assert there(home, raw[COMPARED].values()) == [True, False]
    assert (home.shelf / "variants" / variant_of(COMPARED)).is_dir(), "a replay needs it"
    assert home.run_folder(run_of(COMPARED)).is_dir()
    assert not home.run_folder(run_of(0)).exists()
    assert not (home.shelf / "variants" / variant_of(0)).exists()
    assert there(home, raw[NIGHTS - 1].values()) == [True, True]


def three_nights(home: Home) -> tuple[Ledger, list[dict[str, str]]]:
    ledger = Ledger.open(home.root)
    return ledger, [add_night(home, ledger, night, shared=b"the same warning") for night in range(3)]


def old(days: float, **more: bool) -> AskedCleaning:
    return AskedCleaning(older=timedelta(days=days), **more)  # type: ignore[arg-type]


def test_old_runs_lose_their_raw_files_and_what_younger_ones_share_stays(home: Home) -> None:
    ledger, raw = three_nights(home)
    store, now = EvidenceStore(home.root), moment_of(3)
    (shared,) = {one.evidence["stderr"] for one in ledger.attempts(run_of(0))}
    would = clean(home, ledger, old(1.5, dry_run=True), now=now)
    assert [run.run_id for run in would.runs] == [run_of(0), run_of(1)]
    assert there(home, raw[0].values()) == [True, True], "a dry run removes nothing"
    done = clean(home, ledger, old(1.5), now=now)
    assert (done.evidence_bytes, done.reports_bytes, done.shelf_bytes) == (
        would.evidence_bytes, would.reports_bytes, would.shelf_bytes
    )  # fmt: skip
    assert done.evidence_files == 4
    assert [there(home, one.values()) for one in raw] == [[False, False], [False, False], [True, True]]
    assert store.read(shared) == b"the same warning"
    again = clean(home, ledger, old(1.5), now=now)
    assert (again.runs, again.freed_bytes) == ((), 0)
    last = clean(home, ledger, old(0), now=now)
    assert last.evidence_files == 3, "the last one that named it has left"
    ledger.close()


def test_kept_numbers_stay_without_force_and_go_with_it(home: Home) -> None:
    ledger, raw = three_nights(home)
    first, now = next(iter(raw[0])), moment_of(9)
    ledger.kept.keep([Number(run_of(0), PHONE, first)], Use.GATED, "compare 0 1 --fail-if p50:5%", now)
    ledger.kept.keep([Number(run_of(1))], Use.EXPORTED, "export", now)
    left_alone = clean(home, ledger, old(1, keep_compared=True, dry_run=True), now=now)
    assert [one.run_id for one in left_alone.spared] == [run_of(0), run_of(1)]
    done = clean(home, ledger, old(1), now=now)
    assert [(run.run_id, run.numbers, run.kept) for run in done.runs] == [(run_of(0), 1, 1), (run_of(2), 2, 0)]
    assert [there(home, one.values()) for one in raw] == [[True, False], [True, True], [False, False]]
    forced = clean(home, ledger, old(1, force=True), now=now)
    assert [run.run_id for run in forced.runs] == [run_of(0), run_of(1)]
    assert [there(home, one.values()) for one in raw] == [[False, False], [False, False], [False, False]]
    ledger.close()


def test_a_run_that_goes_on_and_a_file_that_was_kept_again_are_left_alone(home: Home) -> None:
    ledger, raw = three_nights(home)
    lock = drive(home, run_of(0))
    first, second = raw[1].values()
    EvidenceStore(home.root).keep_bytes(EvidenceStore(home.root).read(first))  # for an attempt that is not written yet
    done = clean(home, ledger, old(1), now=moment_of(9))
    assert [(one.run_id, one.why) for one in done.spared] == [(run_of(0), "it runs")]
    lock.release()
    assert there(home, raw[0].values()) == [True, True]
    assert there(home, (first, second)) == [True, False]
    assert [words for words in done.problems if "next time" in words]
    age(EvidenceStore(home.root).path(first), moment_of(1))
    clean(home, ledger, old(1), now=moment_of(9))
    assert there(home, (first, second)) == [False, False], "it is not forgotten"
    ledger.close()


def test_a_cleaning_that_was_cut_off_is_finished_by_the_next_one(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, raw = three_nights(home)

    def cut_off(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(EvidenceStore, "remove", cut_off)
        with pytest.raises(KeyboardInterrupt):
            clean(home, ledger, old(1), now=moment_of(9))
    assert ledger.cleanings.of_run(run_of(0)), "it is written down before the first file goes"
    assert len(clean(home, ledger, old(1), now=moment_of(9)).runs) == 3
    assert [there(home, one.values()) for one in raw] == [[False, False]] * 3
    ledger.close()


def test_a_run_whose_raw_files_lie_in_another_home_is_not_called_cleaned(home: Home) -> None:
    ledger, _ = three_nights(home)
    (home.root / "evidence").rename(home.root.parent / "elsewhere")
    mine = add_night(home, ledger, 3, shared=b"the same warning")
    done = clean(home, ledger, old(1), now=moment_of(9))
    assert [run.run_id for run in done.runs] == [run_of(3)]
    assert {one.why for one in done.spared} == {"its raw files are not in this home"}
    assert not ledger.cleanings.of_run(run_of(0))
    assert there(home, mine.values()) == [False, False]
    ledger.close()


def test_what_no_row_names_is_left_over_after_a_day(home: Home) -> None:
    ledger, raw = three_nights(home)
    store = EvidenceStore(home.root)
    young, of_nobody = store.keep_bytes(b"its attempt is being written"), store.keep_bytes(b"its process died")
    age(store.path(of_nobody), moment_of(0))
    would = clean(home, ledger, old(99, dry_run=True), now=moment_of(3))
    assert would.left_over_bytes > 0
    assert there(home, (young, of_nobody)) == [True, True]
    assert clean(home, ledger, old(99), now=moment_of(3)).left_over_bytes == would.left_over_bytes
    assert there(home, (young, of_nobody)) == [True, False]
    assert [there(home, one.values()) for one in raw] == [[True, True]] * 3
    ledger.close()


def test_who_cleans_is_alone(home: Home) -> None:
    ledger, _ = three_nights(home)
    lock = PhoneLock("disk", home.claims)
    assert lock.take("clean") is None
    with pytest.raises(UsageError, match="cleans it"):
        clean(home, ledger, old(1), now=moment_of(9))
    lock.release()
    ledger.close()


def test_a_bound_that_cannot_hold_says_so_and_spares_what_is_young(home: Home) -> None:
    ledger, raw = three_nights(home)
    ledger.close()
    done = keep_bound(home, 1000, now=moment_of(2) + timedelta(hours=1))
    assert not done.holds
    assert [there(home, one.values()) for one in raw] == [[False, False], [False, False], [True, True]]


def test_an_attempt_after_a_cleaning_keeps_its_files(home: Home) -> None:
    ledger, raw = three_nights(home)
    now = moment_of(4)
    clean(home, ledger, old(1), now=now)
    first = ledger.attempts(run_of(0))[0]
    store = EvidenceStore(home.root)
    new = store.keep_bytes(b"after the run was resumed")
    age(store.path(new), now)

    later = replace(first, attempt_id="later", number=0, recorded_at=now + timedelta(hours=1), evidence={"stdout": new})
    ledger.record_attempts([later])
    add_night(home, ledger, 5)
    clean(home, ledger, old(1), now=moment_of(9))
    assert store.read(new) == b"after the run was resumed"
    assert there(home, raw[0].values()) == [False, False]
    ledger.close()
