"""Pure: the lab's file, `HOME/lab.toml`: what may be done to phones beyond our folder, and how people share them.

[lab]
longest_stretch_minutes = 20      # then the next run that waits for a phone has its turn
ledger = "postgresql://orch@db.lab/orch"  # instead of the home's own file
[recovery]
usb_reset = true                  # off unless the file says otherwise
[hosts.b]
adb = "127.0.0.1:5038"            # the adb server of another computer, where a tunnel to it ends on this one
[phones."R58N30ABCDE"]
label = "B3"
recovery.reboot = true            # goes over [recovery]

Every key may be left out; a lab without a file is one whose tables are empty. Each subject is two dataclasses: a table
of what the file says (None: nothing), and the noun that the program uses, with its defaults.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass as plain_dataclass
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from android_runner.charging import LEVELS
from android_runner.preparing.steps import StepName
from android_runner.toml_text import NotTomlError, toml_as_json
from orchestrator.errors import Problem, UsageError

_STRICT = ConfigDict(extra="forbid", strict=True)
LABEL_SHAPE = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,19}$"
"""What a phone may be called by people: fits a column, and needs no quotes."""
_LEDGER = re.compile(
    r"postgresql://([A-Za-z0-9_.-]+@)?([A-Za-z0-9_.-]+|\[[0-9a-fA-F:]+\])?(:[0-9]{1,5})?/[A-Za-z0-9_.-]+"
)
_LEDGER_FORM = "postgresql://USER@HOST:PORT/DATABASE; a password comes from ~/.pgpass or PGPASSWORD, never from here"
_ADB = re.compile(r"(127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|localhost):([1-9][0-9]{0,4})")
MAX_BYTES = 1 << 20
"""A lab's file larger than this is none."""

