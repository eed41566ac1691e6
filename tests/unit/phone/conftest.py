from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host_phone import SHELLS, HostPhone


@pytest.fixture(params=sorted(SHELLS))
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostPhone]:
    made = HostPhone(tmp_path / "it's a $(phone)", str(request.param))
    yield made
    made.end_all()
