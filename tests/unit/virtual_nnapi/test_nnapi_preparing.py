"""The preparing process: what it refuses, and that it ends with who asked."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from android_runner.profile import ProfileError, load_profile, parse_profile
from android_runner.virtual.nnapi.source import MAX_MODEL_BYTES
from android_runner.virtual.platform_file import find_preparing, platform_text
from tests.unit.virtual_nnapi.apart import light, take_apart
from tests.unit.virtual_nnapi.rooted import RootedPhone

_PATIENCE_S = 30.0


def test_more_than_two_gigabytes_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "net.onnx").write_bytes(b"")
    with (folder / "net.onnx.data").open("wb") as file:
        file.truncate(MAX_MODEL_BYTES + 1)
    made = take_apart(folder / "net.onnx", tmp_path / "made")
    assert "more than 2 GB" in made.description.refusal


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def test_preparing_ends_with_the_trial_that_is_killed(pixel_8: RootedPhone, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(light("resnet50"))
    env = {**os.environ, "ORCH_ROOT": str(pixel_8.root), "LD_LIBRARY_PATH": str(pixel_8.binaries)}
    words = [str(pixel_8.binaries / "onnxruntime_perf_test"), "-e", "nnapi", "-I", "-r", "1", "-m", "times"]
    deadline = time.monotonic() + _PATIENCE_S
    with subprocess.Popen([*words, str(tmp_path / "net.onnx")], env=env, stdout=subprocess.DEVNULL) as trial:
        while not (found := [pid for pid in _children(trial.pid) if b"prepare" in _words(pid)]):
            assert time.monotonic() < deadline
            assert trial.poll() is None
        while not any(b"onnxruntime" in Path(f"/proc/{pid}/maps").read_bytes() for pid in found):
            assert time.monotonic() < deadline
        trial.send_signal(signal.SIGKILL)
    while any(_alive(pid) for pid in found):
        assert time.monotonic() < deadline
    assert list(pixel_8.root.rglob("description.json")) == []


def test_a_host_without_the_packages_says_so(pixel_8: RootedPhone, tmp_path: Path) -> None:
    text = platform_text(load_profile("pixel-8"), None, confined=False)
    (pixel_8.root / "vendor/etc/virtual-phone").write_text(text)
    (tmp_path / "net.onnx").write_bytes(light("squeezenet"))
    done = pixel_8.nnapi(tmp_path / "net.onnx")
    assert done.returncode == 255
    assert done.stderr == "virtual NNAPI: this host has no onnxruntime and onnx for Python to take a graph apart\n"


def test_a_confined_phone_is_told_no_path_of_the_host() -> None:
    preparing = find_preparing()
    assert preparing is not None
    inside = preparing.search_path(confined=True).split(":")
    assert all(path.startswith("/mnt/orch-python/") for path in inside)
    targets = {f"/{target}" for _, target in preparing.mounts()}
    assert set(inside) <= targets | {str(Path(target).parent) for target in targets}
    installed = replace(preparing, own=None)
    assert installed.search_path(confined=True).split(":") == [f"/{target}" for _, target in installed.mounts()]


def test_an_operator_that_a_device_lacks_is_a_name() -> None:
    text = (resources.files("device_profiles") / "pixel-8.toml").read_text(encoding="utf-8")
    good = text.replace("feature_level = 31 }", 'feature_level = 31, lacks = ["Softmax"] }', 1)
    assert parse_profile(good.encode(), source="x").nnapi_devices[0].lacks == ("Softmax",)
    with pytest.raises(ProfileError, match=r"nnapi_devices\[0\].lacks: 'Soft,max' is no ONNX operator's name"):
        parse_profile(good.replace("Softmax", "Soft,max").encode(), source="x")
