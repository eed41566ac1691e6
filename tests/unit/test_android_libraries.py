"""What is read of true Android libraries: ONNX Runtime's own AAR, which npm brings (tests/fetch_npm_package.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.elf import inspect_binary
from android_runner.errors import BinaryUnusable
from android_runner.ort import OrtVersion
from orchestrator.app.binaries import registry
from orchestrator.home import Home
from tests.fetch_npm_package import ANDROID, ANDROID_FILES, CannotFetch, fetch

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.xdist_group("android-libraries")


@pytest.fixture(scope="module")
def aar() -> Path:
    try:
        return fetch(ANDROID, ANDROID_FILES, ROOT / "build" / "android-ort") / "onnxruntime.aar"
    except CannotFetch as error:
        pytest.skip(f"NO TRUE ANDROID LIBRARIES ARE READ HERE: {error}")


def test_the_aar_is_four_builds_and_each_says_what_it_is(aar: Path, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    builds = registry.add(home, aar)
    assert [one.facts.abi for one in builds] == ["arm64-v8a", "armeabi-v7a", "x86", "x86_64"]
    for one in builds:
        facts = one.facts
        assert (one.name, facts.ort_version, facts.commit, facts.build_type) == (
            "ort-1.29.0-lib", "1.29.0", "2e2543fbe9", "Release",
        )  # fmt: skip
        assert (facts.eps, facts.kind, facts.openmp) == (("cpu", "nnapi", "webgpu", "xnnpack"), "full", False)
        assert (facts.android_api, facts.page_bytes, facts.programs) == (24, 16384, ())
        read = inspect_binary(one.path("libonnxruntime.so"))
        assert (read.ort_version, read.has_nnapi, read.soname) == (OrtVersion(1, 29, 0), True, "libonnxruntime.so")
        assert read.needed == ("libdl.so", "liblog.so", "libandroid.so", "libm.so", "libc.so")
        assert not read.is_executable
        assert registry.check(one).problems == ()
    # A true library, cut where a copy might have been: refused, wherever its dynamic section or a segment is gone.
    whole = builds[0].path("libonnxruntime.so").read_bytes()
    for size in (64, 1000, len(whole) // 2, len(whole) * 9 // 10):
        (tmp_path / "cut.so").write_bytes(whole[:size])
        with pytest.raises(BinaryUnusable, match="damaged or cut"):
            inspect_binary(tmp_path / "cut.so")
