"""Pure: which NNAPI devices are chosen, and the feature level that the claim rules are asked with.

After `core/providers/nnapi/nnapi_builtin/nnapi_api_helper.cc` of ONNX Runtime 1.21.
"""

from __future__ import annotations

from android_runner.nnapi.target import NnapiDevice, NnapiTarget
from android_runner.ort import NnapiFlag

LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_4, LEVEL_5 = 27, 28, 29, 30, 31
LEVEL_7 = 1000007
"""NNAPI's `FeatureLevelCode` (`nnapi_lib/NeuralNetworksTypes.h`): the API level up to 31, then numbers of its own."""
MIN_LEVEL = LEVEL_1
"""`ORT_NNAPI_MIN_API_LEVEL` of an unchanged build: below it nothing is taken."""
_ANDROID_12 = 31
_ANDROID_13 = 33


def runtime_level(api_level: int) -> int:
    """The feature level of the phone's NNAPI runtime: the API level below 31, above that what the runtime says.

    That runtime is updated apart from Android; here Android 12 counts as level 5 and later ones as level 7. No claim
    rule looks above level 4.
    """
    if api_level < _ANDROID_12:
        return api_level
    return LEVEL_5 if api_level < _ANDROID_13 else LEVEL_7


def chosen_devices(target: NnapiTarget) -> tuple[NnapiDevice, ...]:
    """The devices that the execution provider hands to NNAPI, a CPU last.

    Empty below API 29, where it doesn't ask and NNAPI itself chooses; the CPU flags have no effect there. Also empty
    where the flags leave none: then too NNAPI chooses by itself, without a message.
    """
    if runtime_level(target.api_level) < LEVEL_3:
        return ()
    chosen = [device for device in target.devices if _wanted(device, target.flags)]
    cpus = [at for at, device in enumerate(chosen) if device.kind == "cpu"]
    if cpus:
        at = cpus[-1]
        chosen[-1], chosen[at] = chosen[at], chosen[-1]
    return tuple(chosen)


def _wanted(device: NnapiDevice, flags: frozenset[NnapiFlag]) -> bool:
    is_cpu = device.kind == "cpu"
    if NnapiFlag.CPU_DISABLED in flags:
        return not is_cpu
    return is_cpu or NnapiFlag.CPU_ONLY not in flags


def feature_level(target: NnapiTarget) -> int:
    """The runtime's level, lowered to the highest among the chosen devices (from ONNX Runtime 1.15 on)."""
    level = runtime_level(target.api_level)
    highest = max((device.feature_level for device in chosen_devices(target)), default=-1)
    return highest if 0 < highest < level else level
