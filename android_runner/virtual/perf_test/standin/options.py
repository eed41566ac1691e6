"""What was asked for, whatever the dialect of the command line, and the parts that all dialects read alike."""

from __future__ import annotations

MAX_LEVEL = 99
REFUSED = 255
_SIZE_MODULUS = 1 << 64
_BLANKS = " \t\n\v\f\r"


class Usage(Exception):
    """The command line ends the program: `text` on stdout, `complaint` on stderr (either may be empty), `status`."""

    def __init__(self, complaint: str = "", text: str = "", status: int = REFUSED) -> None:
        super().__init__(complaint)
        self.complaint = complaint
        self.text = text
        self.status = status


class Options:
    """What was asked for, defaults as the true program has them."""

    def __init__(self) -> None:
        self.model = ""
        self.result_file = ""
        self.backend = "ort"
        self.provider = "cpu"
        self.provider_options = ""
        """-i, read by providers that know such options."""
        self.by_times = False
        self.repetitions = 1000
        self.duration_s = 600
        self.concurrent_runs = 1
        self.intra_threads = 0
        self.inter_threads = 0
        self.level = MAX_LEVEL
        self.seed = -1
        self.profile_prefix = ""
        self.optimized_path = ""
        self.affinities = ""
        self.custom_ops = ""
        self.dims_by_name: dict[str, int] = {}
        self.dims_by_denotation: dict[str, int] = {}
        self.config: dict[str, str] = {}
        self.flags: set[str] = set()
        """Letters of the options without a value that are in force."""


def c_long(text: str) -> int | None:
    """The number at the start of `text` as `strtol` finds it, clamped to 64 bits; None without digits."""
    text = text.lstrip(_BLANKS)
    end = 1 if text[:1] in ("+", "-") else 0
    start = end
    while end < len(text) and "0" <= text[end] <= "9":
        end += 1
    if end == start:
        return None
    return max(-(1 << 63), min((1 << 63) - 1, int(text[:end])))


def c_int(text: str) -> int:
    """`strtol`'s number cast to a C `int`; 0 without digits."""
    return ((c_long(text) or 0) + (1 << 31)) % (1 << 32) - (1 << 31)


def c_size(text: str) -> int:
    """`strtol`'s number cast to a `size_t`; 0 without digits."""
    return (c_long(text) or 0) % _SIZE_MODULUS
