"""Pure: the undo list: what each knob was before, and what is to be done about it now.

The list is on the host's disk before the first change. An entry is `confirmed` once the phone has told what the knob
reads after our change; until then nobody knows whether the change was made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from android_runner.preparing.knobs import Knob, knob_from_text, same
from android_runner.preparing.steps import StepName

MAX_LIST_BYTES = 1024 * 1024
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoEntry:
    """One knob: its value `before` we changed it, and `ours`: what we set, or what it read then."""

    step: StepName
    knob: Knob
    before: str
    ours: str
    confirmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoList:
    """What a run changed on one phone, in the order of the changes; `made_at` as ISO 8601."""

    phone: str
    run_id: str
    made_at: str
    entries: tuple[UndoEntry, ...]

    def without(self, knob: Knob) -> UndoList:
        """The list when a knob is back."""
        return replace(self, entries=tuple(one for one in self.entries if one.knob != knob))

    def told(self, knob: Knob, now: str | None) -> UndoList:
        """The list when the phone has told what a knob reads after our change: as it was needs no undoing."""
        if now is None:
            return self
        told = (replace(one, ours=now, confirmed=True) if one.knob == knob else one for one in self.entries)
        return replace(self, entries=tuple(one for one in told if one.knob != knob or not same(now, one.before)))


class Todo(StrEnum):
    """What an entry asks for now."""

    NOTHING = "is as it was"
    PUT_BACK = "put back"
    PUT_BACK_UNSURE = "put back over a value that is neither the old one nor ours: we were cut off while setting it"
    LEAVE = "changed since by somebody else: left as it is"
    UNKNOWN = "can't be read"


def todo(entry: UndoEntry, now: str | None) -> Todo:
    """What to do about a knob that reads `now` (None: it can't be read)."""
    if now is None:
        return Todo.UNKNOWN
    if same(now, entry.before):
        return Todo.NOTHING
    if same(now, entry.ours):
        return Todo.PUT_BACK
    return Todo.LEAVE if entry.confirmed else Todo.PUT_BACK_UNSURE


def merged(old: UndoList | None, new: UndoList) -> UndoList:
    """The new list with what an older one could not put back: there the older `before` is the true one."""
    if old is None:
        return new
    before = {one.knob: one.before for one in old.entries}
    entries = [replace(one, before=before.get(one.knob, one.before)) for one in new.entries]
    there = {one.knob for one in entries}
    return replace(new, entries=(*(one for one in old.entries if one.knob not in there), *entries))


def undo_to_text(undo: UndoList) -> str:
    """As JSON, a line an entry."""
    entries = [
        json.dumps([one.step.value, one.knob.text(), one.before, one.ours, one.confirmed]) for one in undo.entries
    ]
    head = {"version": _VERSION, "phone": undo.phone, "run": undo.run_id, "made_at": undo.made_at}
    return json.dumps(head)[:-1] + ', "entries": [\n' + ",\n".join(entries) + "\n]}\n"


def undo_from_text(text: str) -> UndoList:
    """Back again. Raises ValueError for what is not ours, or of another version."""
    try:
        data = json.loads(text)
        if data["version"] != _VERSION:
            raise ValueError(f"version {data['version']!r}")
        head = {name: data[name] for name in ("phone", "run", "made_at")}
        entries = tuple(_entry(one) for one in data["entries"])
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"no undo list: {error!r}") from error
    if not all(isinstance(one, str) for one in head.values()):
        raise ValueError("no undo list: its head is no text")
    return UndoList(phone=head["phone"], run_id=head["run"], made_at=head["made_at"], entries=entries)


def _entry(data: Sequence[object]) -> UndoEntry:
    step, knob, before, ours, confirmed = data
    if not (isinstance(step, str) and isinstance(knob, str) and isinstance(before, str) and isinstance(ours, str)):
        raise ValueError(f"no entry of an undo list: {data!r}")
    return UndoEntry(
        step=StepName(step), knob=knob_from_text(knob), before=before, ours=ours, confirmed=confirmed is True
    )
