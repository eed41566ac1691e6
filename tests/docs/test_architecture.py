"""ARCHITECTURE.md names modules that exist, and every package module has its place in it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGES = ("android_runner", "orchestrator")
MAX_LINES = 120
MAX_MODULE_LINES = 300


def named() -> set[str]:
    """Every path below a package that the page names, without its suffix."""
    full = set(re.findall(r"`((?:android_runner|orchestrator)/[a-z_/]+)(?:\.py|\.sh)?`", TEXT))
    listed = re.findall(r"^\| `(\w+(?:/\w+)*)/?` \| ([^|]+)\|", TEXT, flags=re.MULTILINE)
    for folder, modules in listed:
        if folder.split("/")[0] in PACKAGES:
            full |= {f"{folder}/{name}" for name in re.findall(r"`(\w+)(?:\.sh)?`", modules)}
    return full


def modules() -> set[str]:
    """Every module of the packages that is not a mere `__init__` or `__main__`."""
    return {
        str(path.relative_to(ROOT).with_suffix(""))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if not path.name.startswith("__")
    }


def test_every_named_module_exists() -> None:
    missing = [
        name
        for name in sorted(named())
        if not ((ROOT / name).is_dir() or any((ROOT / f"{name}{suffix}").is_file() for suffix in (".py", ".sh")))
    ]
    assert missing == []


def test_every_module_has_its_place() -> None:
    known = named()
    homeless = [one for one in sorted(modules()) if one not in known and str(Path(one).parent) not in whole_folders()]
    assert homeless == []


def whole_folders() -> set[str]:
    """Folders whose modules the page stands for together: `android_runner/virtual/perf_test` and the like."""
    return {match for match in re.findall(r"`((?:android_runner|orchestrator)/[a-z_/]+)/\*`", TEXT)}


def test_it_stays_one_page() -> None:
    assert len(TEXT.splitlines()) <= MAX_LINES


def test_modules_stay_small() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_MODULE_LINES
    }
    assert long == {}
