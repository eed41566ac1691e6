"""The command line from 1.23 on: Abseil's flags, then the program's own checks in its order.

Not modelled are flags that read more flags (`--flagfile`, `--fromenv`, `--tryfromenv`) and what only plugins, compiled
models or devices other than the CPU have; asking for such a thing ends the program with a message that says so.
"""

from __future__ import annotations

from android_runner.virtual.perf_test.standin.abseil_words import help_text, hints
from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import PerfTestError
from android_runner.virtual.perf_test.standin.flags_1_24 import FLAGS
from android_runner.virtual.perf_test.standin.options import Options, Usage

SEE_HELP = "See 'onnxruntime_perf_test --help'."
_FATAL = 1
_BLANKS = " \t\n\v\f\r"
_TRUE, _FALSE = ("1", "t", "true", "y", "yes"), ("0", "f", "false", "n", "no")
_BOUNDS = {"int": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1), "size_t": (0, (1 << 64) - 1)}
_SWITCHES = "AMsvIPzDZnl"
_ABSEILS_OWN = ("flagfile", "fromenv", "tryfromenv", "undefok")
_NOT_MODELLED = (
    "shrink_arena_between_runs", "plugin_ep_libs", "plugin_eps", "plugin_ep_options", "list_ep_devices",
    "select_ep_devices", "filter_ep_devices", "compile_ep_context", "g", "X",
)  # fmt: skip

Value = str | int | bool


class Line:
    """Flags as Abseil leaves them in `values`, the other words in `others`, and what it complained of."""

    def __init__(self, words: list[str]) -> None:
        self.kinds = {name: kind for name, kind, _, _ in FLAGS} | dict.fromkeys(_ABSEILS_OWN, "string")
        self.values: dict[str, Value] = {name: _default(kind, default) for name, kind, default, _ in FLAGS}
        self.others: list[str] = []
        self.errors: list[str] = []
        self.unknown: list[str] = []
        self.help: str | None = None
        self.version = False
        self._words = words
        self._read()

    def _read(self) -> None:
        words, at = self._words, 0
        while at < len(words):
            word = words[at]
            at += 1
            if len(word) < 2 or word[0] != "-":
                self.others.append(word)
                continue
            name, equals, value = word[2 if word[1] == "-" else 1 :].partition("=")
            if not name:
                self.others += words[at:]
                break
            flag, negative = self._located(name)
            if flag is None:
                self._unlocated(name, value)
            elif self.kinds[flag] == "bool":
                self._switch(flag, value, has_value=bool(equals), negative=negative)
            elif negative:
                self.errors.append(f"Negative form is not valid for the flag '{flag}'")
                self._set(flag, "")
            elif equals:
                self._set(flag, value)
            elif at == len(words):
                self.errors.append(f"Missing the value for the flag '{flag}'")
                self._set(flag, "")
            else:
                self._set(flag, words[at])
                at += 1

    def _located(self, name: str) -> tuple[str | None, bool]:
        if name in self.kinds:
            return name, False
        if name[:2] == "no" and name[2:] in self.kinds:
            return name[2:], True
        return None, False

    def _unlocated(self, name: str, value: str) -> None:
        """Usage flags are none of the flags; a further one takes the place of an earlier one."""
        if name in ("help", "helpmatch", "helpfull", "helpshort", "helppackage", "helpon"):
            self.help = value
        elif name in ("version", "only_check_args"):
            self.version = True
        else:
            self.unknown.append(name)

    def _switch(self, flag: str, value: str, *, has_value: bool, negative: bool) -> None:
        if has_value and not value:
            self.errors.append(f"Missing the value after assignment for the boolean flag '{flag}'")
        elif value and negative:
            self.errors.append(f"Negative form with assignment is not valid for the boolean flag '{flag}'")
            value = ""
        else:
            value = value or ("0" if negative else "1")
        self._set(flag, value)

    def _set(self, flag: str, text: str) -> None:
        kind = self.kinds[flag]
        value = _parsed(kind, text)
        if value is None:
            self.errors.append(f"Illegal value '{text}' specified for flag '{flag}'")
        else:
            self.values[flag] = value

    def text(self, flag: str) -> str:
        """Value of a flag that is a string."""
        return str(self.values[flag])

    def number(self, flag: str) -> int:
        """Value of a flag that is a whole number."""
        return int(self.values[flag])

    def names(self, flag: str) -> bool:
        """Whether a flag is on the line as a word of its own: the program looks for `-r`, and misses `-r=10`."""
        return any(word in (f"-{flag}", f"--{flag}") for word in self._words)


def _default(kind: str, text: str) -> Value:
    if kind == "bool":
        return text == "true"
    return text if kind == "string" else int(text)


def _parsed(kind: str, text: str) -> Value | None:
    """`absl::ParseFlag`; None where it refuses."""
    if kind == "string":
        return text
    text = text.strip(_BLANKS)
    if kind == "bool":
        lower = text.lower()
        return True if lower in _TRUE else False if lower in _FALSE else None
    sign = text[:1] if text[:1] in ("-", "+") else ""
    digits, base = text[len(sign) :], 10
    if digits[:2] in ("0x", "0X"):
        digits, base = digits[2:], 16
    if not digits or any(char not in "0123456789abcdefABCDEF"[: 10 if base == 10 else 22] for char in digits):
        return None
    number = int(digits, base) * (-1 if sign == "-" else 1)
    low, high = _BOUNDS[kind]
    if not low <= number <= high or (sign == "-" and low == 0):
        return None
    return number


