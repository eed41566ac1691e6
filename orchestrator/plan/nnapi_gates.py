"""Pure: NNAPI's flag combinations, and which mean nothing, or only harm, on a phone of some API level.

Gates as in `nnapi_execution_provider.cc` and `nnapi_api_helper.cc` of ONNX Runtime 1.21.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from android_runner.ort import NnapiFlag

MIN_API = 27
FP16_API = 28
DEVICES_API = 29
NCHW_API = 29

FlagSet = tuple[NnapiFlag, ...]


def contradicts(flags: Iterable[NnapiFlag]) -> bool:
    """Whether the EP refuses these flags together."""
    return {NnapiFlag.CPU_DISABLED, NnapiFlag.CPU_ONLY} <= set(flags)


def flag_sets() -> list[FlagSet]:
    """The 12 valid combinations, fewest flags first."""
    every = list(NnapiFlag)
    sets = (chosen for count in range(len(every) + 1) for chosen in itertools.combinations(every, count))
    return [chosen for chosen in sets if not contradicts(chosen)]


def gate(flags: FlagSet, api_level: int) -> str | None:
    """Why NNAPI with these flags is not worth a trial at an API level (0: not told); None when it is."""
    if api_level == 0:
        return "NNAPI needs Android, and this phone does not say which it has"
    if api_level < MIN_API:
        return f"NNAPI needs Android 8.1 (API {MIN_API}): this phone is at API {api_level}"
    if NnapiFlag.FP16 in flags and api_level < FP16_API:
        return f"fp16 is ignored below API {FP16_API}: it would be the same trial twice"
    if NnapiFlag.NCHW in flags and api_level < NCHW_API:
        return f"nchw below API {NCHW_API} only takes convolutions and pools away from NNAPI"
    for flag in (NnapiFlag.CPU_DISABLED, NnapiFlag.CPU_ONLY):
        if flag in flags and api_level < DEVICES_API:
            return f"{flag} is ignored below API {DEVICES_API}: NNAPI can't list its devices there"
    return None
