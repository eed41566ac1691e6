"""`orch ab`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import typer

from orchestrator.cli.options import Going, Measuring, Place, flat
from orchestrator.cli.run import measure

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Measuring):
    """The two that are held against each other, on what models, how exactly."""

    things: Annotated[
        list[str],
        typer.Argument(metavar="[MODEL]...", help="Models that A and B have in common, unless they name their own."),
    ] = field(default_factory=list)
    a: Annotated[
        list[str],
        typer.Option(
            "--a", metavar="WORDS",
            help="A: a model's file, binary=PATH lib=PATH, ep=nnapi flags=fp16, level=basic, threads=4, format=ort, …",
        ),
    ]  # fmt: skip
    b: Annotated[list[str], typer.Option("--b", metavar="WORDS", help="B, in the same words.")]
    delta: Annotated[str, typer.Option("--delta", metavar="P", help="The difference that matters.")] = "2%"
    fail_if: Annotated[
        list[str],
        typer.Option("--fail-if", metavar="GATE", help="p50:5%: exit 1 where B is surely slower, by more than that."),
    ] = field(default_factory=list)
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="At most so many pairs of rounds (default 30).")
    ] = None


@app.command("ab")
@flat
def ab(
    compared: Compared,
    place: Place,
    going: Going,
) -> int:
    """Measure A beside B on the same phones: in pairs of rounds, A B B A, until the interval of their ratio lies beyond
    what matters or within it. Looking early makes no error likelier. (orch compare reads what was measured.)"""
    from orchestrator.app.ab import ab_wish  # noqa: PLC0415 - only when called, as below
    from orchestrator.app.wish import RunOptions  # noqa: PLC0415

    typed = compared.typed()
    a, b, delta, fail_if = (typed.pop(name) for name in ("a", "b", "delta", "fail_if"))
    return measure(ab_wish(RunOptions(**typed), a, b, delta, fail_if), place, going)
