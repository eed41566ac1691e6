"""Pure: which cores a process may use, as masks for `taskset`, by the highest clocks of a phone's cores.

A word names cores of one highest clock: `big` those of the highest, `little` those of the lowest, `mid` all between,
`all` every core; words are joined by `+`. Which numbers these are differs from phone to phone (core 0 is a big one on
some), so a word is looked up in `cpuinfo_max_freq`, never in a core's number. Anything else is a mask in hex (`0xf0`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

WORDS = ("big", "mid", "little", "all")
"""What may be asked for by name."""

_MASK = re.compile(r"0x0*([0-9a-f]{1,16})", re.I)
MAX_CORE = 63
"""The highest core that a mask may name."""


def affinity_word(text: str) -> str:
    """What was asked for in its one spelling: `big`, `big+mid`, `0xf0`. Raises ValueError with what would be right."""
    if found := _MASK.fullmatch(text):
        mask = int(found[1], 16)
        if not mask:
            raise ValueError(f"{text}: a mask without a core")
        return mask_text(mask)
    words = text.split("+")
    if not all(word in WORDS for word in words):
        raise ValueError(f"{text!r} is neither {', '.join(WORDS)} nor a mask such as 0xf0")
    return "all" if "all" in words else "+".join(word for word in WORDS if word in words)


def mask_text(mask: int) -> str:
    """A mask as people write it: `0xf0`."""
    return f"{mask:#x}"


def cores_in(mask: int) -> tuple[int, ...]:
    """The numbers of the cores in a mask."""
    return tuple(core for core in range(mask.bit_length()) if mask >> core & 1)


def mask_of_cores(cores: Sequence[int]) -> int:
    """The mask of some cores."""
    return sum(1 << core for core in set(cores))


def core_list_text(cores: Sequence[int]) -> str:
    """Cores in the kernel's list format: `0-3,6`."""
    parts: list[list[int]] = []
    for core in sorted(set(cores)):
        if parts and core == parts[-1][1] + 1:
            parts[-1][1] = core
        else:
            parts.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def how_many(count: int) -> str:
    """A number of cores in words: `1 core`, `8 cores`."""
    return f"{count} core" if count == 1 else f"{count} cores"


def core_words(cores: Sequence[int]) -> str:
    """Which cores, in words: `core 7`, `cores 0-3,6`."""
    return f"core{'' if len(set(cores)) == 1 else 's'} {core_list_text(cores) or 'none'}"


def clusters(max_freq_khz: Sequence[int]) -> tuple[int, ...]:
    """The masks of cores with one highest clock, slowest first. `max_freq_khz` is one entry a core.

    Empty where the clock of a core is not known (0): whether it is a big one nobody can say then.
    """
    if not max_freq_khz or not all(max_freq_khz):
        return ()
    return tuple(
        mask_of_cores([core for core, khz in enumerate(max_freq_khz) if khz == clock])
        for clock in sorted(set(max_freq_khz))
    )


def mask_for(word: str, cores: int, max_freq_khz: Sequence[int]) -> int | str:
    """The mask that a word means on a phone, or in words why it means none there.

    A phone whose cores are all alike has no big ones: a case on them would be the case on all under another name.
    """
    everything = (1 << cores) - 1
    if word == "all":
        return everything
    if word.startswith("0x"):
        mask = int(word, 16)
        beyond = cores_in(mask & ~everything)
        return f"{word} names {core_words(beyond)}: this phone has {how_many(cores)}" if beyond else mask
    known = clusters(max_freq_khz[:cores])
    if not known or len(max_freq_khz) < cores:
        return f"{word}: this phone does not tell the highest clock of every core; give a mask such as 0xf0"
    if len(known) == 1:
        alike = f"all {cores} cores of this phone have one highest clock" if cores > 1 else "this phone has 1 core"
        return f"{word}: {alike}, so this would be all of them"
    mask = 0
    for one in word.split("+"):
        found = {"big": known[-1:], "mid": known[1:-1], "little": known[:1]}[one]
        if not found:
            return f"{word}: no core of this phone has a clock between its highest and its lowest"
        mask |= sum(found)
    return mask
