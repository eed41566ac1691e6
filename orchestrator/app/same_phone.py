"""Pure: which lines of adb's list are one phone. A phone is its `ro.serialno`, fingerprint and USB path, not its
transport's name: one that is reached over USB and the network counts once, two of one name not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.report.lines import as_listed

if TYPE_CHECKING:
    from orchestrator.app.phones import Phone


def one_each(phones: Sequence[Phone]) -> list[Phone]:
    """Every phone once, over USB where there is a choice, by identity; those that can't be told apart are unusable."""
    groups: dict[str, list[Phone]] = {}
    for phone in _nameless_once(phones):
        groups.setdefault(phone.identity, []).append(phone)
    found = [one for group in groups.values() for one in _of_one_name(group)]
    return sorted(found, key=lambda phone: as_listed(phone.label))


def _nameless_once(phones: Sequence[Phone]) -> list[Phone]:
    """Without those that are reached by another way already: who has no `ro.serialno` goes by its transport's name, and
    on the network it may have several (`adb connect localhost:5555`, an emulator's name); its boot has one."""
    lives: dict[str, list[Phone]] = {}
    for phone in phones:
        boot = phone.vitals.boot_id if phone.vitals is not None else None
        nameless = phone.facts is not None and phone.identity == str(phone.seen.serial)
        if nameless and boot is not None and not phone.seen.where.startswith("usb:"):
            lives.setdefault(boot, []).append(phone)
    beside = [
        id(other)
        for group in lives.values()
        for other in sorted(group, key=lambda one: (one.seen.where != "tcp", str(one.seen.serial)))[1:]
    ]
    return [phone for phone in phones if id(phone) not in beside]


def _of_one_name(phones: Sequence[Phone]) -> list[Phone]:
    asked = [phone for phone in phones if phone.facts is not None]
    if len(asked) < 2:
        return asked or list(phones)
    if same(asked):
        return [min(asked, key=lambda phone: not phone.seen.where.startswith("usb:"))]
    places = " and ".join(phone.seen.where if phone.seen.where != "tcp" else str(phone.seen.serial) for phone in asked)
    mend = f"{len(asked)} phones call themselves {asked[0].identity} ({places}): leave one attached, or give it another"
    return [replace(phone, facts=None, vitals=None, mend=mend, bar="ambiguous") for phone in asked]


def same(phones: Sequence[Phone]) -> bool:
    """Whether phones of one `ro.serialno` are one: the kernel's own name of its present life says so where both give
    it; else one fingerprint, and not two places on USB."""
    boots = {phone.vitals.boot_id if phone.vitals is not None else None for phone in phones}
    if None not in boots:
        return len(boots) == 1
    fingerprints = {phone.facts.fingerprint for phone in phones if phone.facts is not None}
    places = {phone.seen.where for phone in phones if phone.seen.where.startswith("usb:")}
    return len(fingerprints) == 1 and len(places) < 2
