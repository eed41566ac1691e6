"""Writes a phone's root folder: what its profile says, the tools it has, and mount points for what the host lends."""

from __future__ import annotations

import importlib.resources
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from android_runner.profile import DeviceProfile
from android_runner.virtual.heat.sysfs import LOADAVG
from android_runner.virtual.host_tools import HostTools, android_tools, library_folders
from android_runner.virtual.identity import (
    BOOT_ID,
    FACTORY_SETTINGS,
    Standing,
    properties,
    state_files,
    state_links,
)
from android_runner.virtual.platform_file import PLATFORM_FILE, platform_text
from android_runner.virtual.slots import write_launcher

PROPERTY_DIR = "dev/__properties__"
REBOOT_REQUEST = "dev/orch/reboot"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
OVERLAYS = ("proc/cpuinfo", "proc/meminfo", BOOT_ID)
"""What a confined phone shows in place of its own kernel's file; the sources lie in `boot/` beside the root."""

_SCRIPTS = ("getprop", "setprop", "dumpsys", "settings", "cmd", "input", "log", "logcat", "reboot", "getenforce")
_FOLDERS = (
    "data/local/tmp", "data/system", "storage/emulated/0", "system/bin", "system/xbin", "vendor/bin", "dev/orch",
    "data/vendor/nnapi-cache", "vendor/etc", PROPERTY_DIR, "proc/sys/kernel/random", "sys", "etc", "usr", "tmp", ".old",
    "mnt/orch-slots",
)  # fmt: skip
CPUFREQ = "sys/devices/system/cpu/cpufreq"
_FOR_ROOT = ("scaling_min_freq", "scaling_max_freq", "scaling_governor")
"""What root may write there, and the shell user may not."""
_PASSED_PROC = ("uptime", "loadavg", "stat", "version", "self", "mounts", "filesystems")


