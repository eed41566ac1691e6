"""Pure: from what a night found to the alerts that stand: opened once a cause, silent while it lasts, closed when gone.

An alert has members: the cases that it slowed, or the phones that are away. Who is well again leaves it, and with the
last of them it is closed. A member belongs to one open alert only, so that a hub's phones are no alerts of their own
when the hub comes back half.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from android_runner.host.usb_path import hub_words, hubs_above, is_root, path_of
from orchestrator.nights.changes import Change
from orchestrator.nights.nouns import SeriesKey

LAB_SHARE = 0.2
"""When more than this share of the lab is away, and no one hub is to blame, that is one alert of the lab."""
TOGETHER = 2
"""Fewer phones than this are neither a lab's nor a hub's alert."""


class AlertKind(StrEnum):
    """What an alert is of."""

    REGRESSION = "regression"
    PHONE = "phone"
    HUB = "hub"
    LAB = "lab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One cause, from the night on which it was first seen. `members`: the cases or phones that it still holds;
    `ever`: all that it held. `nights`: on how many nights it was seen. `closed_night` is empty while it stands, `why`
    then says how it ended."""

    nightly: str
    cause: str
    kind: AlertKind
    words: str
    members: tuple[str, ...]
    ever: tuple[str, ...]
    opened_night: str
    last_night: str
    nights: int = 1
    closed_night: str = ""
    why: str = ""

    @property
    def stands(self) -> bool:
        """Whether it is open."""
        return not self.closed_night


@dataclass(frozen=True, slots=True, kw_only=True)
class Slower:
    """A case that regressed: `words` for people (with its phone's label), the changes, the likeliest first."""

    key: SeriesKey
    words: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A phone of the lab that is not there. `name` is what people call it, `where` its place (`usb:1-1.3`), `words`
    what is to be said of it alone."""

    phone: str
    name: str
    where: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a night, or a moment of it, showed. `well`: cases that were judged and are not slower, why.
    `there`: phones that answered to the end; `in_hand`: phones that a person took. `lab`: every phone of the lab by
    identity, with its place. Whoever is in none of these is as before."""

    slower: Sequence[Slower] = ()
    well: Mapping[str, str] = field(default_factory=dict)
    lost: Sequence[Lost] = ()
    there: Collection[str] = ()
    in_hand: Collection[str] = ()
    lab: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What became of the alerts: `opened` are to be told; `again` stand and are not told; `closed` ended now."""

    opened: tuple[Alert, ...] = ()
    again: tuple[Alert, ...] = ()
    closed: tuple[Alert, ...] = ()

    @property
    def changed(self) -> tuple[Alert, ...]:
        """Everything that is to be written down."""
        return (*self.opened, *self.again, *self.closed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A cause that was seen now, before anybody asked whether it stands already."""

    cause: str
    kind: AlertKind
    words: str
    members: tuple[str, ...]


def case_member(key: SeriesKey) -> str:
    """A case as an alert's member: only ever compared."""
    return f"{key.phone}/{key.model_name}/{key.recipe_name}/{key.row_name}"


def fold(nightly: str, night: str, standing: Sequence[Alert], seen: Seen) -> Folded:
    """The alerts after this. `standing` are the open ones of this nightly; told twice of one night, nothing changes."""
    away = {one.phone for one in seen.lost}
    slow = {case_member(one.key) for one in seen.slower}
    gone = {
        **{member: why for member, why in seen.well.items() if member not in slow},
        **{phone: "there again" for phone in seen.there if phone not in away},
        **dict.fromkeys(seen.in_hand, "in hand"),
    }
    kept = [_without(one, gone, night) for one in standing if one.stands]
    held = {member for one in kept if one.stands for member in one.members}
    fresh_slow = [one for one in seen.slower if case_member(one.key) not in held]
    fresh_lost = [one for one in seen.lost if one.phone not in held]
    found = [*_regressions(fresh_slow), *_absences(fresh_lost, seen, held)]
    opened = []
    for one in found:
        same = next((at for at, alert in enumerate(kept) if alert.stands and alert.cause == one.cause), None)
        if same is None:
            opened.append(_opened(nightly, night, one))
        else:
            kept[same] = _joined(kept[same], one.members)
    here = slow | away
    again = [_seen_again(one, night) for one in kept if one.stands and here & set(one.members)]
    return Folded(opened=tuple(opened), again=tuple(again), closed=tuple(one for one in kept if not one.stands))


def sudden(folded: Folded) -> tuple[Alert, ...]:
    """The alerts that nobody waits for the morning with: a hub, or much of the lab, is gone."""
    return tuple(one for one in folded.opened if one.kind in (AlertKind.HUB, AlertKind.LAB))


# --- what stands -------------------------------------------------------------------------------------------------


def _without(alert: Alert, why: Mapping[str, str], night: str) -> Alert:
    """The alert without members that are well again; closed with its last one."""
    left = tuple(member for member in alert.members if member not in why)
    if left:
        return replace(alert, members=left)
    said = dict.fromkeys(why[member] for member in alert.members)
    return replace(alert, members=(), closed_night=night, why=", ".join(said))


