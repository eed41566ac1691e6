"""Pure: numbers as people read them. Latencies come in seconds and are shown in milliseconds."""

from __future__ import annotations

from collections.abc import Iterable

NOTHING = "–"


def decimals_for(values_s: Iterable[float | None]) -> int:
    """How many decimals of a millisecond a table needs, so that its smallest figure keeps three digits; 1 to 5."""
    smallest_ms = min((value * 1e3 for value in values_s if value is not None and value > 0), default=1.0)
    decimals = 1 if smallest_ms >= 100 else 2
    limit = 1.0
    while smallest_ms < limit and decimals < 5:
        decimals += 1
        limit /= 10
    return decimals


def ms(value_s: float | None, decimals: int) -> str:
    """Seconds as milliseconds; `<0.01` for what is there but too small to show."""
    if value_s is None:
        return NOTHING
    least = 10.0**-decimals
    if 0 < value_s * 1e3 < least / 2:
        return f"<{least:.{decimals}f}"
    return f"{value_s * 1e3:.{decimals}f}"


def percent(fraction: float) -> str:
    """A fraction as a percentage with two or so digits: `1.6 %`, `0.07 %`, `23 %`."""
    value = fraction * 100
    if value >= 10:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 0.095 else f"{value:.2f} %"


def finely(fraction: float) -> str:
    """A fraction as a percentage with a decimal also above 10 %, for the ends of an interval: `22.4 %`."""
    return percent(fraction) if fraction < 0.0995 else f"{fraction * 100:.1f} %"


def span(seconds: float | None) -> str:
    """A duration in words: `11 min 20 s`, `2 h 5 min`, `3.2 s`."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(seconds: float) -> str:
    """A time left: `2:31`, `1:02:05`."""
    whole = max(0, round(seconds))
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"


def size(n_bytes: int | None) -> str:
    """A size: `812 B`, `14 kB`, `3.4 MB`, `1.2 GB` (powers of ten)."""
    if n_bytes is None:
        return NOTHING
    if n_bytes < 1000:
        return f"{n_bytes} B"
    value = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5 or unit == "GB":
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    raise AssertionError("unreachable: the last unit takes every size")


def plural(n: int, one: str, many: str = "") -> str:
    """`1 phone`, `3 phones`."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def ratio(value: float, half_width: float | None) -> str:
    """`2.31× ±0.04`, `1.004× ±0.002`; without the interval where there is none."""
    if half_width is None:
        return f"{value:.2f}×"
    if half_width >= 0.005:
        return f"{value:.2f}× ±{half_width:.2f}"
    return f"{value:.3f}× ±{half_width:.3f}" if half_width >= 0.0005 else f"{value:.3f}× ±<0.001"
