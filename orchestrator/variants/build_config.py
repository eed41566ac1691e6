"""Pure: the configuration that an onnxruntime was built with, and what a model needs that is not in it.

The form is that of `--include_ops_by_config` (`onnxruntime/tools/reduced_build_config_parser.py`):

    ai.onnx;11,13;Conv{"inputs": {"0": ["float"]}},Flatten
    com.microsoft;1;FusedConv
    !globally_allowed_types;float,int64_t
    !no_ops_specified_means_all_ops_are_required
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.variants.naming import shown

MAX_CONFIG_BYTES = 16 * 2**20
_ALL_REQUIRED = "!no_ops_specified_means_all_ops_are_required"
_GLOBAL_TYPES = "!globally_allowed_types;"

Slots = Mapping[str, frozenset[str]]
"""Types by slot: `input 0`, `output 0`; `inputs 0, 1, 2` for an operator whose kernels are for combinations."""

_SHAPE_ARITHMETIC = (
    "Add", "Concat", "Div", "Equal", "Greater", "Less", "Max", "Min", "Mul", "Neg", "Pad", "Range", "Split", "Sub",
)  # fmt: skip
_INTS = frozenset({"int32_t", "int64_t"})
_ALWAYS: Mapping[str, Slots] = {
    **{name: {"input 0": _INTS} for name in _SHAPE_ARITHMETIC},
    "Cast": {"input 0": _INTS | {"bool"}, "output 0": _INTS | {"bool"}},
    "ConstantOfShape": {"output 0": frozenset({"int64_t"})},
    "DequantizeLinear": {"input 0": frozenset({"int8_t", "uint8_t", "int32_t"})},
    "Gather": {"input 1": _INTS},
    "Slice": {"input 0": _INTS, "input 1": _INTS},
}  # fmt: skip
"""Types of ai.onnx that every build keeps for the arithmetic of shapes, whatever its configuration says
(`required_input_types` in `operator_type_usage_processors.py`; `ORT_SPECIFY_OP_KERNEL_ARG_REQUIRED_TYPES` in
`core/providers/cpu`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildConfig:
    """Operators by domain (`ai.onnx` by name) and opset; types of those operators that say some.

    `everything` is a build without any restriction, `allowed_types` the types that all kernels were built for.
    """

    operators: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    types: Mapping[tuple[str, str], Slots] = field(default_factory=dict)
    allowed_types: frozenset[str] | None = None
    everything: bool = False


def parse_build_config(text: str) -> BuildConfig:
    """Read a configuration. Raises ValueError with the line that is none.

    As in the build itself operators add up over lines, and the last word on an operator's types holds.
    """
    operators: dict[tuple[str, int], frozenset[str]] = {}
    types: dict[tuple[str, str], Slots] = {}
    allowed, everything = None, False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith(_GLOBAL_TYPES):
            allowed = frozenset(word.strip() for word in line.removeprefix(_GLOBAL_TYPES).split(",") if word.strip())
            continue
        if line == _ALL_REQUIRED:
            everything = True
            continue
        try:
            domain, opsets, entries = _line(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        names = {name for name, _ in entries}
        for opset in opsets:
            operators[(domain, opset)] = operators.get((domain, opset), frozenset()) | names
        types |= {(domain, name): slots for name, slots in entries if slots is not None}
    return BuildConfig(operators=operators, types=types, allowed_types=allowed, everything=everything and not operators)


def _line(line: str) -> tuple[str, list[int], list[tuple[str, Slots | None]]]:
    parts = [part.strip() for part in line.split(";", 2)]
    if len(parts) != 3 or not parts[0]:
        raise ValueError("not of the form DOMAIN;OPSET,…;OPERATOR,…")
    try:
        opsets = [int(word) for word in parts[1].split(",")]
    except ValueError as error:
        raise ValueError(f"no opset: {shown(parts[1])}") from error
    return parts[0], opsets, list(_entries(parts[2]))


def _entries(text: str) -> Iterator[tuple[str, Slots | None]]:
    """Operators with the JSON behind their names: `Conv{"inputs": {"0": ["float"]}},Flatten`."""
    at = 0
    while at < len(text):
        end = min((found for found in (text.find(",", at), text.find("{", at)) if found >= 0), default=len(text))
        name, slots = text[at:end].strip(), None
        if end < len(text) and text[end] == "{":
            try:
                data, end = json.JSONDecoder().raw_decode(text, end)
                slots = _slots(data)
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
                raise ValueError(f"types of {shown(name)} can't be read") from error
        if not name.isidentifier():
            raise ValueError(f"no operator: {shown(name)!r}")
        yield name, slots
        at = end + 1


def _slots(data: Mapping[str, Any]) -> Slots:
    found = {
        f"{side.removesuffix('s')} {int(index)}": frozenset(str(word) for word in words)
        for side in ("inputs", "outputs")
        for index, words in data.get(side, {}).items()
    }
    if "custom" in data:
        found["combination"] = frozenset(", ".join(map(str, words)) for words in data["custom"])
    return found


Since = Callable[[str, str, int], int]
"""Domain, operator, opset → the opset since which the operator is as it is in that opset."""


def lacking(needs: BuildConfig, has: BuildConfig, since: Since) -> tuple[str, ...]:
    """What a model needs and a build has not, each as `Conv (opset 11)` or `Cast (output 0: bool)`; sorted."""
    if has.everything:
        return ()
    built = {
        (domain, name, since(domain, name, opset)) for (domain, opset), names in has.operators.items() for name in names
    }
    missing = set()
    for (domain, opset), names in needs.operators.items():
        for name in names:
            label = name if domain == "ai.onnx" else f"{domain}:{name}"
            if (domain, name, since(domain, name, opset)) not in built:
                missing.add(f"{label} (opset {opset})")
            else:
                missing |= {f"{label} ({slot})" for slot in _types_lacking((domain, name), needs, has)}
    return tuple(sorted(missing))


def _types_lacking(operator: tuple[str, str], needs: BuildConfig, has: BuildConfig) -> Iterator[str]:
    always = _ALWAYS.get(operator[1], {}) if operator[0] == "ai.onnx" else {}
    for slot, wanted in needs.types.get(operator, {}).items():
        if has.allowed_types is not None:
            words = {word for combination in wanted for word in combination.split(", ")}
            lost = words - has.allowed_types - always.get(slot, frozenset())
        elif operator in has.types:
            lost = set(wanted - has.types[operator].get(slot, frozenset()) - always.get(slot, frozenset()))
        else:
            lost = set()
        yield from (f"{slot}: {word}" for word in sorted(lost))
