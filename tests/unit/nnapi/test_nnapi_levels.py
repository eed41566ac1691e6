"""Which devices are chosen, and the feature level that follows."""

from __future__ import annotations

import pytest

from android_runner.nnapi.levels import chosen_devices, feature_level, runtime_level
from android_runner.nnapi.target import NnapiDevice, NnapiTarget
from android_runner.ort import NnapiFlag

_CPU = NnapiDevice("nnapi-reference", "cpu", 31)
_TPU = NnapiDevice("edgetpu", "accelerator", 31)
_GPU = NnapiDevice("gpu", "gpu", 30)
_DSP = NnapiDevice("dsp", "other", 29)


def _target(api_level: int, devices: tuple[NnapiDevice, ...], *flags: NnapiFlag) -> NnapiTarget:
    return NnapiTarget(api_level=api_level, devices=devices, flags=frozenset(flags))


@pytest.mark.parametrize(
    ("devices", "flags", "names"),
    [
        ((_CPU, _TPU), (), ["edgetpu", "nnapi-reference"]),
        ((_TPU, _CPU), (), ["edgetpu", "nnapi-reference"]),
        ((_CPU, _TPU, _GPU), (), ["gpu", "edgetpu", "nnapi-reference"]),  # swapped with the last, not moved
        ((_TPU, _CPU, _DSP), (NnapiFlag.FP16, NnapiFlag.NCHW), ["edgetpu", "dsp", "nnapi-reference"]),
        ((_CPU, _TPU, _GPU), (NnapiFlag.CPU_DISABLED,), ["edgetpu", "gpu"]),
        ((_CPU, _TPU, _GPU), (NnapiFlag.CPU_ONLY,), ["nnapi-reference"]),
        ((_CPU,), (NnapiFlag.CPU_DISABLED,), []),
        ((_TPU,), (NnapiFlag.CPU_ONLY,), []),
        ((), (), []),
    ],
)
def test_chosen_devices(devices: tuple[NnapiDevice, ...], flags: tuple[NnapiFlag, ...], names: list[str]) -> None:
    assert [device.name for device in chosen_devices(_target(34, devices, *flags))] == names
    assert chosen_devices(_target(28, devices, *flags)) == ()


@pytest.mark.parametrize(
    ("api_level", "devices", "flags", "level"),
    [
        (26, (), (), 26),
        (28, (_DSP,), (), 28),
        (30, (_DSP,), (), 29),
        (30, (_DSP, _CPU), (), 30),
        (30, (_DSP, _CPU), (NnapiFlag.CPU_DISABLED,), 29),
        (34, (_TPU, _CPU), (), 31),
        (34, (_GPU, _CPU), (NnapiFlag.CPU_DISABLED,), 30),
        (34, (_CPU,), (NnapiFlag.CPU_DISABLED,), 1000007),
        (31, (NnapiDevice("new", "gpu", 1000007),), (), 31),
        (34, (NnapiDevice("silent", "gpu", 0),), (), 1000007),
        (34, (), (), 1000007),
    ],
)
def test_feature_level(
    api_level: int, devices: tuple[NnapiDevice, ...], flags: tuple[NnapiFlag, ...], level: int
) -> None:
    assert feature_level(_target(api_level, devices, *flags)) == level


def test_runtime_level_never_falls() -> None:
    levels = [runtime_level(api_level) for api_level in range(24, 37)]
    assert levels == sorted(levels)
    assert levels[:8] == list(range(24, 32))
