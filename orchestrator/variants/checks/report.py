"""Pure noun: everything that is said of one model, and its way into JSON and back."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.variants.checks.facts import CheckerAnswer, Dims, Measured
from orchestrator.variants.checks.finding import Finding
from orchestrator.variants.checks.usability import Usability


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`word` is `ready`, `mend` or `cpu`; `text` one to three sentences; `command` what to do next. `steps` are those
    of the recipe in it, and `is_whole` says that these, with fixed dimensions, are all that is to be mended."""

    word: str
    text: str
    command: str
    steps: tuple[str, ...] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """A model's findings, the worst first. `as_is` and `fixed` are NNAPI's part with the shapes of the file and with
    `fixed_dims`; None where there is no such graph, `nnapi_problem` says why. `mended`: after the verdict's steps too.
    """

    model: str
    path: str
    format: str
    ir_version: int
    opset: int
    ort_format: int | None
    size_bytes: int
    nodes: int
    converter: str
    free_dims: tuple[str, ...]
    fixed_dims: Dims
    guessed: bool
    as_is: Usability | None
    fixed: Usability | None
    mended: Usability | None
    nnapi_problem: str
    checker: tuple[CheckerAnswer, ...]
    measured: Measured | None
    findings: tuple[Finding, ...]
    verdict: Verdict

    @property
    def settled(self) -> Usability | None:
        """NNAPI's part with fixed shapes, where there is that, else as it is."""
        return self.fixed if self.fixed is not None else self.as_is
