"""Pure: what `orch devices` prints. The command line fills `DeviceRow`s; real phones first, virtual ones apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from orchestrator.report.lines import Line, Span, joined, left, line, middle, paragraph, rendered, right, widest
from orchestrator.report.numbers import NOTHING, plural

_STATE_STYLE = {"ready": "good", "busy": "warn", "cooling": "warn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """One phone as `orch devices` shows it; None and "" mean "not known".

    `label` is what tables call it ("B3"; the serial's start where it has none), `serial` the transport's name, `state`
    a few words ("ready", "busy 7k2f (nina)", "unauthorized", "missing"), `usable` whether a run could start there now.
    `battery_c` is the battery's temperature in °C, `battery_percent` 0-100, `where` the USB place ("hub 1.3"). `mend`
    is what a person does so that it can be used. `confinement` (`namespace`, `unconfined`) and `shell` ("mksh,
    toybox") are said of virtual phones.
    """

    label: str
    device_model: str
    serial: str
    api_level: int | None
    rooted: bool | None
    state: str
    usable: bool
    battery_c: float | None
    battery_percent: int | None
    where: str = ""
    mend: str = ""
    virtual: bool = False
    confinement: str = ""
    shell: str = ""
    phone: str = ""
    """Its identity, whatever it is called."""
    care: tuple[str, ...] = ()
    """What its battery asks of a person."""
    waiting: str = ""
    """Whose turn is next on it."""
    host: str = ""
    """The host that it hangs on, as the lab's file names it; empty: this computer."""

    def as_dict(self) -> dict[str, object]:
        """The same fields by name, for JSON."""
        return asdict(self)


def render_devices(
    rows: Sequence[DeviceRow],
    *,
    missing: Sequence[str] = (),
    expected: int = 0,
    width: int = 80,
    colour: bool = False,
) -> str:
    """The table of phones at `width` cells (80 at least), each unusable one with its mend; then the missing ones, in
    words, of how many that are expected."""
    if not rows:
        nobody = line("no phone; orch run --device virtual starts a virtual one")
        return rendered([nobody, *_missing(missing, width)], colour=colour)
    width = max(width, 80)
    lines: list[Line] = []
    widths = _widths(rows, width)
    real = [row for row in rows if not row.virtual]
    lines.append(_heads(widths))
    for row in real:
        lines += _row(row, widths, width)
    groups: dict[tuple[str, str], list[DeviceRow]] = {}
    for row in rows:
        if row.virtual:
            groups.setdefault((row.confinement, row.shell), []).append(row)
    for (confinement, shell), members in groups.items():
        words = ["virtual (this computer's speed)", confinement, f"shell {shell}" if shell else ""]
        lines += paragraph(joined(words), width - 1, indent=1, style="warn", hang=2)
        for row in members:
            lines += _row(row, widths, width)
    usable = sum(row.usable for row in rows)
    lines += _missing(missing, width)
    awaited = f", {expected} expected" if expected else ""
    lines.append(line(f" {plural(len(rows), 'phone')}{awaited}, {usable} usable"))
    return rendered(lines, colour=colour)


def _missing(missing: Sequence[str], width: int) -> list[Line]:
    return [
        one for words in missing for one in paragraph(f"missing: {words}", width - 1, indent=1, style="bad", hang=2)
    ]


HERE = "here"
"""What the column of hosts calls this computer."""
_FIXED = 32
"""Cells of a row beside the columns whose width is chosen: four columns of numbers and words, and the gaps."""


def _widths(rows: Sequence[DeviceRow], width: int) -> dict[str, int]:
    """Cells a column: each as wide as needed within bounds; the serial gives way, since its label stands for it.

    While no phone has a label of its own, there is no column for labels; while all hang on this computer, none for
    hosts.
    """
    host = widest((row.host or HERE for row in rows), least=4, most=10) if any(row.host for row in rows) else 0
    fixed = _FIXED + (host + 2 if host else 0)
    labelled = any(row.label != row.serial for row in rows)
    widths = {
        "label": widest((row.label for row in rows), least=5, most=18) if labelled else 0,
        "model": widest((row.device_model for row in rows), least=12, most=16),
        "state": widest((row.state for row in rows), least=8, most=18),
        "where": widest((row.where for row in rows), least=5, most=13) if any(row.where for row in rows) else 0,
    }
    for key, least in (("model", 8), ("state", 12), ("where", 9), ("label", 8)):
        missing = sum(widths.values()) + fixed + 8 - width
        widths[key] -= min(max(missing, 0), max(widths[key] - least, 0))
    room = width - sum(widths.values()) - fixed
    return {**widths, "host": host, "serial": widest((row.serial for row in rows), least=6, most=max(room, 6))}


def _names(host: str, label: str, device_model: str, serial: str, widths: dict[str, int]) -> str:
    """The columns that name a phone. Of a label and a serial the end tells most."""
    columns = [
        left(middle(host, widths["host"]), widths["host"]) if widths["host"] else "",
        left(middle(label, widths["label"]), widths["label"]) if widths["label"] else "",
        left(device_model, widths["model"]),
        left(middle(serial, widths["serial"]), widths["serial"]),
    ]
    return joined(columns, "  ")


def _heads(widths: dict[str, int]) -> Line:
    front = f" {_names('host', 'label', 'device model', 'serial', widths)}  api  root  {left('state', widths['state'])}"
    return line(Span(f"{front}   °C   batt  {'where' if widths['where'] else ''}", "dim"))


def _row(row: DeviceRow, widths: dict[str, int], width: int) -> list[Line]:
    api = NOTHING if row.api_level is None else str(row.api_level)
    root = NOTHING if row.rooted is None else ("yes" if row.rooted else "no")
    celsius = NOTHING if row.battery_c is None else f"{row.battery_c:.0f}"
    battery = NOTHING if row.battery_percent is None else f"{row.battery_percent} %"
    names = _names(row.host or HERE, row.label, row.device_model, row.serial, widths)
    front = f" {names}  {right(api, 3)}  {left(root, 4)}  "
    style = _STATE_STYLE.get(row.state.split(" ")[0].rstrip(","), "good" if row.usable else "bad")
    end = f"  {right(celsius, 3)}  {right(battery, 5)}  {left(middle(row.where, widths['where']), widths['where'])}"
    lines = [line(front, Span(left(row.state, widths["state"]), style), end)]
    lines += paragraph(row.mend, width, indent=8) if row.mend and not row.usable else []
    return lines + [one for words in row.care for one in paragraph(words, width, indent=8, style="warn")]
