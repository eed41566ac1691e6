"""Pure: what changed between a case's last good night and its first bad one, the likeliest cause first.

The order is a judgement, not a proof: what the case itself runs (its model, the binary, its settings) comes before what
the phone is (its system, its pace, its heat), and that before who measured. What left the graph as it was can hardly
have changed its speed, and stands low. A change of NNAPI's share is a symptom of another change wherever there is one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.nights.nouns import CaseNight, Circumstances

CANARY_SHARE = 0.02
"""A canary that moved by less than this, as a share of its time, says nothing of the phone's pace."""
WARMER_C = 3.0
"""A phone's warmest moment differs by a degree or two from night to night."""
WORN_POINTS = 5.0
"""Per cent of the design capacity: what a battery says of itself wanders by a point or two."""
LIKELY = 0.5
"""From this weight on a change is a likely cause."""
MAX_CAUSE = 400
"""A cause is a key in the ledger: a longer one is known by its digest."""
_SHORT = 10


class What(StrEnum):
    """What changed."""

    MODEL = "model"
    BINARY = "binary"
    SETTINGS = "settings"
    CONVERTER = "converter"
    GRAPH = "graph"
    SYSTEM = "system"
    CANARY = "canary"
    NNAPI = "NNAPI"
    HEAT = "heat"
    BATTERY = "battery"
    SCRIPT = "phone's script"
    ORCH = "orch"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that was another on the bad night. `words` say it for people. `weight`, 0 to 1, orders causes: how
    likely such a change slows a case. `cause` is the same text for every case that this very change can have slowed:
    a binary's is the lab's, a system's its phone's."""

    what: What
    before: str
    after: str
    words: str
    weight: float
    cause: str

    @property
    def likely(self) -> bool:
        """Whether it is worth being named as the cause."""
        return self.weight >= LIKELY


def changes(good: CaseNight, bad: CaseNight) -> tuple[Change, ...]:
    """What changed from `good` to `bad`, nights of one series, the likeliest cause first. What is not known on one of
    the two nights is no change."""
    found = [*_of_case(good, bad), *_of_phone(good, bad), *_of_tools(good, bad)]
    return tuple(sorted(found, key=lambda one: -one.weight))


def _of_case(good: CaseNight, bad: CaseNight) -> Iterator[Change]:
    old, new = good.circumstances, bad.circumstances
    key = bad.key
    graph = _differs(old.graph_digest, new.graph_digest)
    same_graph = bool(old.graph_digest) and old.graph_digest == new.graph_digest
    note = "; the graph that runs is the same" if same_graph else ""
    model = _differs(old.model_digest, new.model_digest)
    converter = _differs(old.converter, new.converter)
    if model:
        words = f"another {key.model_name}: {_short(old.model_digest)} → {_short(new.model_digest)}{note}"
        cause = f"model {key.model_name}"
        yield _change(What.MODEL, old.model_digest, new.model_digest, words, 0.3 if same_graph else 0.95, cause)
    if _differs(old.binary_digest, new.binary_digest) or _differs(old.ort_version, new.ort_version):
        words = f"another perf_test: {_binary(old)} → {_binary(new)}"
        before, after = (f"{one.ort_version} {one.binary_digest}".strip() for one in (old, new))
        yield _change(What.BINARY, before, after, words, 0.9, "binary")
    if _differs(old.settings, new.settings):
        words = f"{key.row_name} means other settings: {old.settings} → {new.settings}"
        yield _change(What.SETTINGS, old.settings, new.settings, words, 0.85, f"settings {key.row_name}")
    if converter:
        words = f"another converter: {old.converter} → {new.converter}{note}"
        yield _change(What.CONVERTER, old.converter, new.converter, words, 0.2 if same_graph else 0.8, "converter")
    if graph and not model and not converter:
        words = f"another graph of the same model: {_short(old.graph_digest)} → {_short(new.graph_digest)}"
        cause = f"graph {key.model_name} {key.recipe_name}"
        yield _change(What.GRAPH, old.graph_digest, new.graph_digest, words, 0.75, cause)
    if _differs(old.nnapi_taken, new.nnapi_taken):
        words = f"NNAPI took {new.nnapi_taken}, before {old.nnapi_taken}"
        cause = f"nnapi {key.phone} {key.model_name}"
        yield _change(What.NNAPI, old.nnapi_taken, new.nnapi_taken, words, 0.6, cause)


def _of_phone(good: CaseNight, bad: CaseNight) -> Iterator[Change]:
    old, new = good.circumstances, bad.circumstances
    phone = bad.key.phone
    if _differs(old.fingerprint, new.fingerprint):
        words = f"the phone's system: {old.fingerprint} → {new.fingerprint}"
        yield _change(What.SYSTEM, old.fingerprint, new.fingerprint, words, 0.7, f"system {phone}")
    for what, before, after, weight, tell in (
        (What.CANARY, old.canary_p50_s, new.canary_p50_s, 0.65, _canary),
        (What.HEAT, old.warmest_c, new.warmest_c, LIKELY, _heat),
        (What.BATTERY, old.battery_health, new.battery_health, 0.35, _battery),
    ):
        said = _moved(before, after, tell)
        if said:
            yield _change(what, f"{before:g}", f"{after:g}", said, weight, f"{what} {phone}", numeric=True)


def _of_tools(good: CaseNight, bad: CaseNight) -> Iterator[Change]:
    old, new = good.circumstances, bad.circumstances
    for what, before, after, weight in (
        (What.SCRIPT, old.script_digest, new.script_digest, 0.3),
        (What.ORCH, old.orch_version, new.orch_version, 0.25),
        (What.HOST, old.host, new.host, 0.15),
    ):
        if _differs(before, after):
            shown = (_short(before), _short(after)) if what is What.SCRIPT else (before, after)
            yield _change(what, before, after, f"another {what}: {shown[0]} → {shown[1]}", weight, what)


def _change(
    what: What, before: str, after: str, words: str, weight: float, about: str, *, numeric: bool = False
) -> Change:
    """A change; figures differ between a phone's cases, so that those are no part of what they share."""
    cause = about if numeric else f"{about}: {before} → {after}"
    if len(cause) > MAX_CAUSE:
        cause = f"{what}: {hashlib.sha256(cause.encode('utf-8', 'backslashreplace')).hexdigest()}"
    return Change(what=what, before=before, after=after, words=words, weight=weight, cause=cause)


def _differs(before: str, after: str) -> bool:
    return bool(before) and bool(after) and before != after


def _short(digest: str) -> str:
    return digest[:_SHORT]


def _binary(one: Circumstances) -> str:
    return f"ORT {one.ort_version} ({_short(one.binary_digest)})" if one.ort_version else _short(one.binary_digest)


def _moved(before: float | None, after: float | None, words: Callable[[float, float], str]) -> str:
    return words(before, after) if before is not None and after is not None else ""


def _canary(before_s: float, after_s: float) -> str:
    if before_s <= 0 or after_s / before_s - 1 < CANARY_SHARE:
        return ""
    return f"the phone itself is slower: its canary takes {(after_s / before_s - 1) * 100:.1f} % longer"


def _heat(before_c: float, after_c: float) -> str:
    return f"warmer: {after_c:.0f} °C at most, before {before_c:.0f} °C" if after_c - before_c >= WARMER_C else ""


def _battery(before: float, after: float) -> str:
    return (
        f"a weaker battery: {after:.0f} % of its design, before {before:.0f} %" if before - after >= WORN_POINTS else ""
    )
