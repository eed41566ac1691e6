"""Pure: what the columns of the attempts frame hold that tell how the phone was around an attempt, and what follows."""

from __future__ import annotations

from orchestrator.store.meaning import ColumnMeaning, Columns

_C = ColumnMeaning

AROUND: Columns = {
    "boot_id_before": _C("", "the phone's boot before the process"),
    "boot_id_after": _C("", "the phone's boot after it; another one means that it rebooted"),
    "battery_level_before": _C("%", "battery level before", "int"),
    "battery_level_after": _C("%", "battery level after", "int"),
    "battery_c_before": _C("°C", "battery temperature before", "float"),
    "battery_c_after": _C("°C", "battery temperature after", "float"),
    "thermal_status_before": _C("", "Android's thermal status before, 0 none to 6 shutdown", "int"),
    "thermal_status_after": _C("", "Android's thermal status after", "int"),
    "zone_max_c_before": _C("°C", "hottest thermal zone before", "float"),
    "zone_max_c_after": _C("°C", "hottest thermal zone after", "float"),
    "load_1m_before": _C("", "load average over a minute before", "float"),
    "load_1m_after": _C("", "load average over a minute after", "float"),
    "freq_max_khz_before": _C("kHz", "highest current clock of a core before", "int"),
    "freq_max_khz_after": _C("kHz", "highest current clock of a core after", "int"),
}

VALIDITY: Columns = {
    "validity": _C("", "what the vitals around it say: valid, suspect, invalid (never counts); missing: nobody judged"),
    "validity_reasons": _C("", "why it is not valid", "list"),
}
