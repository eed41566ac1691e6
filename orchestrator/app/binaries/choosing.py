"""Pure: which registered build the phones of a run execute."""

from __future__ import annotations

from collections.abc import Sequence

from android_runner.facts import PhoneFacts
from android_runner.ort import OrtVersion
from orchestrator.app.binaries.build import HOW, BuildFacts
from orchestrator.app.binaries.registry import Build
from orchestrator.app.binaries.taking import PERF_TEST
from orchestrator.errors import Problem, UsageError

_KINDS = ("minimal", "extended minimal", "", "full")
"""The more of the runtime there is, the better."""


def why_not_on(facts: BuildFacts, phone: PhoneFacts) -> str | None:
    """Why a phone does not execute a build; None when nothing speaks against it."""
    if facts.abi not in phone.exec_abis:
        return f"is built for {facts.abi}, {phone.identity} executes {', '.join(phone.exec_abis) or 'nothing known'}"
    if facts.android_api is not None and 0 < phone.api_level < facts.android_api:
        return f"needs API {facts.android_api}, {phone.identity} has API {phone.api_level}"
    if facts.page_bytes is not None and facts.page_bytes < phone.page_bytes:
        return f"is aligned to {facts.page_bytes} bytes, {phone.identity} has pages of {phone.page_bytes}"
    return None


def choose(builds: Sequence[Build], phones: Sequence[PhoneFacts]) -> Build:
    """The best build that every phone executes: the fuller, then the newer version, then what was added last.

    Raises UsageError when none has a perf_test, or there is none for all of the phones: what each lacks there.
    """
    runnable = [one for one in builds if PERF_TEST in one.facts.programs]
    fitting = [one for one in runnable if all(why_not_on(one.facts, phone) is None for phone in phones)]
    if fitting:
        return max(fitting, key=_rank)
    raise UsageError(*(_nothing_for(phone, builds, runnable) for phone in _worst(runnable, phones)))


def _rank(build: Build) -> tuple[int, int, OrtVersion, str]:
    """The phone's best ABI goes first by itself: a phone that executes 64 bits is not measured with 32."""
    facts = build.facts
    version = OrtVersion.parse(facts.ort_version) if facts.ort_version else OrtVersion(0, 0)
    return int(facts.abi in ("arm64-v8a", "x86_64")), _KINDS.index(facts.kind), version, build.added_at


def _worst(runnable: Sequence[Build], phones: Sequence[PhoneFacts]) -> Sequence[PhoneFacts]:
    """The phones that no build serves; all of them where each is served by another."""
    without = [phone for phone in phones if all(why_not_on(one.facts, phone) for one in runnable)]
    return without or phones


def _nothing_for(phone: PhoneFacts, builds: Sequence[Build], runnable: Sequence[Build]) -> Problem:
    names = ", ".join(dict.fromkeys(one.name for one in builds))
    if not runnable:
        return Problem(names, f"has no {PERF_TEST}", f"build one: {HOW}")
    reasons = [(one, why_not_on(one.facts, phone)) for one in runnable]
    serving = [one.name + " " + one.facts.abi for one, reason in reasons if reason is None]
    if serving:
        what = f"takes {', '.join(serving)}, which other phones of this run do not"
        return Problem(phone.identity, what, "measure them in runs of their own: --device")
    words = "; ".join(f"{one.name} {reason}" for one, reason in reasons)
    abi = next(iter(phone.exec_abis), "it")
    return Problem(phone.identity, words, f"orch binaries add one for {abi}; {HOW}")
