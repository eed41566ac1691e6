"""`/vendor/etc/virtual-phone`: what the stand-in for perf_test is told of the phone that it runs on.

A word and its values a line, between tabs; names in a profile have no control characters. `python` is left out where
this host lacks a package that taking a graph apart needs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from android_runner.profile import DeviceProfile
from android_runner.virtual.heat.sysfs import PACE
from android_runner.virtual.perf_test.build import interpreter

PLATFORM_FILE = "vendor/etc/virtual-phone"
_NEEDED = (
    "onnx",
    "onnxruntime",
    "numpy",
    "google.protobuf",
    "ml_dtypes",
    "typing_extensions",
    "flatbuffers",
)
_OWN = "android_runner"
_LENT = "mnt/orch-python"


@dataclass(frozen=True, slots=True)
class Preparing:
    """How the process that prepares NNAPI's part is started: the interpreter and the folders that it imports from.

    `shelves` hold other packages (a `site-packages`), `own` is our package's folder where it lies elsewhere.
    `converter` changes with whatever may change what is prepared.
    """

    python: str
    shelves: tuple[Path, ...]
    own: Path | None
    converter: str

    def mounts(self) -> list[tuple[Path, str]]:
        """Folders to lend to a confined phone, and where below its root they go: a host's own paths stay unseen."""
        lent = [(folder, f"{_LENT}/{index}") for index, folder in enumerate(self.shelves)]
        return lent if self.own is None else [*lent, (self.own, f"{_LENT}/own/{_OWN}")]

    def search_path(self, *, confined: bool) -> str:
        """PYTHONPATH as the phone's processes need it."""
        if not confined:
            return ":".join(map(str, [*self.shelves, *([self.own.parent] if self.own is not None else [])]))
        inside = [f"/{_LENT}/{index}" for index in range(len(self.shelves))]
        return ":".join(inside if self.own is None else [*inside, f"/{_LENT}/own"])


def find_preparing() -> Preparing | None:
    """Look at this host once, importing nothing; None where something is missing."""
    parent = _folder_of(_OWN)
    packages = [_folder_of(name) for name in _NEEDED]
    if parent is None or any(folder is None for folder in packages):
        return None
    shelves = tuple(dict.fromkeys(folder for folder in packages if folder is not None))
    converter = f"{metadata.version('onnxruntime')}+{metadata.version('onnx')}+{_rules_digest(parent / _OWN)}"
    return Preparing(interpreter(), shelves, None if parent in shelves else parent / _OWN, converter)


def _rules_digest(own: Path) -> str:
    """Of the sources that decide on what is prepared: what other rules have made is not used again."""
    digest = hashlib.sha256()
    for folder in ("nnapi", "virtual/nnapi"):
        for path in sorted((own / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _folder_of(name: str) -> Path | None:
    """The folder that a package or module lies in."""
    try:
        spec = util.find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    found = next(iter(spec.submodule_search_locations or ()), None) or spec.origin
    return None if found is None else Path(found).parent


def platform_text(profile: DeviceProfile, preparing: Preparing | None, *, confined: bool, hot: bool = False) -> str:
    """The file's content, with paths as the phone's processes see them. `hot`: its perf_tests have a pace."""
    lines = [*_facts(profile)]
    if hot:
        lines.append(("pace", f"/{PACE}"))
    if preparing is not None:
        lines.append(("python", preparing.python, preparing.search_path(confined=confined), preparing.converter))
    return "".join("\t".join(words) + "\n" for words in lines)


def _facts(profile: DeviceProfile) -> Iterable[tuple[str, ...]]:
    yield "abi", profile.abis[0]
    yield "api_level", str(profile.api_level)
    for device in profile.nnapi_devices:
        lists = (device.lacks, [flag.perf_test_word for flag in device.wrong_under])
        yield "nnapi_device", device.name, device.kind, str(device.feature_level), *map(",".join, lists)
