"""Evidence: under its digest, whole, durable, and missing only with a word."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from orchestrator.store import evidence as module
from orchestrator.store.evidence import GZIP_FROM_BYTES, EvidenceStore

ROOT = Path(__file__).parents[3]
TEXT = b"times,0.004012,30000000,12,0\n" * 10_000
NOISE = random.Random(1).randbytes(GZIP_FROM_BYTES * 2)


@pytest.fixture
def store(tmp_path: Path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "home")


def files(store: EvidenceStore) -> list[str]:
    return sorted(path.name for path in store.directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("data", [b"", b"short", TEXT, NOISE], ids=["empty", "short", "text", "noise"])
def test_what_is_kept_is_read_again(store: EvidenceStore, tmp_path: Path, data: bytes) -> None:
    digest = hashlib.sha256(data).hexdigest()
    path = tmp_path / "stdout"
    path.write_bytes(data)
    assert store.keep(path) == digest
    assert not path.exists()
    assert store.keep_bytes(data) == digest
    assert store.read(digest) == data
    with store.open(digest) as stream:
        assert stream.read() == data
    assert files(store) == [store.path(digest).name]


def test_larger_text_is_gzipped_under_the_digest_of_its_content(store: EvidenceStore) -> None:
    text, noise = store.keep_bytes(TEXT), store.keep_bytes(NOISE)
    assert store.path(text).name == f"{text}.gz"
    assert store.path(text).stat().st_size < len(TEXT) / 20
    assert store.path(noise) == store.directory / noise[:2] / noise


def test_text_cut_within_a_character_is_still_text(store: EvidenceStore) -> None:
    text = ("a" * 4095 + "°" * GZIP_FROM_BYTES).encode()
    assert store.path(store.keep_bytes(text)).suffix == ".gz"


def test_many_are_kept_at_once_and_the_same_twice_is_one(store: EvidenceStore, tmp_path: Path) -> None:
    for name, data in (("stdout", b"same"), ("stderr", b"same"), ("result.csv", TEXT)):
        (tmp_path / name).write_bytes(data)
    kept = store.keep_many({name: tmp_path / name for name in ("stdout", "stderr", "result.csv")})
    assert list(kept) == ["stdout", "stderr", "result.csv"]
    assert kept["stdout"] == kept["stderr"]
    assert {name: store.read(digest) for name, digest in kept.items()} == {
        "stdout": b"same",
        "stderr": b"same",
        "result.csv": TEXT,
    }
    assert len(files(store)) == 2


def test_every_byte_and_every_name_is_flushed(
    store: EvidenceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        flushed.append(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(module.os, "fsync", fsync)
    for name, data in (("a", b"plain"), ("b", TEXT)):
        (tmp_path / name).write_bytes(data)
    kept = store.keep_many({"a": tmp_path / "a", "b": tmp_path / "b"})
    places = [store.path(digest) for digest in kept.values()]
    wanted = [*places, *(place.parent for place in places), store.directory]
    assert {path.stat().st_ino for path in wanted} <= set(flushed)
    assert flushed.index(places[0].stat().st_ino) < flushed.index(places[0].parent.stat().st_ino)


def test_missing_damaged_and_senseless_are_store_errors(store: EvidenceStore) -> None:
    digest = "ab" * 32
    with pytest.raises(StoreError, match=digest):
        store.read(digest)
    for odd in ("", "../../etc/passwd", "AB" * 32):
        with pytest.raises(StoreError, match="no digest"):
            store.open(odd)
    kept = store.keep_bytes(b"content")
    store.path(kept).write_bytes(b"contemt")
    with pytest.raises(StoreError, match="damaged"):
        store.read(kept)
    zipped = store.keep_bytes(TEXT)
    store.path(zipped).write_bytes(store.path(zipped).read_bytes()[:-20])
    with pytest.raises(StoreError, match="damaged"):
        store.read(zipped)


def test_reading_is_bounded(store: EvidenceStore) -> None:
    digest = store.keep_bytes(TEXT)
    assert store.read(digest, max_bytes=len(TEXT)) == TEXT
    with pytest.raises(StoreError, match="more than"):
        store.read(digest, max_bytes=len(TEXT) - 1)


def test_links_folders_and_giants_are_no_evidence(
    store: EvidenceStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 3)
    (tmp_path / "large").write_bytes(b"four")
    for name, told in (("link", "no plain file"), (".", "no plain file"), ("large", "more than"), ("gone", "No such")):
        with pytest.raises(StoreError, match=told):
            store.keep(tmp_path / name)
    assert files(store) == []
    assert (tmp_path / "link").is_symlink()


def test_a_home_that_takes_nothing_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreError, match="can't be kept"):
        EvidenceStore(tmp_path / "home").keep_bytes(b"x")


def test_threads_may_keep_the_same_at_once(store: EvidenceStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        digests = list(pool.map(store.keep_bytes, [TEXT] * 32))
    assert len(set(digests)) == 1
    assert len(files(store)) == 1
    assert store.read(digests[0]) == TEXT


_KEEP = """
import itertools, pathlib, sys
from orchestrator.store.evidence import EvidenceStore
store = EvidenceStore(pathlib.Path(sys.argv[1]))
for n in itertools.count():
    print(store.keep_bytes(str(n).encode() * (20_000 if n % 2 else 2)), flush=True)
"""


def test_a_killed_keeper_leaves_whole_files_only(store: EvidenceStore) -> None:
    command = [sys.executable, "-c", _KEEP, str(store.directory.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as keeper:
        assert keeper.stdout is not None
        first = keeper.stdout.readline().strip()
        time.sleep(random.SystemRandom().uniform(0.0, 0.2))
        keeper.send_signal(signal.SIGKILL)
        told = [first, *(line.strip() for line in keeper.stdout.readlines())]
    for digest in told:
        assert hashlib.sha256(store.read(digest)).hexdigest() == digest
    for name in files(store):
        if not name.endswith(".part"):
            store.read(name.removesuffix(".gz"))
