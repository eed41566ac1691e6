"""What the ledger promises holds in either database: who asks for `each_database` is run over both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres_server import use


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))])
def each_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The home `tmp_path` keeps its ledger in this kind of database."""
    if request.param == "postgresql":
        use(tmp_path, request.getfixturevalue("postgres").fresh())
    return str(request.param)
