"""Pure nouns: what NNAPI takes of a graph, in which pieces, and why not the rest."""

from __future__ import annotations

from dataclasses import dataclass

NOT_CHECKED = "not checked: "
"""How a reason begins where a rule of the execution provider is not modelled here."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Nodes that become one NNAPI model: indices into `Graph.nodes`, ascending."""

    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node that stays on the CPU. `rule` is a short stable id, `reason` is for a person; one that begins with
    `NOT_CHECKED` says that nobody looked."""

    node: int
    reason: str
    rule: str

    @property
    def checked(self) -> bool:
        """Whether the answer follows from a rule that is modelled here."""
        return not self.reason.startswith(NOT_CHECKED)


@dataclass(frozen=True, slots=True)
class Placement:
    """Each node of the graph is in exactly one of `partitions`, `refused` and `dropped`; the last are nodes that could
    run on NNAPI but whose group the execution provider gives up. `feature_level` is NNAPI's number that the rules
    were asked with. `problem` says why nothing at all is taken, where that has one reason; `caveat` what about the
    partitions was not checked, empty where all was.

    These are the model's own nodes. The layout pass puts Transposes around them, which ONNX Runtime counts as well.
    """

    partitions: tuple[Partition, ...]
    refused: tuple[Refusal, ...]
    dropped: tuple[Refusal, ...]
    feature_level: int
    problem: str = ""
    caveat: str = ""

    @property
    def claimed_count(self) -> int:
        """Nodes in all partitions."""
        return sum(len(partition.nodes) for partition in self.partitions)