class RootTree:
    """One phone's folder `phones/<serialno>/`: `root/` is the phone's `/`, `boot/` what is laid over it."""

    def __init__(self, phone_dir: Path, profile: DeviceProfile, tools: HostTools, *, hot: bool = False) -> None:
        self.phone_dir = phone_dir
        self.root = phone_dir / "root"
        self._profile = profile
        self._tools = tools
        self._hot = hot
        self.overlays = (*OVERLAYS, LOADAVG) if hot else OVERLAYS

    def build(self, standing: Standing, slots_dir: Path) -> None:
        """Write everything that does not change with a boot; what the user has put under `/data` stays."""
        confined = standing.confinement == "namespace"
        for closed in ("data", "data/local"):
            if (self.root / closed).is_dir():  # as an earlier build has left it
                (self.root / closed).chmod(0o751)
        for name in _FOLDERS:
            (self.root / name).mkdir(parents=True, exist_ok=True)
        for space, content in FACTORY_SETTINGS.items():
            _settings(self.root / "data/system/settings" / space, content)
        _link(self.root / "sdcard", "/storage/emulated/0")
        self._build_tools(confined=confined)
        write_launcher(self.root, "/mnt/orch-slots" if confined else str(slots_dir))
        self._build_properties(properties(self._profile, standing))
        (self.root / "data/system/log").touch()
        self._build_etc()
        _write(
            self.root / PLATFORM_FILE,
            platform_text(self._profile, self._tools.preparing, confined=confined, hot=self._hot),
        )
        if confined:
            self._build_mount_points()
        else:
            for name in _PASSED_PROC:
                if f"proc/{name}" not in self.overlays:
                    _link(self.root / "proc" / name, f"/proc/{name}")
        self.root.joinpath("data").chmod(0o551)
        self.root.joinpath("data/local").chmod(0o551)

    def boot(self, boot_id: str) -> None:
        """Write what a boot sets: clocks, battery and heat as the profile has them, a new boot id."""
        (self.root / REBOOT_REQUEST).unlink(missing_ok=True)
        clocks = [path for name in _FOR_ROOT for path in (self.root / CPUFREQ).glob(f"*/{name}")]
        for path in clocks:
            path.chmod(0o644)
        for name, text in state_files(self._profile, boot_id).items():
            _write(self.root / name, text)
        for path in (self.root / CPUFREQ).glob("*/*"):
            path.chmod(0o444 if path.name in _FOR_ROOT else 0o644)
        for name, target in state_links(self._profile).items():
            _link(self.root / name, target)
        for name in OVERLAYS:
            _write(self.phone_dir / "boot" / Path(name).name, (self.root / name).read_text(encoding="utf-8"))

    def set_property(self, name: str, value: str) -> None:
        """Set one property, whoever may."""
        _write(self.root / PROPERTY_DIR / name, f"{value}\n")

    def _build_tools(self, *, confined: bool) -> None:
        folder = self.root / "system/bin"
        shutil.rmtree(folder)
        folder.mkdir()
        _link(folder / "sh", self._tools.shell)
        missing = set(self._profile.missing_tools)
        for tool in android_tools(self._profile.api_level):
            target = self._tools.path_of(tool)
            if tool not in missing and target is not None:
                _link(folder / tool, target)
        interpreter = "/system/bin/sh" if confined else self._tools.shell
        for name in self._scripts():
            text = importlib.resources.files(__package__).joinpath(f"{name}.sh").read_text(encoding="utf-8")
            _script(folder / name, interpreter, text)
        if self._tools.toybox:
            _script(folder / "toybox", interpreter, _toybox_wrapper(self._tools.toybox, missing))
        if self._profile.rooted:
            _script(folder / "su", interpreter, _SU)

    def _scripts(self) -> Iterable[str]:
        names = [name for name in _SCRIPTS if name not in self._profile.missing_tools]
        if self._profile.storage_bytes is not None:
            names.append("df")
            (self.root / "dev/orch/storage_kib").write_text(f"{self._profile.storage_bytes // 1024}\n")
            (self.root / "system/bin/df").unlink(missing_ok=True)
        return names

    def _build_properties(self, content: dict[str, str]) -> None:
        folder = self.root / PROPERTY_DIR
        shutil.rmtree(folder)
        folder.mkdir()
        for name, value in content.items():
            _write(folder / name, f"{value}\n")

    def _build_etc(self) -> None:
        etc = self.root / "etc"
        _write(etc / "passwd", "root:x:0:0:root:/:/system/bin/sh\nshell:x:2000:2000:shell:/:/system/bin/sh\n")
        _write(etc / "group", "root:x:0:\nshell:x:2000:\n")
        _write(etc / "hosts", "127.0.0.1 localhost\n")
        cache = Path("/etc/ld.so.cache")
        if cache.exists():
            shutil.copyfile(cache, etc / "ld.so.cache")

    def _build_mount_points(self) -> None:
        preparing = self._tools.preparing
        for _, target in preparing.mounts() if preparing is not None else ():
            (self.root / target).mkdir(parents=True, exist_ok=True)
        for name in DEVICES:
            (self.root / "dev" / name).touch()
        for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            _link(self.root / "dev" / name, f"/proc/self/fd{target}")
        for folder in library_folders():
            inside = self.root / folder.relative_to("/")
            if folder.is_symlink():
                _link(inside, os.readlink(folder))
            else:
                inside.mkdir(parents=True, exist_ok=True)


_SU = """\
# su [0|root] [-c COMMAND | COMMAND…]: uid 0 of a user namespace below the phone's.
case ${1-} in 0 | root) shift ;; esac
if [ "${1-}" = -c ]; then shift; exec /usr/bin/unshare -r /system/bin/sh -c "$*"; fi
if [ $# -gt 0 ]; then exec /usr/bin/unshare -r "$@"; fi
exec /usr/bin/unshare -r /system/bin/sh
"""


def _toybox_wrapper(toybox: str, missing: set[str]) -> str:
    if not missing:
        return f'exec {toybox} "$@"\n'
    names = " | ".join(sorted(missing))
    return f'case ${{1-}} in {names}) echo "toybox: Unknown command $1" >&2; exit 127 ;; esac\nexec {toybox} "$@"\n'


def _settings(folder: Path, content: Mapping[str, str]) -> None:
    """A phone's settings as it left the factory, where it has none yet: what was changed since stays."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
        for key, value in content.items():
            _write(folder / key, f"{value}\n")


def _link(path: Path, target: str) -> None:
    if path.is_symlink():
        if os.readlink(path) == target:
            return
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    path.symlink_to(target)


def _write(path: Path, text: str) -> None:
    """Overwrite in place: a bind mount and an open reader keep seeing the file."""
    try:
        path.write_text(text, encoding="utf-8")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _script(path: Path, interpreter: str, text: str) -> None:
    path.unlink(missing_ok=True)  # never write through a link to the host's tool
    path.write_text(f"#!{interpreter}\n{text}", encoding="utf-8")
    path.chmod(0o755)
