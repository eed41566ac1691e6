"""The command line of the getopt generations: options, their checks and what a refusal prints.

glibc's `getopt(3)` is followed, permutation included; numbers are read as `strtol(3)` reads them, so `-x=4` is 0.
"""

from __future__ import annotations

from os import environ

from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import PerfTestError

MAX_LEVEL = 99
_SIZE_MODULUS = 1 << 64
_BLANKS = " \t\n\v\f\r"


class Usage(Exception):
    """The command line is refused: usage on stdout, `complaint` (may be empty) on stderr, status 255."""

    def __init__(self, complaint: str = "") -> None:
        super().__init__(complaint)
        self.complaint = complaint


class Options:
    """What was asked for, defaults as the true program has them."""

    def __init__(self) -> None:
        self.model = ""
        self.result_file = ""
        self.provider = "cpu"
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
        self.provider_options = ""
        """As `-i` has it."""
        self.dims_by_name: dict[str, int] = {}
        self.dims_by_denotation: dict[str, int] = {}
        self.config: dict[str, str] = {}
        self.flags: set[str] = set()
        """Letters of the options without a value that were given."""


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


def _int32(value: int) -> int:
    """A C `long` cast to `int`."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def getopt(program: str, words: list[str], option_string: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Options in order with their values, and the other words; raises `Usage` at the first one that is not known."""
    found: list[tuple[str, str]] = []
    others: list[str] = []
    permutes = "POSIXLY_CORRECT" not in environ
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            others += words[at:]
            break
        if len(word) < 2 or word[0] != "-":
            others.append(word)
            if not permutes:
                others += words[at:]
                break
            continue
        place = 1
        while place < len(word):
            letter = word[place]
            place += 1
            known = option_string.find(letter) if letter not in ":;" else -1
            if known < 0:
                raise _Refused(found, f"{program}: invalid option -- '{letter}'\n")
            if option_string[known + 1 : known + 2] != ":":
                found.append((letter, ""))
                continue
            if place == len(word) and at == len(words):
                raise _Refused(found, f"{program}: option requires an argument -- '{letter}'\n")
            if place < len(word):
                found.append((letter, word[place:]))
            else:
                found.append((letter, words[at]))
                at += 1
            break
    return found, others


class _Refused(Exception):
    """getopt's complaint, and the options that came before it: one of those may be refused first."""

    def __init__(self, before: list[tuple[str, str]], complaint: str) -> None:
        super().__init__(complaint)
        self.before = before
        self.complaint = complaint


def parse(program: str, words: list[str], dialect: Dialect) -> Options:
    """Read the words after the program's name; raises `Usage`."""
    options = Options()
    refused: str | None = None
    try:
        pairs, others = getopt(program, words, dialect.option_string)
    except _Refused as stop:
        pairs, others, refused = stop.before, [], stop.complaint
    for letter, value in pairs:
        take = _WITH_VALUE.get(letter)
        if take is not None:
            take(options, value, dialect)
        elif letter == "h":
            raise Usage
        else:
            options.flags.add(letter)
    if refused is not None:
        raise Usage(refused)
    if len(others) not in (1, 2):
        raise Usage
    options.model = others[0]
    if len(others) == 2:
        options.result_file = others[1]
    else:
        options.flags.add("s")
    return options


def parse_configs(text: str, into: dict[str, str], dialect: Dialect) -> None:
    """Pairs `key|value` between blanks; raises `PerfTestError` with the true program's words."""
    for token in text.split():
        key, bar, value = token.partition("|")
        if not bar or not key:
            raise PerfTestError(
                dialect.where["config_separator"]
                + "Use a '|' to separate the key and value for the run-time option you are trying to use.\n\n"
            )
        if key in into:
            raise PerfTestError(
                f"{dialect.where['config_duplicate']}Specified duplicate session configuration entry: {key}\n"
            )
        into[key] = value


def _mode(options: Options, value: str, dialect: Dialect) -> None:
    if value not in ("duration", "times"):
        raise Usage
    options.by_times = value == "times"


def _provider(options: Options, value: str, dialect: Dialect) -> None:
    if value != "cpu" and value not in dialect.providers_not_built:
        raise Usage
    options.provider = value


def _repetitions(options: Options, value: str, dialect: Dialect) -> None:
    options.repetitions = (c_long(value) or 0) % _SIZE_MODULUS
    if options.repetitions == 0:
        raise Usage
    options.by_times = True


def _duration(options: Options, value: str, dialect: Dialect) -> None:
    options.duration_s = (c_long(value) or 0) % _SIZE_MODULUS
    options.by_times = False


def _concurrent(options: Options, value: str, dialect: Dialect) -> None:
    options.concurrent_runs = (c_long(value) or 0) % _SIZE_MODULUS
    if options.concurrent_runs == 0:
        raise Usage


def _intra(options: Options, value: str, dialect: Dialect) -> None:
    options.intra_threads = _int32(c_long(value) or 0)
    if options.intra_threads < 0:
        raise Usage


def _inter(options: Options, value: str, dialect: Dialect) -> None:
    options.inter_threads = _int32(c_long(value) or 0)
    if options.inter_threads < 0:
        raise Usage


def _level(options: Options, value: str, dialect: Dialect) -> None:
    level = _int32(c_long(value) or 0)
    if level not in dialect.optimization_levels and level <= MAX_LEVEL:
        raise Usage
    options.level = min(level, MAX_LEVEL)


def _seed(options: Options, value: str, dialect: Dialect) -> None:
    options.seed = _int32(c_long(value) or 0)


def _profile(options: Options, value: str, dialect: Dialect) -> None:
    options.profile_prefix = value


def _optimized(options: Options, value: str, dialect: Dialect) -> None:
    options.optimized_path = value


def _affinities(options: Options, value: str, dialect: Dialect) -> None:
    options.affinities = value


def _custom_ops(options: Options, value: str, dialect: Dialect) -> None:
    options.custom_ops = value


def _provider_options(options: Options, value: str, dialect: Dialect) -> None:
    options.provider_options = value


def _ignored(options: Options, value: str, dialect: Dialect) -> None:
    """-d is CUDA's."""


def _dim(text: str, into: dict[str, int]) -> None:
    name, colon, value = text.partition(":")
    number = c_long(value)
    if not colon or number is None or number <= 0:
        raise Usage
    into[name] = number


def _dim_name(options: Options, value: str, dialect: Dialect) -> None:
    _dim(value, options.dims_by_name)


def _dim_denotation(options: Options, value: str, dialect: Dialect) -> None:
    _dim(value, options.dims_by_denotation)


def _config(options: Options, value: str, dialect: Dialect) -> None:
    try:
        parse_configs(value, options.config, dialect)
    except PerfTestError as error:
        raise Usage(f"Error parsing session configuration entries: {error}\n") from error


_WITH_VALUE = {
    "m": _mode,
    "e": _provider,
    "r": _repetitions,
    "t": _duration,
    "p": _profile,
    "x": _intra,
    "y": _inter,
    "c": _concurrent,
    "d": _ignored,
    "o": _level,
    "u": _optimized,
    "i": _provider_options,
    "f": _dim_name,
    "F": _dim_denotation,
    "S": _seed,
    "T": _affinities,
    "C": _config,
    "R": _custom_ops,
}
