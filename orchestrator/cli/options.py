"""Options that several commands share, spelt once."""

from __future__ import annotations

from typing import Annotated

import typer

HomeOption = Annotated[str, typer.Option("--home", help="Home folder (default: $ORCH_HOME, else ./orch-runs).")]
PortOption = Annotated[int, typer.Option("--adb-port", help="Port of the adb server for real phones.")]
SlotsOption = Annotated[
    int, typer.Option("--virtual-slots", min=0, help="Virtual phones that compute at once (0: cores - 1).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="The same fields as JSON, on stdout.")]
DEFAULT_ADB_PORT = 5037


def slots_or_default(asked: int) -> int:
    """The slots asked for, else the host's cores less one, at least one."""
    import os  # noqa: PLC0415 - one caller in many

    return asked or max(1, (os.cpu_count() or 2) - 1)
