"""Fetches Debian's `adbd` with mksh, toybox and their libraries into a folder: `python -m tests.real_adbd.fetch ROOT`.

Nothing is installed: apt, with lists and a cache of its own, solves and downloads from this machine's own Debian
archive (its suite replaced by one that has the package), dpkg-deb unpacks. Needs no root and no third-party package.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("adbd", "mksh", "toybox")
LATER = {"bullseye": "trixie", "bookworm": "trixie"}
"""Releases whose own archive has no `adbd`, and the first that has."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TOOLS = ("apt-get", "dpkg-deb")
DAEMON = "usr/lib/android-sdk/platform-tools/adbd"
_STAMP = ".unpacked"
_TIMEOUT_S = 300


class CannotFetch(Exception):
    """This machine cannot bring the packages; the text says why."""


@dataclass(frozen=True)
class Archive:
    """Where this machine gets Debian itself from, and which release of it has what is wanted."""

    uri: str
    suite: str

    def source(self) -> str:
        """As an apt source in the format of one file of `sources.list.d`."""
        signed = f"Signed-By: {KEYRING}\n" if KEYRING.exists() else ""
        return f"Types: deb\nURIs: {self.uri}\nSuites: {self.suite}\nComponents: main\n{signed}"


def archive_in(targets: str) -> Archive:
    """The archive in what `apt-get indextargets` prints in `_FORMAT`; raise `CannotFetch` when Debian is not in it."""
    for line in targets.splitlines():
        origin, label, codename, component, uri = (*line.split("|"), "", "", "", "")[:5]
        if (origin, label, component) == ("Debian", "Debian", "main") and re.fullmatch(r"[a-z]+", codename):
            return Archive(uri, LATER.get(codename, codename))
    raise CannotFetch("its apt sources, once updated, name no archive of Debian (only Debian packages adbd)")


_FORMAT = "$(ORIGIN)|$(LABEL)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)"


def fetch(root: Path) -> bool:
    """Unpack the packages into `root`; False when they are there already. Raise `CannotFetch`."""
    if (root / _STAMP).exists():
        return False
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise CannotFetch(f"it has no {tool}")
    archive = archive_in(_output("apt-get", "indextargets", "--format", _FORMAT, "Created-By: Packages"))
    apt = root.with_name(f"{root.name}.apt")
    part = root.with_name(f"{root.name}.part")
    for folder in (apt, part):
        shutil.rmtree(folder, ignore_errors=True)
    for package in _download(apt, archive):
        _output("dpkg-deb", "--extract", str(package), str(part))
    if not (part / DAEMON).is_file():
        raise CannotFetch(f"the packages of {archive.suite} have no {DAEMON}")
    (part / _STAMP).write_text("".join(f"{name.name}\n" for name in sorted((apt / "cache/archives").glob("*.deb"))))
    shutil.rmtree(root, ignore_errors=True)
    part.rename(root)
    shutil.rmtree(apt)
    return True


def _download(apt: Path, archive: Archive) -> list[Path]:
    for folder in ("parts", "lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()  # nothing counts as installed: every library comes along
    (apt / "parts/debian.sources").write_text(archive.source())
    (apt / "conf").write_text(_configuration(apt))
    command = ["apt-get", "-c", str(apt / "conf"), "-qq"]
    _output(*command, "update")
    _output(*command, "-y", "--no-install-recommends", "--download-only", "install", *PACKAGES)
    return sorted((apt / "cache/archives").glob("*.deb"))


def _configuration(apt: Path) -> str:
    """Folders of our own, no hooks of the machine's; how archives are reached stays as this machine has it."""
    settings = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": apt / "parts",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State": apt,
        "Dir::State::Lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "APT::Sandbox::User": "",
        "APT::Get::List-Cleanup": "false",
    }
    cleared = ("APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success", "APT::Update::Pre-Invoke", "DPkg")
    return "".join(f"#clear {name};\n" for name in cleared) + "".join(
        f'{name} "{value}";\n' for name, value in settings.items()
    )


def _output(*command: str) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
            env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotFetch(f"{' '.join(command[:4])}: {error}") from error
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        raise CannotFetch(f"{' '.join(command)} ends with {done.returncode}: {said}")
    return done.stdout


def main() -> int:
    """Fetch into the folder that the command line names; say what was done."""
    if len(sys.argv) != 2:
        print("usage: python -m tests.real_adbd.fetch ROOT", file=sys.stderr)
        return 2
    root = Path(sys.argv[1]).absolute()
    try:
        print(f"adbd in {root}" if fetch(root) else f"adbd is in {root} already")
    except CannotFetch as error:
        print(f"no adbd: {error}; only `make test-adbd` wants it", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
