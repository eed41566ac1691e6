"""What people say and do about a lab's phones: add, label, expect, hold, free, quarantine, release, retire, clean."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from android_runner.block import ORCH_DIR
from android_runner.deadline import Deadline
from android_runner.device import Device, quoted
from android_runner.errors import PhoneRefused, RunnerError
from android_runner.facts import cleaned
from android_runner.run import sweep
from orchestrator.app.hosts import attached_phones
from orchestrator.app.phones import Phone, as_known
from orchestrator.app.registry import Registry, note_seen, read_registry
from orchestrator.errors import ExitCode, NoUsableDevice, Problem, UsageError
from orchestrator.farm.lock import PhoneLock, user_name
from orchestrator.home import Home
from orchestrator.lab import LABEL_SHAPE
from orchestrator.store.lab_file import read_lab
from orchestrator.store.ledger import Ledger
from orchestrator.store.registered import Hold, Quarantine, RegisteredPhone, Retired

CLEAN_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabDesk:
    """A home's phones, and who speaks. `adb_port` None: the adb servers for real phones are left alone. `say` is told
    of hosts that do not answer."""

    home: Home
    ledger: Ledger
    adb_port: int | None
    now: datetime
    say: Callable[[str], object]

    def named(self, names: Sequence[str]) -> list[RegisteredPhone]:
        """The phones of these labels, identities or serials: known ones, else attached ones. Raises UsageError."""
        registry = read_registry(self.home)
        known = {name: registry.called(name) for name in names}
        strange = [name for name, phone in known.items() if phone is None]
        attached = self._attached() if strange else []
        problems = []
        for name in strange:
            found = next((one for one in attached if name in one.candidate().names()), None)
            if found is None or found.facts is None:
                problems.append(_unknown(name, registry, attached) if found is None else _silent(found))
            else:
                known[name] = registry.of(found.identity)
        if problems:
            raise UsageError(*problems)
        return list({one.phone: one for one in known.values() if one is not None}.values())

    def add(self, name: str, *, label: str, expected: bool) -> RegisteredPhone:
        """Know a phone that is attached; it is expected from now on. Raises NoUsableDevice when it does not answer."""
        attached = self._attached()
        found = next((one for one in attached if name in one.candidate().names()), None)
        if found is None:
            raise UsageError(_unknown(name, read_registry(self.home), attached))
        if found.facts is None:
            raise NoUsableDevice(_silent(found).line())
        if label:
            self.label(found.identity, label)
        self.ledger.phones.add(found.identity, user_name(), self.now)
        if expected:
            self.ledger.phones.expect(found.identity, True, user_name(), self.now)
        note_seen([found], self.ledger)
        return read_registry(self.home).of(found.identity)

    def label(self, phone: str, label: str) -> None:
        """Call a phone so; empty: by its serial again. Raises UsageError."""
        lab = read_lab(self.home).labels()
        if phone in lab:
            raise UsageError(
                Problem(f"label of {phone}", f"is {lab[phone]!r} by {self.home.lab_file}", "change it there")
            )
        if label in lab.values():
            raise UsageError(Problem(f"label {label!r}", "is another phone's", f"see {self.home.lab_file}"))
        if label and not re.fullmatch(LABEL_SHAPE, label):
            mend = "letters, digits, . _ -, 20 at most, a letter or digit first"
            raise UsageError(Problem(f"label {label!r}", "can't be a label", mend))
        if label == "all" or label.startswith(("virtual", "api", "any")):
            raise UsageError(Problem(f"label {label!r}", "means something else in --device", "give another"))
        self.ledger.phones.label(phone, label, user_name(), self.now)

    def expect(self, phone: str, expected: bool) -> None:
        """Whether its absence is told."""
        self.ledger.phones.expect(phone, expected, user_name(), self.now)

    def hold(self, phone: str, why: str, until: datetime | None) -> None:
        """Have it in hand: a run finishes its trial there and goes on without it."""
        self.ledger.phones.hold(phone, Hold(by=user_name(), since=self.now, why=cleaned(why), until=until))

    def free(self, phone: str) -> bool:
        """Give it back; whether somebody had it."""
        return self.ledger.phones.free(phone, user_name(), self.now)

    def quarantine(self, phone: str, reason: str, until: datetime | None) -> None:
        """Keep every run off it."""
        record = Quarantine(reason=cleaned(reason), since=self.now, by=user_name(), expires=until)
        self.ledger.phones.quarantine(phone, record)

    def release(self, phone: str, why: str) -> bool:
        """Let runs use it again; whether it was in quarantine."""
        return self.ledger.phones.release(phone, user_name(), cleaned(why), self.now)

    def retire(self, phone: str, why: str) -> None:
        """It has left the lab."""
        self.ledger.phones.retire(phone, Retired(by=user_name(), since=self.now, why=cleaned(why)))

    def clean(self, names: Sequence[str]) -> list[tuple[str, str, ExitCode]]:
        """End what runs of ours left on phones, and remove our folder there but for the lease; (phone, words, code)."""
        wanted = {one.phone: one for one in self.named(names)}
        attached = {one.identity: one for one in self._attached() if one.facts is not None}
        return [(one.name, *self._clean(one, attached.get(phone))) for phone, one in wanted.items()]

    def _clean(self, known: RegisteredPhone, phone: Phone | None) -> tuple[str, ExitCode]:
        if phone is None:
            return "is not attached, or does not answer", ExitCode.NO_DEVICE
        lock = PhoneLock(phone.claim_key)
        if (holder := lock.take("clean")) is not None:
            return f"busy: {holder.text()}", ExitCode.USAGE
        try:
            if runs := self._unfetched(known.phone):
                return f"has results of {', '.join(runs)}: orch resume {runs[0]} first", ExitCode.USAGE
            return _clean_phone(phone.source()), ExitCode.DONE
        except RunnerError as error:
            return str(error), ExitCode.INCOMPLETE
        finally:
            lock.release()

    def _unfetched(self, phone: str) -> list[str]:
        """Runs with a block on the phone whose end nobody has seen."""
        runs = [one.run.run_id for one in self.ledger.runs()]
        return [run for run in runs if any(block.phone == phone for block in self.ledger.open_blocks(run))]

    def _attached(self) -> list[Phone]:
        return as_known(attached_phones(self.home, self.adb_port, self.say), read_registry(self.home))


def desk_of(home: Home, ledger: Ledger, adb_port: int | None, say: Callable[[str], object]) -> LabDesk:
    """The desk at this moment."""
    return LabDesk(home=home, ledger=ledger, adb_port=adb_port, now=datetime.now(UTC).astimezone(), say=say)


def _clean_phone(device: Device) -> str:
    """Our processes and our folder, but for the lease: an older run must not take the phone back.

    Raises RunnerError.
    """
    deadline = Deadline.after(CLEAN_S)
    ended = sweep(device, deadline=deadline)
    folder = quoted(ORCH_DIR)
    script = f'[ -d {folder} ] || exit 0; cd {folder} && for f in *; do [ "$f" = lease ] || rm -rf "./$f"; done; ls -A'
    result = device.shell(script, deadline=deadline, max_output_bytes=64 * 1024)
    left = [name for name in cleaned(result.text()).split() if name != "lease"]
    if result.exit_code or left:
        said = cleaned(result.stderr.decode("utf-8", errors="replace"))
        raise PhoneRefused(f"not all of {ORCH_DIR} can be removed: {', '.join(left)} {said}".strip())
    return "; ".join([*map(cleaned, ended), "clean"])


def _unknown(name: str, registry: Registry, attached: Sequence[Phone]) -> Problem:
    known = {one.name for one in registry.phones.values()} | {one.label for one in attached}
    near = difflib.get_close_matches(name, sorted(known), n=1)
    mend = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
    return Problem("PHONE", f"no phone is called {name!r}", mend)


def _silent(phone: Phone) -> Problem:
    return Problem(str(phone.seen.serial), f"is {phone.seen.state}", phone.mend)
