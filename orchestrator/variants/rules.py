"""Pure: which recipes make sense for a target's version of ONNX Runtime, and why the others don't."""

from __future__ import annotations

from android_runner.ort import ModelFormat, OptimizationLevel, OptimizationStyle, OrtVersion, readable_ort_formats
from orchestrator.errors import Problem, UsageError, VariantError
from orchestrator.variants.recipe import Model, Recipe

ONNX = Recipe(format=ModelFormat.ONNX)
AS_IS = Recipe(format=ModelFormat.ORT)

_LEVELS = (OptimizationLevel.BASIC, OptimizationLevel.EXTENDED, OptimizationLevel.LAYOUT, OptimizationLevel.ALL)
_FIRST_REPLAY = OrtVersion(1, 11)
_FIRST_LAYOUT_CONVERTER = OrtVersion(1, 23)


def written_ort_format(converter: OrtVersion) -> int:
    """The ORT format version that a release writes: 6 from 1.16, 5 with 1.13-1.15, 4 with 1.8-1.12."""
    return max(readable_ort_formats(converter))


def first_reader(ort_format: int) -> str:
    """The first release that loads an ORT format version, as `1.16`; `?` for one that no known release loads."""
    return {4: "1.8", 5: "1.13", 6: "1.16"}.get(ort_format, "?")


def why_not(recipe: Recipe, target: OrtVersion, converter: OrtVersion) -> str | None:
    """Why a variant by `recipe`, made by `converter`, is of no use to a binary of version `target`; None if it is."""
    if not recipe.converts:
        return None
    written = written_ort_format(converter)
    if written not in readable_ort_formats(target):
        return (
            f"onnxruntime {converter} writes ORT format {written}, which ORT {target} does not load: "
            f"convert with onnxruntime <= {target.major}.{target.minor}, or use the .onnx itself"
        )
    if recipe.style is OptimizationStyle.RUNTIME and target < _FIRST_REPLAY:
        return f"ORT {target} replays no saved runtime optimizations ({_FIRST_REPLAY.major}.{_FIRST_REPLAY.minor} does)"
    if recipe.level is OptimizationLevel.LAYOUT and converter < _FIRST_LAYOUT_CONVERTER:
        return f"onnxruntime {converter} has no level 'layout' (1.23 has); use 'all'"
    return None


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