Minutes = Annotated[float, Field(gt=0, le=10_080)]
Level = Annotated[int, Field(ge=1, le=100)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
AtOnce = Annotated[int, Field(ge=1, le=1000)]
T = TypeVar("T")


@plain_dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What may be done to a phone that does not answer, beyond waiting for it (`wait_seconds`) and reconnecting it."""

    usb_reset: bool = False
    reboot: bool = False
    hub_power: bool = False
    boot_timeout_minutes: float = 15.0
    wait_seconds: float = 60.0


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class RecoveryTable:
    """A `[recovery]` table: the keys of `Recovery`; None: not there."""

    usb_reset: bool | None = None
    reboot: bool | None = None
    hub_power: bool | None = None
    boot_timeout_minutes: Minutes | None = None
    wait_seconds: Seconds | None = None


@plain_dataclass(frozen=True, slots=True, kw_only=True)
class Battery:
    """How batteries are looked after, in per cent: a trial waits below `hold_below` until `resume_above`; where the
    phone can, it stops charging at `keep_level`. None: not asked for."""

    hold_below: int | None = None
    resume_above: int | None = None
    keep_level: int | None = None

    def limits(self) -> dict[str, int]:
        """As limits of validity have it: the level, and how far above it the phone must come."""
        if self.hold_below is None:
            return {}
        rise = {} if self.resume_above is None else {"battery_hysteresis": self.resume_above - self.hold_below}
        return {"min_battery_level": self.hold_below, **rise}


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class BatteryTable:
    """A `[battery]` table: the keys of `Battery`; None: not there."""

    hold_below: Level | None = None
    resume_above: Level | None = None
    keep_level: Annotated[int, Field(ge=LEVELS.start, lt=LEVELS.stop)] | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class PrepareTable:
    """A `[prepare]` table: the steps that every run of this lab does, by name (`StepName`); None: not there, off."""

    awake: bool | None = None
    screen: bool | None = None
    airplane: bool | None = None
    animations: bool | None = None
    doze: bool | None = None
    updates: bool | None = None
    profile: bool | None = None
    clocks: bool | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class LabTable:
    """The `[lab]` table. `longest_stretch_minutes` None: a run keeps its phones to its end, and others are refused.

    `ledger` None: the home's own file. `push_per_hub`, `push_per_host`: transfers at once below one USB hub, and on
    this host.
    """

    longest_stretch_minutes: Minutes | None = None
    ledger: str | None = None
    push_per_hub: AtOnce = 2
    push_per_host: AtOnce = 8


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class HostTable:
    """A `[hosts.NAME]` table; `adb` is where the tunnel to that host's adb server ends here: `127.0.0.1:5038`."""

    adb: str

    @property
    def address(self) -> str:
        """The loopback address."""
        return self.adb.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The port there."""
        return int(self.adb.rpartition(":")[2])


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class PhoneTable:
    """A `[phones."SERIALNO"]` table; `label` is what people call the phone, its other tables go over the lab's."""

    label: Annotated[str, Field(pattern=LABEL_SHAPE)] | None = None
    recovery: RecoveryTable = Field(default_factory=RecoveryTable)
    prepare: PrepareTable = Field(default_factory=PrepareTable)
    battery: BatteryTable = Field(default_factory=BatteryTable)


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Lab:
    """The whole file. Phones by `ro.serialno`, other hosts by what people call them."""

    lab: LabTable = Field(default_factory=LabTable)
    recovery: RecoveryTable = Field(default_factory=RecoveryTable)
    prepare: PrepareTable = Field(default_factory=PrepareTable)
    battery: BatteryTable = Field(default_factory=BatteryTable)
    hosts: dict[Annotated[str, Field(pattern=LABEL_SHAPE)], HostTable] = Field(default_factory=dict)
    phones: dict[Annotated[str, Field(min_length=1, max_length=200)], PhoneTable] = Field(default_factory=dict)

    def recovery_of(self, phone: str) -> Recovery:
        """What may be done to this phone, by its identity."""
        return over(Recovery(), self.recovery, self._table(phone).recovery)

    def prepare_of(self, phone: str) -> tuple[StepName, ...]:
        """The steps of preparing this phone that every run does, in their order."""
        asked = over(PrepareTable(), self.prepare, self._table(phone).prepare)
        return tuple(step for step in StepName if getattr(asked, step))

    def battery_of(self, phone: str) -> Battery:
        """How this phone's battery is looked after."""
        return over(Battery(), self.battery, self._table(phone).battery)

    def labels(self) -> dict[str, str]:
        """The labels that the file gives, by phone."""
        return {phone: table.label for phone, table in self.phones.items() if table.label is not None}

    def _table(self, phone: str) -> PhoneTable:
        return self.phones.get(phone) or PhoneTable()


def over(defaults: T, *tables: object) -> T:
    """The noun with what the tables say, later ones over earlier ones; both are dataclasses with the same keys."""
    said: dict[str, Any] = {}
    for table in tables:
        assert is_dataclass(table)
        said |= {one.name: value for one in fields(table) if (value := getattr(table, one.name)) is not None}
    changed: Any = replace(defaults, **said)  # type: ignore[type-var]
    result: T = changed
    return result


def parse_lab(text: str, where: str) -> Lab:
    """The lab that a file's text describes. Raises UsageError with every problem and its path in the file."""
    try:
        as_json = toml_as_json(text.encode("utf-8", errors="surrogatepass"))
    except NotTomlError as error:
        raise UsageError(Problem(where, f"is not TOML: {error}", "see docs/lab.md for the form")) from None
    try:
        lab = TypeAdapter(Lab).validate_json(as_json)
    except ValidationError as error:
        raise UsageError(*_problems(error, where)) from None
    problems = [*_doubled_labels(lab, where), *_battery_levels(lab, where), *_ledger(lab, where), *_hosts(lab, where)]
    if problems:
        raise UsageError(*problems)
    return lab


def _problems(error: ValidationError, where: str) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        path = [str(part) for part in item["loc"] if part not in ("[key]",)]
        place = f"{where}: {'.'.join(path)}"
        if item["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            known = _keys_at(path[:-1])
            near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.4)
            mend = (f"did you mean {near[0]!r}? " if near else "") + f"known: {', '.join(known)}"
            yield Problem(place, f"unknown key {path[-1]!r}", mend)
        else:
            yield Problem(place, item["msg"], f"got {str(item['input'])[:60]!r}")


def _keys_at(path: list[str]) -> list[str]:
    """The keys that a table at this path may have."""
    kind: Any = Lab
    for part in path:
        inside = get_args(kind)  # of `phones`: by what a phone is called
        kind = get_type_hints(kind).get(part) if is_dataclass(kind) else inside[-1] if inside else None
    return [one.name for one in fields(kind)] if is_dataclass(kind) else []


def _ledger(lab: Lab, where: str) -> Iterator[Problem]:
    if lab.lab.ledger is not None and not _LEDGER.fullmatch(lab.lab.ledger):
        yield Problem(f"{where}: lab.ledger", "is no URL of a PostgreSQL database without a password", _LEDGER_FORM)


def tunnel_words(port: int, host: str) -> str:
    """How a tunnel from this port to a host's adb server is made."""
    return f"ssh -N -L 127.0.0.1:{port}:127.0.0.1:5037 {host}"


def _hosts(lab: Lab, where: str) -> Iterator[Problem]:
    """Addresses beyond the loopback: whoever reaches an adb server there owns its phones, and ssh asks who it is."""
    owner: dict[str, str] = {}
    for number, (name, table) in enumerate(lab.hosts.items()):
        place = f"{where}: hosts.{name}.adb"
        if _ADB.fullmatch(table.adb) is None or table.port > 65535:
            mend = f'{tunnel_words(5038 + number, name)}, then adb = "127.0.0.1:{5038 + number}"'
            what = f"{table.adb[:60]!r} is not 127.0.0.1:PORT, and an adb server asks nobody who they are"
            yield Problem(place, what, mend)
        elif table.adb in owner:
            yield Problem(place, f"{table.adb} is {owner[table.adb]}'s", "one tunnel a host, each with its own port")
        owner.setdefault(table.adb, name)


def _doubled_labels(lab: Lab, where: str) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    for phone, label in lab.labels().items():
        if label in owner:
            yield Problem(f"{where}: phones.{phone}.label", f"{label!r} is {owner[label]}'s", "give another label")
        owner.setdefault(label, phone)


def _battery_levels(lab: Lab, where: str) -> Iterator[Problem]:
    """Levels that make no sense together, once for the lab and for each phone with levels of its own."""
    own = [phone for phone, table in lab.phones.items() if table.battery != BatteryTable()]
    for phone in ["", *own]:
        battery = lab.battery_of(phone)
        place = f"{where}: {f'phones.{phone}.' if phone else ''}battery"
        low, high, kept = battery.hold_below, battery.resume_above, battery.keep_level
        if high is not None and (low is None or high < low):
            yield Problem(f"{place}.resume_above", f"{high} needs a hold_below of at most {high}")
        if kept is not None and max(low or 0, high or 0) > kept:
            yield Problem(f"{place}.keep_level", f"{kept} is below what a trial waits for: it would wait for ever")
