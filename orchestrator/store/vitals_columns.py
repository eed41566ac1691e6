"""Pure: what the columns of the attempts frame hold that tell how the phone was around an attempt, and what follows."""

from __future__ import annotations

from orchestrator.store.meaning import ColumnMeaning, Columns

_C = ColumnMeaning

_SNAPSHOT: Columns = {
    "boot_id": _C("", "the phone's boot; another one after means that it rebooted"),
    "uptime_s": _C("s", "the phone's uptime", "float"),
    "battery_level": _C("%", "battery level", "int"),
    "battery_c": _C("°C", "battery temperature", "float"),
    "battery_current_ua": _C("µA", "battery current as the driver counts it: sign and unit differ by phone", "int"),
    "battery_health": _C("", "battery health in the kernel's words"),
    "battery_status": _C("", "whether the battery is charging, in the kernel's words"),
    "thermal_status": _C("", "Android's thermal status, 0 none to 6 shutdown", "int"),
    "zone_max_c": _C("°C", "hottest thermal zone", "float"),
    "zones_c": _C("°C", "every readable thermal zone by name", "list"),
    "load_1m": _C("", "load average over a minute", "float"),
    "freq_max_khz": _C("kHz", "highest current clock of a core", "int"),
    "governors": _C("", "the clocks' governors", "list"),
    "available_bytes": _C("bytes", "memory that the kernel counts as available", "int"),
    "screen_on": _C("", "whether the screen was on", "flag"),
    "doze": _C("", "state of the device idle controller"),
    "shells": _C("", "others' processes of the shell's user, `NAME PID@START`; missing: not offered", "list"),
}
AROUND: Columns = {
    f"{name}_{when}": _C(meaning.unit, f"{meaning.meaning}, {when} the process", meaning.kind)
    for name, meaning in _SNAPSHOT.items()
    for when in ("before", "after")
}

VALIDITY: Columns = {
    "validity": _C("", "what the vitals around it say: valid, suspect, invalid (never counts); missing: nobody judged"),
    "validity_reasons": _C("", "why it is not valid, the graver first: reason and figures", "list"),
    "residency_loss": _C(
        "", "share of the top clock of its cores missing meanwhile, 0 to 1; missing: not offered", "float"
    ),
    "gate_waited_s": _C("s", "what the phone waited before it to be fit; missing: not at all", "int"),
    "gate_outcome": _C("", "how that wait ended: ready, flat (it would not get cooler), timeout"),
    "gate_cause": _C("", "what was waited for last: battery, zone, level, load, status"),
    "cpuset": _C("", "the process's cpuset, the kernel's path"),
    "cgroup": _C("", "the process's control group"),
    "allowed_cpus": _C("", "cores that it was allowed, read from the process itself", "list"),
    "online_cpus": _C("", "the phone's cores at that time", "list"),
    "nice": _C("", "its nice value", "int"),
}
