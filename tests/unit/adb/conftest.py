from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.adb.scripted import ScriptedPhone


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[ScriptedPhone]:
    scripted = ScriptedPhone(tmp_path / "phone")
    yield scripted
    scripted.close()
