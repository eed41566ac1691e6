"""Which onnxruntime converts, with which custom operators; `orch model converters list`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from android_runner.capabilities import Capabilities
from android_runner.invocation import no_custom_ops
from android_runner.ort import OrtVersion
from orchestrator.app.binary import Tool
from orchestrator.app.custom_ops import custom_ops
from orchestrator.app.wish import Wish
from orchestrator.errors import Problem
from orchestrator.home import Home
from orchestrator.variants.converter import Converter
from orchestrator.variants.converters import chosen, registered
from orchestrator.variants.custom_ops import missing_library
from orchestrator.variants.recipe import Model
from orchestrator.variants.rules import served_by, written_ort_format
from orchestrator.variants.shelf import Shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class ConverterRow:
    """A converter as a person reads it; `python` is empty for this program's own, `serves` is of binaries."""

    version: str
    python: str
    ort_format: int
    serves: str

    def as_dict(self) -> dict[str, object]:
        """The fields by name, as JSON data."""
        return asdict(self)


def converter_rows(home: Home) -> list[ConverterRow]:
    """This installation's onnxruntime, then the registered ones, newest first. Raises UsageError."""
    rows = []
    for one in registered(home.converters):
        version = OrtVersion.parse(one.version)
        written = written_ort_format(version)
        rows.append(ConverterRow(version=one.version, python=one.python, ort_format=written, serves=served_by(version)))
    return rows


def converter_for(wish: Wish, home: Home, reader: OrtVersion | None) -> Converter:
    """The converter that was asked for, else the nearest to the binary's version, with the custom operators given for
    this host. Raises UsageError."""
    maker = chosen(registered(home.converters), reader, wish.plan.converter)
    return replace(maker, custom_ops=custom_ops(wish.plan.custom_ops).host)


def without_library(models: Sequence[Model], libraries: Sequence[str], shelf: Shelf) -> list[Problem]:
    """Models with operators that neither onnxruntime nor a given library has."""
    problems = []
    for model in models:
        known = shelf.known(model)
        problem = None if known is None else missing_library(known, libraries)
        problems += [] if problem is None else [problem]
    return problems


def why_no_operators(wish: Wish, tool: Tool, capabilities: Capabilities | None) -> str | None:
    """Why custom operators can't be had on a phone; None where they can, or where none were given: then nothing that
    is left needs them."""
    if not wish.plan.custom_ops:
        return None
    if not tool.has_custom_ops:
        return f"no library of custom operators for {tool.file.exec_abi or 'the stand-in'} was given (--custom-ops LIB)"
    return None if capabilities is None else no_custom_ops(capabilities)
