"""Pure: which recipes make sense for a target's version of ONNX Runtime, and why the others don't."""

from __future__ import annotations

from collections.abc import Sequence

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, OrtVersion, readable_ort_formats
from orchestrator.errors import Problem, UsageError, VariantError
from orchestrator.variants.recipe import Model, Recipe

ONNX = Recipe(format=ModelFormat.ONNX)
AS_IS = Recipe(format=ModelFormat.ORT)

_LEVELS = (OptimizationLevel.BASIC, OptimizationLevel.EXTENDED, OptimizationLevel.LAYOUT, OptimizationLevel.ALL)
_FIRST_REPLAY = OrtVersion(1, 11)
_FORWARD_COMPATIBLE = OrtVersion(1, 16)
"""From here on ORT format did not change, and a newer converter's files are loaded."""
MAX_BYTES = 2**31 - 1
"""A flatbuffer's offsets are signed 32-bit numbers, and ORT format keeps no data outside."""
_FIRST_LAYOUT_CONVERTER = OrtVersion(1, 23)


def written_ort_format(converter: OrtVersion) -> int:
    """The ORT format version that a release writes: 6 from 1.16, 5 with 1.13-1.15, 4 with 1.8-1.12."""
    return max(readable_ort_formats(converter))


def first_reader(ort_format: int) -> str:
    """The first release that loads an ORT format version, as `1.16`; `?` for one that no known release loads."""
    return {4: "1.8", 5: "1.13", 6: "1.16"}.get(ort_format, "?")


def too_large(model: Model, recipe: Recipe) -> str | None:
    """Why a model of this size can't have the recipe's format; None where it can. Its external data counts."""
    if not recipe.converts or model.size_bytes <= MAX_BYTES:
        return None
    size_gb = model.size_bytes / 2**30
    return f"{size_gb:.1f} GB, and ORT format ends at 2 GB: such a model is only ONNX with external data (recipe onnx)"


def cannot_make(recipe: Recipe, converter: OrtVersion) -> str | None:
    """Why a converter of this version can't follow the recipe; None if it can."""
    if recipe.level is OptimizationLevel.LAYOUT and converter < _FIRST_LAYOUT_CONVERTER:
        return f"onnxruntime {converter} has no level 'layout' (1.23 has); use 'all'"
    if recipe.style is OptimizationStyle.RUNTIME and converter < _FIRST_REPLAY:
        return f"onnxruntime {converter} saves no runtime optimizations ({_short(_FIRST_REPLAY)} does)"
    return None


def cannot_load(target: OrtVersion, converter: OrtVersion) -> str | None:
    """Why a binary of version `target` does not load what `converter` writes; None if it does.

    Below 1.16 no converter may be newer than the binary: files carried hashes of kernels that only its own age knows.
    """
    written = written_ort_format(converter)
    if written not in readable_ort_formats(target):
        return f"onnxruntime {converter} writes ORT format {written}, which ORT {target} does not load"
    if target < _FORWARD_COMPATIBLE and (converter.major, converter.minor) > (target.major, target.minor):
        return f"ORT {target} takes no ORT format of a newer onnxruntime than itself, as {converter} is"
    return None


def why_not(recipe: Recipe, target: OrtVersion, converter: OrtVersion) -> str | None:
    """Why a variant by `recipe`, made by `converter`, is of no use to a binary of version `target`; None if it is."""
    if not recipe.converts:
        return None
    if (reason := cannot_load(target, converter)) is not None:
        mend = f"register an onnxruntime {_wanted(target)} (orch model converters add PYTHON), or use the .onnx itself"
        return f"{reason}: {mend}"
    if recipe.style is OptimizationStyle.RUNTIME and target < _FIRST_REPLAY:
        return f"ORT {target} replays no saved runtime optimizations ({_short(_FIRST_REPLAY)} does)"
    return cannot_make(recipe, converter)


def _short(version: OrtVersion) -> str:
    return f"{version.major}.{version.minor}"


def _wanted(target: OrtVersion) -> str:
    """Which releases serve a binary, in words: `1.13 to 1.15`."""
    oldest = first_reader(min(readable_ort_formats(target)))
    return f"{oldest} or newer" if target >= _FORWARD_COMPATIBLE else f"{oldest} to {_short(target)}"


def served_by(converter: OrtVersion) -> str:
    """Which binaries load a converter's files, in words: `1.16 and later`."""
    first = OrtVersion.parse(first_reader(written_ort_format(converter)))
    if first >= _FORWARD_COMPATIBLE:
        return f"{_short(first)} and later"
    later = " and later" if written_ort_format(converter) in readable_ort_formats(_FORWARD_COMPATIBLE) else ""
    return f"{_short(converter)}{later}" if later else f"{_short(converter)} to {_short(_last_of(converter))}"


def _last_of(converter: OrtVersion) -> OrtVersion:
    """The last release that loads a converter's files, for a format that was given up before 1.16."""
    written = written_ort_format(converter)
    return max(OrtVersion(1, minor) for minor in range(16) if written in readable_ort_formats(OrtVersion(1, minor)))


def nearest(target: OrtVersion, converters: Sequence[OrtVersion]) -> OrtVersion | None:
    """The converter whose version is nearest to the binary's among those whose files it loads, of two as near the
    older one, which knows nothing that the binary does not; None where no file would load."""
    able = [version for version in converters if cannot_load(target, version) is None]
    return min(able, key=lambda version: (_distance(target, version), version), default=None)


def _distance(one: OrtVersion, other: OrtVersion) -> tuple[int, int, int]:
    same = (one.major, one.minor) == (other.major, other.minor)
    return abs(one.major - other.major), abs(one.minor - other.minor), abs(one.patch - other.patch) if same else 0


def require_useful(recipe: Recipe, target: OrtVersion, converter: OrtVersion) -> None:
    """Raise VariantError with the reason where `why_not` has one."""
    reason = why_not(recipe, target, converter)
    if reason is not None:
        raise VariantError(f"{recipe.name}: {reason}")


def all_recipes(source: ModelFormat = ModelFormat.ONNX) -> tuple[Recipe, ...]:
    """Every recipe for a source of that format: the `.onnx` itself and four levels in two styles; an `.ort` has one."""
    if source is ModelFormat.ORT:
        return (AS_IS,)
    made = (
        Recipe(format=ModelFormat.ORT, level=level, style=style) for style in OptimizationStyle for level in _LEVELS
    )
    return (ONNX, *made)


def recipes_for(
    target: OrtVersion, converter: OrtVersion | None = None, source: ModelFormat = ModelFormat.ONNX
) -> tuple[Recipe, ...]:
    """The recipes whose variants a binary of version `target` can use, made by `converter` (None: by its like)."""
    maker = target if converter is None else converter
    return tuple(recipe for recipe in all_recipes(source) if why_not(recipe, target, maker) is None)


def require_readable(model: Model, target: OrtVersion) -> None:
    """Raise UsageError if `model` is an `.ort` whose format version a binary of version `target` does not load."""
    found = model.ort_format
    if found is None or found in readable_ort_formats(target):
        return
    if found > max(readable_ort_formats(target)):
        what = f"ORT format {found} was made for a newer runtime ({first_reader(found)} or later); this is ORT {target}"
        mend = f"convert again with onnxruntime {target.major}.{target.minor}, or take a newer binary"
    else:
        what = f"ORT format {found} is older than what ORT {target} loads"
        mend = f"convert again with onnxruntime {target.major}.{target.minor}"
    raise UsageError(Problem(str(model.path), what, mend))
