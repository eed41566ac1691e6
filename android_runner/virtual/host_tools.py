"""What this host has for a phone's userland: mksh and toybox where there are any, else its own tools."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from android_runner.virtual.platform_file import Preparing, find_preparing

_ANDROID_TOOLS = """
[ base64 basename cal cat chgrp chmod chown cksum clear cmp comm cp cpio cut date dd df diff dirname dmesg du echo egrep
env expand expr fallocate false fgrep file find flock free getconf grep groups gunzip gzip head hostname id ifconfig
ionice kill killall ln ls lsof md5sum mkdir mkfifo mknod mktemp more mv nc netstat nice nl nohup nproc od paste patch
pgrep pidof pkill printenv printf ps pwd readlink realpath renice rev rm rmdir sed seq setsid sha1sum sha224sum
sha256sum sha384sum sha512sum sleep sort split stat strings stty sync tac tail tar taskset tee test time timeout top
touch tr true truncate tty uname uniq unlink uptime usleep vmstat wc which whoami xargs xxd yes zcat
"""
"""Commands of Android 8 and later that a shell user can call; from AOSP's shell_and_utilities/README.md."""

_AWK_SINCE_API = 28


@dataclass(frozen=True, slots=True)
class HostTools:
    """Absolute paths on the host; `toybox` is empty where there is none. `applets` are toybox's commands."""

    shell: str
    toybox: str
    applets: frozenset[str]
    preparing: Preparing | None = None
    """How a model is prepared for NNAPI here; None where this host can't."""

    @property
    def shell_name(self) -> str:
        """What `orch devices` shows: `mksh+toybox`, `mksh`, `sh+toybox` or `sh`."""
        name = "mksh" if self.shell.endswith("/mksh") else "sh"
        return f"{name}+toybox" if self.toybox else name

    def path_of(self, tool: str) -> str | None:
        """Where a tool's program lies on this host; None when the host has none either."""
        if self.toybox and tool in self.applets:
            return self.toybox
        return system_tool(tool)


def find_host_tools() -> HostTools:
    """Look at this host once."""
    toybox = system_tool("toybox") or ""
    applets: frozenset[str] = frozenset()
    if toybox:
        listed = subprocess.run([toybox], capture_output=True, text=True, check=False, timeout=10)
        applets = frozenset(listed.stdout.split())
    return HostTools(system_tool("mksh") or "/bin/sh", toybox, applets, find_preparing())


def system_tool(name: str) -> str | None:
    """A program of the operating system itself: a confined phone sees `/usr` and `/bin`, not a user's PATH."""
    return shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")


def android_tools(api_level: int) -> tuple[str, ...]:
    """The commands that a phone of that API level has in `/system/bin`."""
    tools = tuple(_ANDROID_TOOLS.split())
    return (*tools, "awk") if api_level >= _AWK_SINCE_API else tools


def exec_abi() -> str:
    """What a virtual phone can execute, such as `linux-x86_64`."""
    return f"{platform.system().lower()}-{platform.machine()}"


def library_folders() -> list[Path]:
    """Host folders beyond `/usr` that programs pushed to a confined phone need: `/lib*`, `/bin`, our interpreter."""
    top = [Path("/") / name for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32")]
    found = [path for path in top if path.is_dir()]
    base = Path(os.path.realpath(sys.base_prefix))
    if base != Path("/") and not base.is_relative_to("/usr"):
        found.append(base)
    return found
