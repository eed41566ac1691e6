"""Rewrites of operators that work element by element.

NNAPI's execution provider has no builder for these (`android_runner.nnapi.builders`), or one with a condition that the
node does not meet (`android_runner.nnapi.ops_simple`: Max and Min of two, Clip as RELU6, RELU1). HardSwish and Mish
are no operators any more at level basic, Dropout is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from orchestrator.variants.steps.site import Site

_BROADCASTING_MAX = 8
_LARGEST = 3.4e38
_STEEP = 1e6
_ERF_P = 0.3275911
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Abramowitz and Stegun 7.1.26: within 1.5e-7, and all factors near 1, so that half precision holds them."""


def _chain(site: Site, operator: str, gives: int | None = 0) -> str:
    first, *rest = [site.input(at) for at in range(site.count)]
    for at, name in enumerate(rest, start=1):
        first = site.put(operator, first, name, gives=gives if at == len(rest) else None)
    return first


def add_up(site: Site) -> bool:
    """Sum of two or more: Add after Add."""
    if not site.is_float() or site.count < 2:
        return False
    _chain(site, "Add")
    return True


def average(site: Site) -> bool:
    """Mean of two or more: Add after Add, times one over their number."""
    if not site.is_float() or site.count < 2:
        return False
    site.put("Mul", _chain(site, "Add", None), site.constant(1 / site.count), gives=0)
    return True


def two_by_two(site: Site) -> bool:
    """Max or Min of more than two."""
    if not site.is_float() or site.count < 3:
        return False
    _chain(site, site.node.op_type)
    return True


def bounds(site: Site) -> bool:
    """Clip to other bounds than NNAPI's own: Relu where there is no upper one and the lower is 0, else Max and Min."""
    found = _bounds(site)
    if found is None or not site.is_float(0) or not site.dims():
        return False
    low, high = found
    has_low, has_high = low > -_LARGEST, high < _LARGEST
    if low == 0 and not has_high:
        site.put("Relu", site.input(0), gives=0)
        return True
    if site.opset < _BROADCASTING_MAX or not (has_low or has_high):
        return False
    value = site.input(0)
    if has_low:
        value = site.put("Max", value, site.constant(low), gives=None if has_high else 0)
    if has_high:
        site.put("Min", value, site.constant(high), gives=0)
    return True


def _bounds(site: Site) -> tuple[float, float] | None:
    if site.opset < 11:
        return site.attribute("min", -math.inf), site.attribute("max", math.inf)
    found = []
    for at, none in ((1, -math.inf), (2, math.inf)):
        array = site.array(at)
        if array is None and site.input(at):
            return None
        found.append(none if array is None else float(array.reshape(-1)[0]))
    return found[0], found[1]


def hard_sigmoid(site: Site) -> bool:
    """HardSigmoid: RELU6 of the line, over 6."""
    if not site.is_float() or not site.dims():
        return False
    slope, offset = site.attribute("alpha", 0.2), site.attribute("beta", 0.5)
    line = site.put("Add", site.put("Mul", site.input(0), site.constant(6 * slope)), site.constant(6 * offset))
    site.put("Mul", site.relu6(line), site.constant(1 / 6), gives=0)
    return True


def reciprocal(site: Site) -> bool:
    """Reciprocal: 1 divided by it."""
    if not site.is_float() or not site.dims():
        return False
    site.put("Div", site.constant(1), site.input(0), gives=0)
    return True


def softplus(site: Site) -> bool:
    """Softplus as max(x, 0) + log(1 + e^-|x|), which does not overflow."""
    if not site.is_float() or not site.dims():
        return False
    fall = site.put("Exp", site.put("Neg", site.put("Abs", site.input(0))))
    rest = site.put("Log", site.put("Add", fall, site.constant(1)))
    site.put("Add", site.put("Relu", site.input(0)), rest, gives=0)
    return True


def softsign(site: Site) -> bool:
    """Softsign: x over 1 + |x|."""
    if not site.is_float() or not site.dims():
        return False
    site.put("Div", site.input(0), site.put("Add", site.put("Abs", site.input(0)), site.constant(1)), gives=0)
    return True


def float_power(site: Site) -> bool:
    """Pow with a constant exponent of another type: the same in float32."""
    exponent = site.array(1)
    if exponent is None or not site.is_float(0) or site.is_float(1):
        return False
    site.put("Pow", site.input(0), site.constant(exponent.astype("float32")), gives=0)
    return True


def erf(site: Site) -> bool:
    """Erf by a formula that is within 1.5e-7, with a steep line, cut off at -1 and 1, for the sign."""
    if not site.is_float() or not site.dims():
        return False
    size = site.put("Abs", site.input(0))
    line = site.put("Add", site.put("Mul", size, site.constant(_ERF_P)), site.constant(1))
    t = site.put("Div", site.constant(1), line)
    *lower, highest = _ERF
    sum_ = site.put("Mul", t, site.constant(highest))
    for factor in reversed(lower):
        sum_ = site.put("Mul", site.put("Add", sum_, site.constant(factor)), t)
    bell = site.put("Exp", site.put("Neg", site.put("Mul", size, size)))
    rest = site.put("Sub", site.constant(1), site.put("Mul", sum_, bell))
    sign = site.clipped(site.put("Mul", site.input(0), site.constant(_STEEP)), -1.0, 1.0)
    site.put("Mul", sign, rest, gives=0)
    return True


REWRITES: dict[str, tuple[Callable[[Site], bool], ...]] = {
    "Sum": (add_up,),
    "Mean": (average,),
    "Max": (two_by_two,),
    "Min": (two_by_two,),
    "Clip": (bounds,),
    "HardSigmoid": (hard_sigmoid,),
    "Reciprocal": (reciprocal,),
    "Softplus": (softplus,),
    "Softsign": (softsign,),
    "Pow": (float_power,),
    "Erf": (erf,),
}
"""By operator; a rule says whether it put anything in the node's place."""
