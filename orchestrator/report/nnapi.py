"""Pure nouns of a report: what NNAPI took of one model on one phone, what it should have taken, and what it cost.

Three shares, never mixed: of the model's own nodes, of the time of a traced run, of the multiply-adds.
"""

from __future__ import annotations

from dataclasses import dataclass

NotTaken = tuple[str, str, int]
"""Operator, reason, number of nodes that stay on the CPU for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NnapiPrediction:
    """What the claim rules say of this phone. `graphs` are the recipes for which they say it: a tuple for each graph,
    its twins together.

    `partitions` has the operators of each. `multiply_adds_share` is None where a shape is not known; `not_checked`
    counts nodes of which no rule says anything, `caveat` is what the rules leave out that may matter.
    """

    graphs: tuple[tuple[str, ...], ...]
    flags: tuple[str, ...]
    nodes: int
    nodes_claimed: int
    partitions: tuple[tuple[str, ...], ...]
    multiply_adds_share: float | None
    not_taken: tuple[NotTaken, ...]
    not_checked: int
    caveat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NnapiCase:
    """What one NNAPI case did, from its introspection and its trace.

    `known` is whether it is certain what was taken; where it is not, counts are None and `why` says why. Nodes are the
    model's own; `layout_nodes` are those that the layout pass added. `partition_s` is the mean time of each partition
    in a traced run, in seconds, in the order of their numbers, `cpu_s` the CPU's for the same nodes (None: not known),
    and `time_share` theirs of all nodes. `as_predicted` is None where either side is not known.
    """

    case: str
    row: str
    known: bool
    why: str
    partitions: int | None
    nodes: int | None
    nodes_claimed: int | None
    layout_nodes: int | None
    partition_s: tuple[float, ...]
    cpu_s: tuple[float | None, ...]
    time_share: float | None
    multiply_adds_share: float | None
    as_predicted: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NnapiAnswer:
    """NNAPI on one phone for one model. `devices` are (name, type), None where the phone did not tell."""

    devices: tuple[tuple[str, str], ...] | None
    predictions: tuple[NnapiPrediction, ...]
    cases: tuple[NnapiCase, ...]

    @property
    def only_reference(self) -> bool:
        """Whether NNAPI here is nothing but Android's own CPU implementation."""
        return bool(self.devices) and all(kind == "cpu" for _, kind in self.devices or ())

    def case(self, case_id: str) -> NnapiCase | None:
        """What a case did, by its id."""
        return next((one for one in self.cases if one.case == case_id), None)
