"""A run's claims on its phones: taken at once or waited for, given in turns where the lab's file says so."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.app.kept import Kept
from orchestrator.app.phones import Phone
from orchestrator.app.site import Site
from orchestrator.app.wish import Wish
from orchestrator.errors import Problem, UsageError
from orchestrator.farm.lock import Holder, PhoneLock
from orchestrator.farm.loop import Farm
from orchestrator.farm.sharing import Turn
from orchestrator.store.lab_file import read_lab

_SHARE = "or share by turns: longest_stretch_minutes in lab.toml"


@dataclass(frozen=True, slots=True)
class Named:
    """A run's name and the seed of its order; its phones are claimed."""

    run_id: str
    seed: int
    claims: Mapping[str, PhoneLock] = field(default_factory=dict)


class PhonesBusy(UsageError):
    """Other runs have phones that this one wants, and they are not shared by turns."""


def name_and_claim(wish: Wish, phones: Sequence[Phone], site: Site) -> Named:
    """Name a run and claim its phones, before anything is put on them. Raises UsageError when one is busy."""
    seed = wish.plan.seed if wish.plan.seed is not None else secrets.randbelow(2**31)
    run_id = site.ledger.new_run_name(wish.name, site.clock.now(), seed)
    return Named(run_id, seed, claim(phones, run_id, site))


def claim(phones: Sequence[Phone], run_id: str, site: Site) -> dict[str, PhoneLock]:
    """Claim every phone of a run, by identity. Where phones are shared by turns, wait for those that are busy.

    Claims that are waited for are taken in one order by everybody: two runs never wait for each other.
    Raises PhonesBusy naming who has a phone, where they are not shared; nothing is claimed then.
    """
    shared = _stretch_s(site) is not None
    locks: dict[str, PhoneLock] = {}
    problems: list[Problem] = []
    for phone in sorted(phones, key=lambda one: one.claim_key):
        lock = PhoneLock(phone.claim_key)
        holder = lock.take(run_id)
        if holder is not None and shared:
            site.say(f"{phone.label} is busy: {holder.text()}; waiting for this run's turn (Ctrl-C: don't)")
            lock.wait(run_id, lambda: False)
        elif holder is not None:
            problems.append(_busy(phone, holder))
            continue
        locks[phone.identity] = lock
    if problems:
        for lock in locks.values():
            lock.release()
        raise PhonesBusy(*problems)
    return locks


def share(farm: Farm, locks: Mapping[str, PhoneLock], kept: Kept, site: Site) -> None:
    """Have a farm's phones go round by turns. One that the run prepares is kept to its end, when it is put back."""
    stretch_s = _stretch_s(site)
    farm.turns = {
        phone: Turn(lock, farm.run_id, None if kept.steps_of(phone) else stretch_s, site.clock)
        for phone, lock in locks.items()
        if phone in farm.lanes
    }


def _stretch_s(site: Site) -> float | None:
    minutes = read_lab(site.home).lab.longest_stretch_minutes
    return None if minutes is None else minutes * 60.0


def _busy(phone: Phone, holder: Holder) -> Problem:
    return Problem(
        phone.label, f"busy: {holder.text()}", f"wait for that run, cancel it, or leave the phone out; {_SHARE}"
    )
