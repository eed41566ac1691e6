"""Who listens on a TCP port, and who can reach it: `/proc/net/tcp` and `tcp6` (proc(5)) below any root.

Elsewhere than on Linux nothing is known, and nothing is claimed.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LISTENS = "0A"
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A listening TCP socket: the address, its port, the kernel's number for it."""

    address: str
    port: int
    inode: int

    @property
    def loopback(self) -> bool:
        """Whether only this computer reaches it."""
        address = ipaddress.ip_address(self.address)
        mapped = getattr(address, "ipv4_mapped", None)
        return bool((mapped or address).is_loopback)


def listeners(root: Path) -> list[Listener]:
    """Every listening TCP socket, IPv4 first."""
    return [*_listeners(root / "proc/net/tcp", 8), *_listeners(root / "proc/net/tcp6", 32)]


def _listeners(path: Path, digits: int) -> Iterator[Listener]:
    for line in _text(path).splitlines()[1:]:
        words = line.split()
        if len(words) < 10 or words[3] != _LISTENS or not words[9].isdigit():
            continue
        found = re.fullmatch(rf"([0-9A-F]{{{digits}}}):([0-9A-F]{{4}})", words[1])
        if found is not None:
            yield Listener(address=_address(found[1]), port=int(found[2], 16), inode=int(words[9]))


def _address(hexed: str) -> str:
    """The kernel prints 32-bit words in the machine's order; all that Android tools run on is little-endian."""
    raw = bytes.fromhex(hexed)
    swapped = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    return str(ipaddress.ip_address(swapped))


def exposed(port: int, root: Path = Path("/")) -> list[str]:
    """The addresses beyond this computer on which `port` is listened on; empty where none are, or nobody tells."""
    return list(dict.fromkeys(one.address for one in listeners(root) if one.port == port and not one.loopback))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
