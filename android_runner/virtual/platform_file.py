"""`/vendor/etc/virtual-phone`: what the stand-in for perf_test is told of the phone that it runs on.

A word and its values a line, between tabs; names in a profile have no control characters. `python` is left out where
this host lacks a package that taking a graph apart needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

from android_runner.profile import DeviceProfile
from android_runner.virtual.perf_test.build import interpreter

PLATFORM_FILE = "vendor/etc/virtual-phone"
_NEEDED = (
    "onnx",
    "onnxruntime",
    "numpy",
    "pydantic",
    "google.protobuf",
    "ml_dtypes",
    "typing_extensions",
    "flatbuffers",
)
_OWN = "android_runner"


@dataclass(frozen=True, slots=True)
class Preparing:
    """How the process that prepares NNAPI's part is started. `folders` hold what it imports, `path` finds them."""

    python: str
    folders: tuple[Path, ...]
    path: tuple[Path, ...]
    converter: str


def find_preparing() -> Preparing | None:
    """Look at this host once, importing nothing; None where something is missing."""
    own = _folder_of(_OWN)
    packages = [_folder_of(name) for name in _NEEDED]
    if own is None or any(folder is None for folder in packages):
        return None
    shelves = dict.fromkeys(folder for folder in packages if folder is not None)
    folders = [*shelves] if own in shelves else [*shelves, own / _OWN]
    path = [*shelves] if own in shelves else [*shelves, own]
    converter = f"{metadata.version('onnxruntime')}+{metadata.version('onnx')}"
    return Preparing(interpreter(), tuple(folders), tuple(path), converter)


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


def platform_text(profile: DeviceProfile, preparing: Preparing | None) -> str:
    """The file's content. Paths are the same inside of a confined phone and outside."""
    return "".join("\t".join(words) + "\n" for words in _lines(profile, preparing))


def _lines(profile: DeviceProfile, preparing: Preparing | None) -> Iterable[tuple[str, ...]]:
    yield "abi", profile.abis[0]
    yield "api_level", str(profile.api_level)
    for device in profile.nnapi_devices:
        yield "nnapi_device", device.name, device.kind, str(device.feature_level), ",".join(device.lacks)
    if preparing is not None:
        yield "python", preparing.python, ":".join(map(str, preparing.path)), preparing.converter
