"""What the stand-in asks of the preparing process, as JSON in a file: `request.json`.

Read without pydantic, whose import would be a quarter of this process's start: both ends of it are ours.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from android_runner.nnapi.levels import chosen_devices
from android_runner.nnapi.target import NnapiDevice, NnapiTarget
from android_runner.ort import NnapiFlag
from android_runner.virtual.nnapi.source import LoadSettings

NAME = "request.json"


@dataclass(frozen=True, kw_only=True)
class Request:
    """`flags` are perf_test's words; `devices` are (name, kind, feature level, lacking operators, flags under which it
    is wrong).

    `model_hash` (a number as text) goes into the names of the partitions. The rest is as in `LoadSettings`.
    """

    model: str
    model_hash: str
    api_level: int
    flags: tuple[str, ...]
    devices: tuple[tuple[str, str, int, tuple[str, ...], tuple[str, ...]], ...]
    level: int
    dims_by_name: dict[str, int]
    dims_by_denotation: dict[str, int]
    config: dict[str, str]
    custom_ops: str

    @property
    def target(self) -> NnapiTarget:
        """As the claim rules want it."""
        return NnapiTarget(
            api_level=self.api_level,
            flags=frozenset(flag for flag in NnapiFlag if flag.perf_test_word in self.flags),
            devices=tuple(
                NnapiDevice(name, kind, level, frozenset(lacks)) for name, kind, level, lacks, _ in self.devices
            ),
        )

    @property
    def is_wrong(self) -> bool:
        """Whether one of the devices that may be used computes wrongly under one of the flags."""
        used = {device.name for device in chosen_devices(self.target)}
        return any(name in used and set(wrong) & set(self.flags) for name, _, _, _, wrong in self.devices)

    @property
    def settings(self) -> LoadSettings:
        """As loading wants it."""
        return LoadSettings(
            level=self.level,
            dims_by_name=self.dims_by_name,
            dims_by_denotation=self.dims_by_denotation,
            config=self.config,
            custom_ops=self.custom_ops,
        )


def read_request(folder: Path) -> Request:
    """Read `request.json` in a folder; raise OSError, or ValueError or TypeError for what is no request."""
    asked = json.loads((folder / NAME).read_bytes())
    devices = tuple(
        (str(name), str(kind), int(level), tuple(lacks), tuple(wrong))
        for name, kind, level, lacks, wrong in asked.pop("devices", ())
    )
    return Request(**{**asked, "flags": tuple(asked.get("flags", ())), "devices": devices})
