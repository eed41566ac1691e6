"""On what kind of file system a folder lies: a ledger's locks and shared memory need a disk of this computer."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_REMOTE = frozenset(
    (
        *("9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs", "gfs2", "glusterfs", "gpfs", "lustre"),
        *("ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb2", "smb3", "smbfs", "virtiofs"),
        *("fuse.ceph", "fuse.cephfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs", "fuse.mfs", "fuse.rclone"),
        *("fuse.s3fs", "fuse.sshfs"),
    )
)


def remote_file_system(folder: Path, mounts: Path = _MOUNTS) -> str:
    """The network file system that an existing folder lies on; empty when it is none, or nobody can tell."""
    try:
        text = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    kind = kind_of(os.path.realpath(folder), text)
    return kind if kind in _REMOTE else ""


def kind_of(path: str, mountinfo: str) -> str:
    """Pure: the kind of the file system at an absolute path, by `/proc/PID/mountinfo` (proc(5)); "" when none fits.

    The mount whose point is the longest that leads to the path counts, of several there the last.
    """
    best, kind = "", ""
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        fields = left.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind
