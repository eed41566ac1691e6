"""Which of a lab's phones a run uses: what `--device` means, who is unusable or missing, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from orchestrator.app.hosts import attached_phones, plugged_in
from orchestrator.app.phones import Phone, as_known, names_of, start_virtual
from orchestrator.app.registry import Registry, absent_candidate, bar_of, missing_words, read_registry
from orchestrator.errors import NoUsableDevice, Problem, UsageError
from orchestrator.home import Home
from orchestrator.plan.select import choose, matches_any, parse_devices

TRY_VIRTUAL = "no phone? orch run MODEL --device virtual tries everything without one"


def chosen_phones(
    options: Sequence[str], home: Home, port: int, slots: int, say: Callable[[str], object]
) -> list[Phone]:
    """The phones of a run. Without an option: the only usable real phone. `say` is told of each unusable one.

    What people said of them counts: labels are names, and who is held, in quarantine or retired is unusable.
    Raises UsageError (exit 2) for what can't be understood or is not unique, NoUsableDevice (exit 4) when none is left.
    """
    expressions, wishes = parse_devices(options)
    registry = read_registry(home)
    phones = as_known(start_virtual(home, wishes, slots), registry) if wishes else []
    if expressions:
        started = {one.identity for one in phones}
        everything = as_known(
            [one for one in attached_phones(home, port, say) if one.identity not in started], registry
        )
        candidates = [phone.candidate() for phone in everything]
        absent = [absent_candidate(one) for one in registry.absent(names_of(everything))]
        found = {id(one) for one in choose(expressions, [*candidates, *absent])}
        phones += [one for one, candidate in zip(everything, candidates, strict=True) if id(candidate) in found]
        _refuse_named_but_unusable(expressions, phones)
    elif not wishes:
        phones = _the_only_one(as_known(plugged_in(home, port, say), registry))
    usable = [phone for phone in phones if phone.usable]
    if not usable and not phones and (gone := missing_phones(options, [], registry)):
        raise NoUsableDevice("\n".join(["no usable phone", *(f"  missing: {words}" for words in gone)]))
    if not usable:
        raise NoUsableDevice("\n".join(["no usable phone", *unusable_lines(phones), TRY_VIRTUAL]))
    for line in unusable_lines(phones):
        say(f"left out{line}")
    return usable


def missing_phones(options: Sequence[str], chosen: Sequence[Phone], registry: Registry) -> list[str]:
    """The phones, in words, that options ask for and that are not there: named ones, and expected ones of `all`.

    Who is held or in quarantine is not missing.
    """
    now, missing = datetime.now(UTC), []
    expressions, _ = parse_devices(options)
    for phone in registry.absent(names_of(chosen)):
        candidate = absent_candidate(phone)
        named = any(set(candidate.names()) & set(one.terms) for one in expressions)
        wanted = phone.expected or named
        if wanted and not bar_of(phone, now)[0] and matches_any(expressions, candidate):
            missing.append(missing_words(phone, now))
    return missing


def _refuse_named_but_unusable(expressions: Sequence[object], phones: Sequence[Phone]) -> None:
    named = {term for expression in expressions for term in getattr(expression, "terms", ())}
    problems = [
        Problem(f"--device {phone.label}", _state_of(phone), phone.mend)
        for phone in phones
        if not phone.usable and set(phone.candidate().names()) & named
    ]
    if problems and len(problems) == len(phones):
        raise NoUsableDevice("\n".join(problem.line() for problem in problems))


def _state_of(phone: Phone) -> str:
    """What adb says of an unusable phone; one that adb thinks well of is unusable for a reason of its own."""
    return "can't be used" if phone.state == "device" else f"is {phone.state}"


def _the_only_one(phones: Sequence[Phone]) -> list[Phone]:
    usable = [phone for phone in phones if phone.usable]
    if len(usable) == 1:
        return usable
    if not usable:
        raise NoUsableDevice("\n".join(["no usable phone", *unusable_lines(phones), TRY_VIRTUAL]))
    names = ", ".join(phone.label for phone in usable)
    raise UsageError(Problem("--device", f"{len(usable)} phones are usable: {names}", "add --device all, or name one"))


def unusable_lines(phones: Sequence[Phone]) -> list[str]:
    """Of these phones those that can't be used, each with why and its mend."""
    return [f"  {phone.label}  {_state_of(phone)}: {phone.mend}" for phone in phones if not phone.usable]
