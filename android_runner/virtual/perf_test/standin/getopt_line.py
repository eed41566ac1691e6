"""The command line of the getopt generations, 1.8 to 1.22: options, their checks and what a refusal prints.

glibc's `getopt(3)` is followed, permutation included; numbers are read as `strtol(3)` reads them, so `-x=4` is 0.
"""

from __future__ import annotations

from os import environ

from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.options import (
    Options,
    Usage,
    c_int,
    c_long,
    c_size,
)


def getopt(program: str, words: list[str], option_string: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Options in order with their values, and the other words; raises `_Refused` at the first one that is not known."""
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
    try:
        return _parsed(program, words, dialect)
    except Usage as refusal:
        raise Usage(refusal.complaint, dialect.usage) from None


def _parsed(program: str, words: list[str], dialect: Dialect) -> Options:
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


def _mode(options: Options, value: str, dialect: Dialect) -> None:
    if value not in ("duration", "times"):
        raise Usage
    options.by_times = value == "times"


def _provider(options: Options, value: str, dialect: Dialect) -> None:
    if value != "cpu" and value not in dialect.providers_not_built:
        raise Usage
    options.provider = value


def _repetitions(options: Options, value: str, dialect: Dialect) -> None:
    options.repetitions = c_size(value)
    if options.repetitions == 0:
        raise Usage
    options.by_times = True


def _duration(options: Options, value: str, dialect: Dialect) -> None:
    options.duration_s = c_size(value)
    options.by_times = False


def _concurrent(options: Options, value: str, dialect: Dialect) -> None:
    options.concurrent_runs = c_size(value)
    if options.concurrent_runs == 0:
        raise Usage


def _intra(options: Options, value: str, dialect: Dialect) -> None:
    options.intra_threads = c_int(value)
    if options.intra_threads < 0:
        raise Usage


def _inter(options: Options, value: str, dialect: Dialect) -> None:
    options.inter_threads = c_int(value)
    if options.inter_threads < 0:
        raise Usage


def _level(options: Options, value: str, dialect: Dialect) -> None:
    level = dialect.level(c_int(value))
    if level is None:
        raise Usage
    options.level = level


def _seed(options: Options, value: str, dialect: Dialect) -> None:
    options.seed = c_int(value)


def _backend(options: Options, value: str, dialect: Dialect) -> None:
    options.backend = value


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
        dialect.parse_configs(value, options.config)
    except PerfTestError as error:
        raise Usage(f"Error parsing session configuration entries: {error}\n") from error


_WITH_VALUE = {
    "b": _backend,
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