def parse(program: str, words: list[str], dialect: Dialect) -> Options:
    """Read the words after the program's name; raises `Usage`."""
    line = Line(words)
    _abseil_end(program, line)
    options = Options()
    _dimensions(line, options)
    _check(line, options, dialect)
    if not 1 <= len(line.others) <= 2:
        raise Usage(SEE_HELP)
    for flag in _NOT_MODELLED:
        if line.values[flag]:
            dash = "-" if len(flag) == 1 else "--"
            raise Usage(f"{dash}{flag} is not modelled by this stand-in\n")
    options.flags = {flag for flag in _SWITCHES if line.values[flag]}
    options.model = line.others[0]
    if len(line.others) == 2:
        options.result_file = line.others[1]
    else:
        options.flags.add("s")
    return options


def _abseil_end(program: str, line: Line) -> None:
    """What Abseil itself ends the program for: what it could not read, and its usage flags."""
    allowed = str(line.values.get("undefok", "")).split(",")
    errors = list(line.errors)
    for name in line.unknown:
        if name in allowed or (name[:2] == "no" and name[2:] in allowed):
            continue
        near = hints(name, [(flag, kind == "bool") for flag, kind in line.kinds.items()])
        errors.append(f"Unknown command line flag '{name}'" + (f". Did you mean: {', '.join(near)} ?" if near else ""))
    usage = "" if line.help is None else help_text(program, FLAGS, line.help)
    complaint = "".join([f"ERROR: {error}\n" for error in errors])
    if line.errors:
        raise Usage(complaint + usage, "", _FATAL)
    if errors or usage:
        raise Usage(complaint, usage, _FATAL)
    if line.version:
        raise Usage("", f"{program.rpartition('/')[2]}\n", 0)
    for name in _ABSEILS_OWN[:3]:
        if name in line.values:
            raise Usage(f"--{name} is not modelled by this stand-in\n")


def _check(line: Line, options: Options, dialect: Dialect) -> None:
    """The program's checks, in its order: the first that fails ends it."""
    mode, provider = line.text("m"), line.text("e")
    level = dialect.level(line.number("o"))
    options.by_times = mode == "times"
    _need(mode in ("duration", "times", ""))
    _need(provider in ("", "cpu") or provider in dialect.providers_not_built)
    options.provider = provider or "cpu"
    if line.names("r"):
        _need(line.number("r") > 0)
        options.repetitions, options.by_times = line.number("r"), True
    if line.names("t"):
        _need(line.number("t") > 0)
        options.duration_s, options.by_times = line.number("t"), False
    _need(line.number("x") >= 0 and line.number("y") >= 0 and line.number("c") > 0)
    _need(level is not None and line.number("d") >= 0)
    options.seed = line.number("S")
    options.intra_threads, options.inter_threads = line.number("x"), line.number("y")
    options.concurrent_runs = line.number("c")
    options.level = level or 0
    options.profile_prefix, options.optimized_path = line.text("p"), line.text("u")
    options.provider_options = line.text("i")
    options.affinities, options.custom_ops = line.text("T"), line.text("R")
    try:
        dialect.parse_configs(line.text("C"), options.config)
    except PerfTestError as error:
        raise Usage(f"Error parsing session configuration entries: {error}\n{SEE_HELP}") from error


def _need(holds: bool) -> None:
    if not holds:
        raise Usage(SEE_HELP)


def _dimensions(line: Line, options: Options) -> None:
    """-f and -F are read from the words again, as Abseil keeps only the last; `-f=N:1` is missed there."""
    for flag, into in (("f", options.dims_by_name), ("F", options.dims_by_denotation)):
        if line.values[flag]:
            for at, word in enumerate(line._words):
                if word in (f"-{flag}", f"--{flag}"):
                    following = line._words[at + 1 : at + 2]
                    if not following or following[0][:1] == "-":
                        raise Usage(f"{word} should be followed by a key-value pair.\n{SEE_HELP}")
                    _overrides(following[0], into)


def _overrides(text: str, into: dict[str, int]) -> None:
    for pair in text.split(" "):
        name, colon, value = pair.partition(":")
        if pair and not (colon and value):
            raise Usage(SEE_HELP)
        if pair:
            number = _stoll(value)
            if number is None:
                raise Usage(f"Error parsing free dimension override value: {value}, stoll\n{SEE_HELP}")
            _need(number > 0)
            into[name] = number


def _stoll(text: str) -> int | None:
    """The number at the start of `text` as `std::stoll` finds it; None without digits or beyond 64 bits."""
    text = text.lstrip(_BLANKS)
    end = 1 if text[:1] in ("+", "-") else 0
    start = end
    while end < len(text) and "0" <= text[end] <= "9":
        end += 1
    if end == start or end - start > 20:
        return None
    number = int(text[:end])
    return number if -(1 << 63) <= number < 1 << 63 else None
