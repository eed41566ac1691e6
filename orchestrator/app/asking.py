"""What the tool can do on each phone: staged and started there once, before anything is planned for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

from android_runner.capabilities import Capabilities, probe
from android_runner.deadline import Deadline
from android_runner.errors import BinaryUnusable, Blame, PhoneFull, Retry, RunnerError
from android_runner.staging import stage, staged_dir
from orchestrator.app.binary import Tool, Tools
from orchestrator.app.phones import Phone
from orchestrator.app.site import Site
from orchestrator.errors import NoUsableDevice, Problem, UsageError
from orchestrator.farm.kit import BINARY_NAME, Able

PROBE_S = 600.0
"""Staging a binary of some 30 MB over a slow hub, and starting it once."""

BACK_S = 15.0
"""How long a phone whose link was lost while it was asked is waited for, before it is left out."""


def capabilities_of(phone: Phone, tool: Tool, site: Site, keep: Collection[str] = ()) -> Capabilities:
    """What the tool can do on a phone: from the ledger, else asked there once.

    `keep`: digests of staged units that must not make room for it. Raises RunnerError: the phone can't take the tool,
    or can't execute it.
    """
    known = site.ledger.capabilities(phone.identity, tool.unit.digest)
    if known is not None:
        return Capabilities.from_json(known)
    device = phone.source()
    deadline = Deadline.after(PROBE_S)
    stage(device, [tool.unit], deadline=deadline, keep=keep, turn=site.hubs.turn_of(phone))
    folder = staged_dir(tool.unit.digest)
    found = probe(device, folder / BINARY_NAME, folder, deadline=deadline).with_ort_version(tool.ort_version)
    site.ledger.save_capabilities(phone.identity, tool.unit.digest, found.to_json())
    return found


def able_phones(
    phones: Sequence[Phone], tools: Tools, site: Site, keep: Collection[str] = ()
) -> list[tuple[Phone, Able]]:
    """The phones that can execute the tools, with what each can do there; the others are said, each with its reason.

    `keep`: digests of staged units that stay on the phones, since a block of the run may still use them there.
    When none is left, raises UsageError if the tool is to blame on any, NoUsableDevice if it is the phones alone.
    """
    problems: list[Problem] = []
    blamed: list[Blame] = []
    able: list[tuple[Phone, Able]] = []
    keep = [*keep, *(tool.unit.digest for tool in tools.every)]

    def ask(phone: Phone) -> Able | RunnerError:
        found: dict[str, Capabilities] = {}
        for tool in tools.every:
            one = _ask(phone, tool, site, keep)
            if isinstance(one, RunnerError):
                return one
            found[tool.unit.digest] = one
        return found

    with ThreadPoolExecutor(max_workers=8) as pool:
        for phone, found in zip(phones, pool.map(ask, phones), strict=True):
            if not isinstance(found, RunnerError):
                able.append((phone, found))
            else:
                problems.append(Problem(phone.label, str(found), _mend(found)))
                blamed.append(found.blame)
    if not able and any(blame is not Blame.LAB for blame in blamed):
        raise UsageError(*problems)
    if not able:
        raise NoUsableDevice("\n".join(["no usable phone", *(f"  {problem.line()}" for problem in problems)]))
    for problem in problems:
        site.say(f"left out  {problem.line()}")
    return able


def _ask(phone: Phone, tool: Tool, site: Site, keep: Collection[str]) -> Capabilities | RunnerError:
    assert phone.facts is not None
    refusal = tool.refusal(phone.facts)
    if refusal is not None:
        return BinaryUnusable(refusal)
    try:
        return capabilities_of(phone, tool, site, keep)
    except RunnerError as error:
        if error.retry not in (Retry.HERE, Retry.LATER):
            return error
    try:  # a cable that moved just now costs no phone its place in the run
        return capabilities_of(_once_back(phone, site), tool, site, keep)
    except RunnerError as error:
        return error


def _once_back(phone: Phone, site: Site) -> Phone:
    """The phone, after it has answered again or `BACK_S` have passed."""
    patience = Deadline.after(BACK_S, site.clock)
    while not patience.passed():
        try:
            phone.source().shell("true", deadline=patience.clip(5.0))
            break
        except RunnerError:
            site.clock.sleep(0.5)
    return phone


def _mend(error: RunnerError) -> str:
    if isinstance(error, PhoneFull):
        return "make room on the phone, or leave it out"
    if error.blame is Blame.LAB:
        return "look after the phone, or leave it out"
    return "give a perf_test that this phone executes"
