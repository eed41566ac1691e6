"""Pure nouns: a finding, and the words that commands are made of."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.variants.recipe_words import STEP_WORDS

MAX_PLACES = 8
"""A finding names at most so many nodes or tensors; `count` has them all."""
THREAD_URL = "https://github.com/microsoft/onnxruntime/issues/"


class Severity(StrEnum):
    """`blocks`: NNAPI or the runtime can't use the model, or next to nothing of it; `costs`: time on the phone;
    `note`: worth knowing."""

    BLOCKS = "blocks"
    COSTS = "costs"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing about a model.

    `places` are names of nodes or tensors, the first `MAX_PLACES` of `count`. `steps` are words of recipes that apply
    the remedy, `needs_dims` says that fixing dimensions does. `threads` are numbers of issues of microsoft/onnxruntime.
    """

    id: str
    severity: Severity
    reason: str
    count: int = 0
    places: tuple[str, ...] = ()
    remedy: str = ""
    command: str = ""
    steps: tuple[str, ...] = ()
    needs_dims: bool = False
    threads: tuple[int, ...] = ()


def bounded(names: Iterable[str]) -> tuple[int, tuple[str, ...]]:
    """How many different names there are, and the first few, as `Finding` has them."""
    every = tuple(dict.fromkeys(names))
    return len(every), every[:MAX_PLACES]


def counted(count: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def known_steps(*steps: str) -> tuple[str, ...]:
    """Those of the steps that recipes have."""
    return tuple(step for step in steps if step.partition("=")[0] in STEP_WORDS)


def build_command(path: str, level: str = "basic", steps: Sequence[str] = (), dims: Sequence[str] = ()) -> str:
    """The command that builds a variant: a level, the steps before it in order, dimensions as `NAME=NUMBER`. Empty
    where recipes don't have one of the steps."""
    if len(known_steps(*steps)) < len(steps):
        return ""
    recipe = "+".join([level, *dict.fromkeys(steps)])
    words = ["orch", "model", "build", path, "--recipe", recipe]
    for dim in dims:
        words += ["--dim", dim]
    return shlex.join(words)


def run_command(path: str, *words: str) -> str:
    """The command that measures a model."""
    return shlex.join(["orch", "run", path, *words])


def with_options(command: str, *words: str) -> str:
    """The command with further options; the same where it takes a model no more (`converters add`)."""
    takes_model = command.startswith(("orch model build", "orch model check", "orch run"))
    return f"{command} {shlex.join(words)}" if takes_model and words else command


def check_command(path: str, *words: str) -> str:
    """The command that checks a model again."""
    return shlex.join(["orch", "model", "check", path, *words])
