"""Virtual phones shared by the contract tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from android_runner.virtual.lifecycle import VirtualPhone
from tests import virtual_lab
from tests.virtual_lab import VirtualLab

lab = virtual_lab.lab


@pytest.fixture(scope="module", params=["auto", "unconfined"])
def mode(request: pytest.FixtureRequest) -> str:
    """Both ways in which a virtual phone can stand on a host."""
    return str(request.param)


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory, mode: str) -> Iterator[VirtualLab]:
    """One lab for a module."""
    with VirtualLab(tmp_path_factory.mktemp("lab"), confinement=mode) as made:
        yield made


@pytest.fixture
def phone(shared_lab: VirtualLab) -> Iterator[VirtualPhone]:
    """A Pixel 8 without faults, its folder emptied."""
    (found,) = shared_lab.up("pixel-8")
    shared_lab.shell(found, 'rm -rf "${ORCH_ROOT-}"/data/local/tmp/*')
    yield found
    shared_lab.faults(found)