def _joined(alert: Alert, members: Iterable[str]) -> Alert:
    fresh = [member for member in members if member not in alert.members]
    ever = [member for member in fresh if member not in alert.ever]
    return replace(alert, members=(*alert.members, *fresh), ever=(*alert.ever, *ever))


def _seen_again(alert: Alert, night: str) -> Alert:
    """The alert, seen on this night too; an older night than its last changes nothing."""
    return alert if night <= alert.last_night else replace(alert, last_night=night, nights=alert.nights + 1)


def _opened(nightly: str, night: str, found: _Found) -> Alert:
    return Alert(
        nightly=nightly, cause=found.cause, kind=found.kind, words=found.words, members=found.members,
        ever=found.members, opened_night=night, last_night=night,
    )  # fmt: skip


# --- causes ------------------------------------------------------------------------------------------------------


def _regressions(slower: Sequence[Slower]) -> list[_Found]:
    """One cause for as many cases as share it: the change that most of those left have among their likeliest."""
    left = list(slower)
    found = []
    while left:
        causes: dict[str, tuple[int, float, Change]] = {}
        for one in left:
            for change in _candidates(one):
                count = causes.get(change.cause, (0, 0.0, change))[0] + 1
                causes[change.cause] = (count, change.weight, change)
        if not causes:
            found += [_alone(one) for one in left]
            break
        _, _, change = max(causes.values(), key=lambda ranked: ranked[:2])
        mine = [one for one in left if change.cause in {each.cause for each in _candidates(one)}]
        left = [one for one in left if one not in mine]
        members = tuple(case_member(one.key) for one in mine)
        found.append(
            _Found(cause=change.cause, kind=AlertKind.REGRESSION, words=_shared(change, mine), members=members)
        )
    return found


def _candidates(one: Slower) -> tuple[Change, ...]:
    """The changes that may be this case's cause: the likely ones, or, where none is, all."""
    return tuple(change for change in one.changes if change.likely) or one.changes


def _alone(one: Slower) -> _Found:
    member = case_member(one.key)
    words = f"{one.words}; nothing that is known changed"
    return _Found(cause=f"case {member}", kind=AlertKind.REGRESSION, words=words, members=(member,))


def _shared(change: Change, cases: Sequence[Slower]) -> str:
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    hedge = "" if change.likely else "perhaps "
    return f"{cases[0].words}{more}: {hedge}{change.words}"


def _absences(fresh: Sequence[Lost], seen: Seen, held: Collection[str]) -> list[_Found]:
    """A hub of which no phone is left, much of the lab, or single phones. `held` are away already, by another alert."""
    if not fresh:
        return []
    left = list(fresh)
    found = []
    away = {one.phone for one in seen.lost}
    while len(left) >= TOGETHER and (hub := _hub_gone(left, away, seen.lab)) is not None:
        mine = [one for one in left if hub in _hubs(one.where)]
        left = [one for one in left if one not in mine]
        words = (
            f"{hub_words(hub)} is gone with its {len(mine)} phones ({_names(mine)}): look after its supply and cable"
        )
        found.append(_absence(f"hub {hub}", AlertKind.HUB, words, mine))
    if len(found) > 1 and len(fresh) > LAB_SHARE * len(seen.lab):  # several hubs at once are no hub's doing
        found, left = [], list(fresh)
    at_large = len(left) + sum(one.phone in held for one in seen.lost)
    if len(left) >= TOGETHER and at_large > LAB_SHARE * len(seen.lab):
        words = f"{len(left)} of the lab's {len(seen.lab)} phones are gone at once: {_names(left)}"
        found.append(_absence("lab", AlertKind.LAB, words, left))
        left = []
    return [*found, *(_absence(f"phone {one.phone}", AlertKind.PHONE, one.words or one.name, [one]) for one in left)]


def _absence(cause: str, kind: AlertKind, words: str, phones: Sequence[Lost]) -> _Found:
    return _Found(cause=cause, kind=kind, words=words, members=tuple(one.phone for one in phones))


def _hub_gone(left: Sequence[Lost], away: Collection[str], lab: Mapping[str, str]) -> str | None:
    """The hub nearest to the phones that took the most of those left with it, and all that hang on it."""
    best: tuple[int, str] | None = None
    for one in left:
        for hub in _hubs(one.where):
            below = {phone for phone, where in lab.items() if hub in _hubs(where)}
            mine = sum(hub in _hubs(other.where) for other in left)
            if is_root(hub) and below == set(lab):
                continue  # every phone there is: the adb server's doing as well as that of the computer's bus
            if mine >= TOGETHER and below <= set(away) and (best is None or mine > best[0]):
                best = (mine, hub)
    return None if best is None else best[1]


def _hubs(where: str) -> list[str]:
    return hubs_above(path_of(where))


def _names(lost: Sequence[Lost]) -> str:
    names = [one.name for one in lost[:8]]
    more = f" and {len(lost) - len(names)} more" if len(lost) > len(names) else ""
    return ", ".join(names) + more
