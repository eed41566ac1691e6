"""The home: on a disk of this computer, and open to the group that it belongs to."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.home import LEDGER_FILE, home_at
from orchestrator.mounts import kind_of, remote_file_system
from orchestrator.store.ledger import Ledger
from orchestrator.variants.whole_files import write_whole

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:33 / /srv/lab rw shared:1 - nfs4 server:/lab rw,vers=4.2
41 27 0:34 / /srv/lab/fast rw - xfs /dev/sdb1 rw
42 27 0:35 / /mnt/my\040disk rw - fuse.sshfs me@there:/ rw
43 27 0:36 / /home rw - ext4 /dev/sdc1 rw
44 27 0:37 / /home rw - cifs //there/home rw
nonsense
"""


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/tmp/x", "ext4"), ("/srv/lab", "nfs4"), ("/srv/lab/runs", "nfs4"), ("/srv/lab/fast/runs", "xfs"),
        ("/srv/labor", "ext4"), ("/mnt/my disk/runs", "fuse.sshfs"), ("/home/nina", "cifs"),
    ],
)  # fmt: skip
def test_the_longest_and_last_mount_counts(path: str, kind: str) -> None:
    assert kind_of(path, MOUNTS) == kind
    assert kind_of(path, "") == ""


def test_a_network_file_system_is_named(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    real = os.path.realpath(tmp_path)
    mounts.write_text(f"27 1 254:0 / / rw - ext4 /dev/vda rw\n40 27 0:33 / {real} rw - nfs4 server:/lab rw\n")
    assert remote_file_system(tmp_path, mounts) == "nfs4"
    assert remote_file_system(Path("/"), mounts) == ""
    assert remote_file_system(tmp_path, tmp_path / "not there") == ""


def test_a_home_on_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.home.remote_file_system", lambda _: "nfs4")
    with pytest.raises(UsageError, match=r"network file system \(nfs4\)"):
        home_at(str(tmp_path))


@pytest.mark.usefixtures("umask")
def test_a_home_of_a_group_stays_open_to_it(tmp_path: Path) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    for folder, mode in ((own, 0o755), (shared, 0o775)):
        folder.mkdir()
        folder.chmod(mode)
        Ledger.open(home_at(str(folder)).root).close()
        write_whole(folder / "shelf" / "entry.json", "{}")

    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert [mode(own / name) for name in (LEDGER_FILE, "shelf", "shelf/entry.json")] == [0o644, 0o755, 0o644]
    assert mode(shared) == 0o2775
    assert [mode(shared / name) for name in (LEDGER_FILE, "shelf", "shelf/entry.json")] == [0o664, 0o2775, 0o664]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have a home of another user")
def test_a_home_whose_new_files_would_not_be_the_groups_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    os.chown(tmp_path, 64_001, 64_100)
    with pytest.raises(UsageError, match=r"chmod g\+s"):
        home_at(str(tmp_path))
