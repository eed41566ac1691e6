"""Who holds a phone: the highest epoch ever written into one file there."""

from __future__ import annotations

import re

from android_runner.block import ORCH_DIR
from android_runner.deadline import Deadline
from android_runner.device import Device, quoted
from android_runner.errors import HostileAnswer, LeaseLost, PhoneRefused
from android_runner.facts import cleaned

LEASE = ORCH_DIR / "lease"
HIGHEST_EPOCH = 999_999_999
"""Nine digits fit the 32-bit arithmetic of Android's shell."""
COUNTED_EPOCHS = HIGHEST_EPOCH // 2
"""Nobody has counted so far: a lease above it was not written by a run, and is not counted on from."""
_HELD = 96


def lease_command(epoch: int) -> str:
    """Shell text: write `epoch` unless a higher one stands there; say what stands there in the end."""
    folder, lease = quoted(ORCH_DIR), quoted(LEASE)
    return (
        f"h=; [ -r {lease} ] && read -r h <{lease}; case $h in '' | *[!0-9]*) h=0 ;; esac; "
        f'if [ ${{#h}} -gt 9 ] || [ "$h" -gt {epoch} ]; then echo "$h"; exit {_HELD}; fi; '
        f'if [ "$h" != {epoch} ]; then mkdir -p {folder} && echo {epoch} >{lease}.$$ && mv -f {lease}.$$ {lease} '
        f'|| exit 1; fi; read -r h <{lease} && echo "$h"'
    )


def epoch_above(there: int) -> int:
    """The least epoch for the next run on a phone whose lease reads `there`.

    Above what runs can have counted to it is 1, so that one wrong number on a phone does not use all epochs up: the
    lease is then refused as another's (`take_lease`) until it is gone.
    """
    return there + 1 if 0 <= there < COUNTED_EPOCHS else 1


def take_lease(device: Device, epoch: int, *, deadline: Deadline) -> None:
    """Hold the phone under `epoch` (1 to `HIGHEST_EPOCH`); taking it again under the same one changes nothing.

    Raises `LeaseLost` when a higher epoch holds it, `PhoneRefused` when the file cannot be written.
    """
    if not 0 < epoch <= HIGHEST_EPOCH:
        raise ValueError(f"not an epoch: {epoch}")
    result = device.shell(lease_command(epoch), deadline=deadline, max_output_bytes=4096)
    holder = result.text().strip()
    if result.exit_code == _HELD or (result.exit_code == 0 and holder != str(epoch)):
        if not re.fullmatch(r"\d{1,40}", holder):
            raise HostileAnswer(f"{device.serial}: its lease reads {cleaned(holder)!r}")
        raise LeaseLost(f"{device.serial}: another run holds this phone (epoch {holder}, ours is {epoch})")
    if result.exit_code:
        said = cleaned(result.stderr.decode("utf-8", errors="replace"))
        raise PhoneRefused(f"{device.serial}: the lease cannot be written: the phone says: {said}")


def held_epoch(device: Device, *, deadline: Deadline) -> int:
    """The epoch under which the phone was last held; 0 where nobody ever did, or nonsense stands there.

    Raises `LinkError`, `PhoneRefused`.
    """
    raw = device.read(LEASE, deadline=deadline, max_bytes=64) or b""
    text = raw.decode("ascii", errors="replace").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0
