"""Device profiles: what a virtual phone claims to be, from `device_profiles/*.toml`.

A profile holds facts that are public for a device model; what is not known is left out, and the virtual phone then
does not show it. Read strictly: an unknown key or a wrong type is an error, all of them reported at once.
"""

from __future__ import annotations

import importlib.resources
import re
from dataclasses import field
from functools import partial
from pathlib import Path

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from android_runner.limits import LimitsTable
from android_runner.ort import NnapiFlag
from android_runner.toml_text import NotTomlError, toml_as_json

_STRICT = ConfigDict(strict=True, extra="forbid")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")

_Text = partial(Field, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")


class ProfileError(ValueError):
    """A device profile cannot be used; `problems` has one line for each reason, with its path in the file."""

    def __init__(self, source: str, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(f"{source}: {problem}" for problem in problems))
        self.source = source
        self.problems = problems


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Cluster:
    """Cores that share one cpufreq policy, slowest cluster first; frequencies in kHz."""

    name: str = _Text()
    count: int = Field(ge=1, le=16)
    min_khz: int = Field(ge=1)
    max_khz: int = Field(ge=1)


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Battery:
    """The battery as it is at start; `health` and `status` as in `/sys/class/power_supply` ("Good", "Charging")."""

    level: int = Field(default=80, ge=0, le=100)
    temp_c: float = Field(default=27.0, ge=-40, le=120)
    health: str = _Text(default="Good")
    status: str = _Text(default="Charging")
    voltage_mv: int = Field(default=4100, ge=0)
    technology: str = _Text(default="Li-ion")


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class NnapiDevice:
    """An NNAPI driver as the device names it; `kind` is NNAPI's device type, `lacks` ONNX operators it can't run.

    Under each flag in `wrong_under` it computes something else than it should.
    """

    name: str = _Text()
    kind: str = Field(pattern=r"^(cpu|gpu|accelerator|other)$")
    feature_level: int = Field(ge=27)
    lacks: tuple[str, ...] = ()
    wrong_under: tuple[NnapiFlag, ...] = ()


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class DeviceProfile:
    """One device model. Sizes in bytes, temperatures in °C; `zones_c` by thermal zone name.

    `missing_tools` are commands that this device's userland lacks; `userland_bits` is 32 where a 64-bit kernel runs
    32-bit programs only. `storage_bytes` bounds what can be pushed to the phone (None: the host's disk).
    `limits` go over the defaults of `validity.Limits`, also on true phones of this `device_model`.
    `perf_test_dialect` is that of the stand-in for onnxruntime_perf_test: old (1.8), mid (1.21) or new (1.24).
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")
    device_model: str = _Text()
    manufacturer: str = _Text()
    brand: str = _Text()
    product: str = _Text()
    fingerprint: str = _Text()
    soc: str = _Text()
    api_level: int = Field(ge=26, le=60)
    android_release: str = _Text()
    abis: tuple[str, ...] = Field(min_length=1)
    clusters: tuple[Cluster, ...] = Field(min_length=1)
    cpu_features: str = _Text(default="fp asimd evtstrm aes pmull sha1 sha2 crc32")
    memory_bytes: int = Field(ge=2**28)
    storage_bytes: int | None = Field(default=None, ge=0)
    battery: Battery = field(default_factory=Battery)
    zones_c: dict[str, float] = field(default_factory=dict)
    thermal_status: int = Field(default=0, ge=0, le=6)
    rooted: bool = False
    missing_tools: tuple[str, ...] = ()
    userland_bits: int = Field(default=64, ge=32, le=64)
    nnapi_devices: tuple[NnapiDevice, ...] = ()
    perf_test_dialect: str = Field(default="mid", pattern=r"^(old|mid|new)$")
    selinux: str = Field(default="Enforcing", pattern=r"^(Enforcing|Permissive)$")
    properties: dict[str, str] = field(default_factory=dict)
    limits: LimitsTable = field(default_factory=LimitsTable)

    @property
    def cores(self) -> int:
        """CPU cores in all clusters."""
        return sum(cluster.count for cluster in self.clusters)


def profile_names() -> list[str]:
    """The names of the profiles that come with the project, sorted."""
    folder = importlib.resources.files("device_profiles")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_profile(name_or_path: str | Path) -> DeviceProfile:
    """Read a profile by name, or by path when it ends in `.toml`; raise `ProfileError`."""
    text = str(name_or_path)
    if text.endswith(".toml"):
        try:
            content = Path(text).read_bytes()
        except OSError as error:
            raise ProfileError(text, (f"cannot be read: {error.strerror}",)) from error
        return parse_profile(content, source=text)
    names = profile_names()
    if not _NAME.fullmatch(text) or text not in names:
        raise ProfileError(text, (f"no such device profile; there are: {', '.join(names)}",))
    content = importlib.resources.files("device_profiles").joinpath(f"{text}.toml").read_bytes()
    profile = parse_profile(content, source=text)
    if profile.name != text:
        raise ProfileError(text, (f"name: is {profile.name!r}, but the file is {text}.toml",))
    return profile


def parse_profile(content: bytes, *, source: str) -> DeviceProfile:
    """Read TOML; raise `ProfileError` with every problem and its path."""
    try:
        text = toml_as_json(content)
    except NotTomlError as error:
        raise ProfileError(source, (f"not TOML: {error}",)) from error
    try:
        profile = TypeAdapter(DeviceProfile).validate_json(text)
    except ValidationError as error:
        problems = tuple(f"{_path(item['loc'])}: {item['msg']}" for item in error.errors())
        raise ProfileError(source, problems) from error
    problems = tuple(_contradictions(profile))
    if problems:
        raise ProfileError(source, problems)
    return profile


def _path(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _contradictions(profile: DeviceProfile) -> list[str]:
    found = [
        f"clusters[{index}]: min_khz {cluster.min_khz} is above max_khz {cluster.max_khz}"
        for index, cluster in enumerate(profile.clusters)
        if cluster.min_khz > cluster.max_khz
    ]
    if profile.userland_bits not in (32, 64):
        found.append(f"userland_bits: {profile.userland_bits} is neither 32 nor 64")
    if profile.userland_bits == 32 and any("64" in abi for abi in profile.abis):
        found.append("abis: a 32-bit userland has no 64-bit ABI")
    bad = [key for key in profile.properties if not re.fullmatch(r"[A-Za-z0-9._@:-]{1,200}", key)]
    found += [f"properties.{key}: not a property's name" for key in bad]
    bad = [zone for zone in profile.zones_c if not re.fullmatch(r"[A-Za-z0-9._ -]{1,60}", zone)]
    found += [f"zones_c.{zone}: not a thermal zone's name" for zone in bad]
    for index, device in enumerate(profile.nnapi_devices):
        bad = [word for word in device.lacks if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]{0,60}", word)]
        found += [f"nnapi_devices[{index}].lacks: {word!r} is no ONNX operator's name" for word in bad]
    bad = [tool for tool in profile.missing_tools if not re.fullmatch(r"[A-Za-z0-9._\[-]{1,40}", tool)]
    found += [f"missing_tools: {tool!r} is no command's name" for tool in bad]
    return found
