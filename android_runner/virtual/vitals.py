"""Changes a virtual phone's battery and heat: the files that its shell reads are the state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from android_runner.virtual.identity import BATTERY, THERMAL_STATUS, battery_temperature, zone_temperature
from android_runner.virtual.state import Places


def set_vitals(
    home: Path,
    serialno: str,
    *,
    battery_level: int | None = None,
    battery_c: float | None = None,
    zones_c: Mapping[str, float] | None = None,
    thermal_status: int | None = None,
) -> None:
    """Set what is given; it holds until the next set or boot.

    Raises `KeyError` for a thermal zone that the phone does not have, `FileNotFoundError`
    for a phone that is not there.
    """
    root = Places(home.resolve()).phone(serialno) / "root"
    if battery_level is not None:
        _write(root / BATTERY / "capacity", f"{battery_level}\n")
    if battery_c is not None:
        _write(root / BATTERY / "temp", battery_temperature(battery_c))
    if thermal_status is not None:
        _write(root / THERMAL_STATUS, f"{thermal_status}\n")
    folders = _zone_folders(root)
    for zone, temp_c in (zones_c or {}).items():
        _write(folders[zone] / "temp", zone_temperature(temp_c))


def _zone_folders(root: Path) -> dict[str, Path]:
    found = (root / "sys/class/thermal").glob("thermal_zone*")
    return {(folder / "type").read_text(encoding="utf-8").strip(): folder for folder in found}


def _write(path: Path, text: str) -> None:
    if not path.exists():
        raise FileNotFoundError(path)
    path.write_text(text, encoding="utf-8")
