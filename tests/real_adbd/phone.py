"""Makes an unpacked root a phone, and runs its `adbd`: pid 1 of namespaces of its own, which ends with it.

`python -m tests.real_adbd.phone ROOT PORT`, in the namespaces that `tests.real_adbd` makes. `/system/bin` holds mksh
as `sh` and toybox's commands, nothing else; `/data` is a RAM disk, `/sys` this machine's, read-only. The daemon and its
shells are uid 2000, without a capability. Debian's build asks nobody for a key: its network must be a private one.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.real_adbd.fetch import DAEMON

SHELL_UID = 2000
ENVIRONMENT = {
    "PATH": "/system/bin",
    "HOME": "/",
    "SHELL": "/system/bin/sh",
    "TMPDIR": "/data/local/tmp",
    "ANDROID_DATA": "/data",
}
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_FOLDERS = ("data", "dev/pts", "proc", "sys", "system/bin", "tmp")
_LINKS = {"bin": "system/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_DATA_SIZE = "768m"
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4


def dress(root: Path) -> None:
    """Give an unpacked root a phone's folders and commands; what is there already stays."""
    for name in (*_FOLDERS, "dev"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, target in _LINKS.items():
        _link(root / name, target)
    for name in _DEVICES:
        (root / "dev" / name).touch()
    _link(root / "dev/ptmx", "pts/ptmx")
    _link(root / "dev/fd", "/proc/self/fd")
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\nshell:x:2000:2000::/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nshell:x:2000:\n")
    for name in ("sh", "mksh"):
        _link(root / "system/bin" / name, "../../usr/bin/mksh")
    for name in ("toybox", *_applets(root)):
        _link(root / "system/bin" / name, "../../usr/bin/toybox")


def _applets(root: Path) -> list[str]:
    """What this toybox can do, asked with the root's own libraries."""
    (loader,) = list((root / "usr/lib64").glob("ld-linux*")) or list((root / "usr/lib").glob("ld-linux*"))
    (libraries,) = {path.parent for path in (root / "usr/lib").glob("*/libc.so.6")}
    command = [loader, "--library-path", libraries, root / "usr/bin/toybox"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def _link(path: Path, target: str) -> None:
    if not path.is_symlink():
        path.symlink_to(target)


def mount(root: Path) -> None:
    """Lay over the root what a phone has and a package has not; only these namespaces see it."""
    _mount("--bind", str(root), str(root))
    os.chdir(root)  # into the new mount
    _mount("-t", "tmpfs", "-o", f"size={_DATA_SIZE},mode=0751", "data", str(root / "data"))
    (root / "data/local/tmp").mkdir(parents=True)
    _mount("-t", "proc", "proc", str(root / "proc"))
    _mount("--rbind", "/sys", str(root / "sys"))
    for name in _DEVICES:
        _mount("--bind", f"/dev/{name}", str(root / "dev" / name))
    _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=0620", "devpts", str(root / "dev/pts"))
    for name in ("sys", "."):
        _mount("-o", "remount,bind,ro", str(root / name))


def _mount(*words: str) -> None:
    subprocess.run([shutil.which("mount") or "/bin/mount", *words], check=True, stdin=subprocess.DEVNULL)


def become_shell_user(root: Path, libc: ctypes.CDLL) -> None:
    """Enter the root as uid 2000 without any capability, for good."""
    if os.getuid() == 0:
        os.chown(root / "data/local/tmp", SHELL_UID, SHELL_UID)
        os.chown(root / "data/local", SHELL_UID, SHELL_UID)
    os.chroot(root)
    os.chdir("/")
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(SHELL_UID, SHELL_UID, SHELL_UID)
        os.setresuid(SHELL_UID, SHELL_UID, SHELL_UID)
    for option, first in ((_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL), (_PR_SET_NO_NEW_PRIVS, 1)):
        if libc.prctl(option, first, 0, 0, 0):
            raise OSError(ctypes.get_errno(), f"prctl {option}")


def main() -> int:
    """Run the daemon; collect orphans as any init does, until the daemon ends. Returns its exit code."""
    root, port = Path(sys.argv[1]), int(sys.argv[2])
    libc = ctypes.CDLL(None, use_errno=True)
    mount(root)
    daemon = os.fork()
    if daemon == 0:
        try:
            become_shell_user(root, libc)
            os.execve(f"/{DAEMON}", ["adbd"], {**ENVIRONMENT, "ADBD_PORT": str(port)})
        finally:
            os._exit(127)
    while True:
        pid, status = os.wait()
        if pid == daemon:
            return os.waitstatus_to_exitcode(status) & 255


if __name__ == "__main__":
    sys.exit(main())
