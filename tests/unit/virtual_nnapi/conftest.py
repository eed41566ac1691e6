"""The stand-in, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from android_runner.virtual.perf_test.build import build_standin
from tests.unit.virtual_nnapi.rooted import RootedPhone


@pytest.fixture(scope="session")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("binaries")
    build_standin(folder)
    return folder


@pytest.fixture
def pixel_8(tmp_path: Path, binaries: Path) -> RootedPhone:
    """API 34: an accelerator and a CPU."""
    return RootedPhone.of("pixel-8", tmp_path / "root", binaries)
