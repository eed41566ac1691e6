"""ELF files as a linker would write them, and as one never would."""

from __future__ import annotations

import struct

AARCH64, ARM, X86_64, X86 = 183, 40, 62, 3
ANDROID_LINKER = "/system/bin/linker64"


def elf(  # noqa: PLR0917
    machine: int = AARCH64,
    interpreter: str = "",
    needed: tuple[str, ...] = (),
    soname: str = "",
    api: int | None = None,
    tail: bytes = b"",
    kind: int = 3,
    bits: int = 64,
    page: int = 8,
    more_tags: tuple[tuple[int, int], ...] = (),
) -> bytes:
    """A small ELF file as a linker lays it out: one PT_LOAD over all of it at address 0, and what is asked for."""
    strings = b"\0"
    tags: list[tuple[int, int]] = []
    for tag, name in [*((1, name) for name in needed), *([(14, soname)] if soname else [])]:
        tags.append((tag, len(strings)))
        strings += name.encode() + b"\0"
    word = "Q" if bits == 64 else "I"
    header_size, segment_size = (64, 56) if bits == 64 else (52, 32)
    note = struct.pack("<III8sI", 8, 4, 1, b"Android\0", api) if api is not None else b""
    parts = {3: interpreter.encode() + b"\0" if interpreter else b"", 4: note, 2: b"dynamic", 1: b"load"}
    wanted = [kind for kind, content in parts.items() if content]
    at = header_size + segment_size * len(wanted)
    strings_at = at + len(parts[3]) + len(note)
    dynamic_at = strings_at + len(strings)
    entries = [*tags, *more_tags, (5, strings_at), (10, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack(f"<{word}{word}", *entry) for entry in entries)
    total = dynamic_at + len(dynamic) + len(tail)
    places = {3: (at, len(parts[3])), 4: (at + len(parts[3]), len(note)), 2: (dynamic_at, len(dynamic)), 1: (0, total)}
    segments = b""
    for segment in wanted:
        start, size = places[segment]
        if bits == 64:
            segments += struct.pack("<IIQQQQQQ", segment, 4, start, start, start, size, size, page)
        else:
            segments += struct.pack("<IIIIIIII", segment, start, start, start, size, size, 4, page)
    ident = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1, 1]) + bytes(9)
    sizes = (header_size, segment_size, len(wanted), 0, 0, 0)
    head = ident + struct.pack(f"<HHI{word}{word}{word}IHHHHHH", kind, machine, 1, 0, header_size, 0, 0, *sizes)
    return head + segments + parts[3] + note + strings + dynamic + tail
