"""`orch model converters list`: which onnxruntimes can convert here, and for whom."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from android_runner.ort import OrtVersion
from orchestrator.home import Home
from orchestrator.variants.converters import registered
from orchestrator.variants.rules import served_by, written_ort_format


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
