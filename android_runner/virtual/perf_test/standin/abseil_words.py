"""What Abseil's flags library says: the text of `--help`, and which flags a misspelt one resembles.

After `absl/flags/internal/usage.cc` and `absl/flags/parse.cc` as onnxruntime 1.24 builds them in.
"""

from __future__ import annotations

_MAX_LINE = 80
_MAX_DISTANCE = 3
_MAX_HINTS = 100
_USAGE = (
    "onnxruntime_perf_test [options...] model_path [result_file]\n\n"
    "Note: Options may be specified with either a single dash(-option) or a double dash(--option). "
    "Both forms are accepted and treated identically.\n\nOptions:"
)
_SOURCE = "/src/onnxruntime/test/perftest/command_args_parser.cc"
_TRY = (
    "Try --helpfull to get a list of all flags or --help=substring shows help for\n"
    "flags which include specified substring in either in the name, or description or\n"
    "path.\n"
)

Flag = tuple[str, str, str, str]
"""Name, type, default, help text."""


class _Printer:
    """Words in lines of less than 80 characters; the first line stands out by two."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line = ""

    def word(self, word: str) -> None:
        if self._line and len(self._line) + len(word) >= _MAX_LINE:
            self.end()
        if not self._line:
            self._line = ("      " if self._lines else "    ") + word
        else:
            self._line += f" {word}"

    def end(self) -> None:
        self._lines.append(self._line)
        self._line = ""

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _flag_help(flag: Flag) -> str:
    name, kind, default, words = flag
    printer = _Printer()
    printer.word(f"--{name}")
    for at, line in enumerate(f"({words});".split("\n")):
        if at:
            printer.end()
        for word in line.split():
            printer.word(word)
    shown = f'"{default}"' if kind == "string" else default
    printer.word(f"default: {shown};")
    printer.end()
    return printer.text()


def help_text(program: str, flags: tuple[Flag, ...], substring: str = "") -> str:
    """What `--help` prints, or `--help=substring`: the flags in whose name, text or source file it occurs."""
    chosen = [flag for flag in flags if substring in flag[0] or substring in flag[3] or substring in _SOURCE]
    listed = "".join([_flag_help(flag) for flag in sorted(chosen)])
    source = f"  Flags from {_SOURCE}:\n{listed}" if chosen else "No flags matched.\n"
    return f"{program.rpartition('/')[2]}: {_USAGE}\n\n{source}\n{_TRY}"


def hints(word: str, names: list[tuple[str, bool]]) -> list[str]:
    """The flags that are nearest to `word`, no further than a few edits; `names` with whether `no…` is one too."""
    best = min(len(word) // 2 + 1, _MAX_DISTANCE) + 1
    found: list[str] = []
    for name, is_bool in sorted(names):
        for candidate in (name, f"no{name}") if is_bool else (name,):
            if len(found) >= _MAX_HINTS:
                return found
            distance = _distance(word, candidate)
            if distance < best:
                best, found = distance, [candidate]
            elif distance == best:
                found.append(candidate)
    return found


def _distance(left: str, right: str) -> int:
    """Edits between two words: insert, remove, replace, swap neighbours (Damerau-Levenshtein, no overlaps)."""
    before: list[int] = []
    above = list(range(len(right) + 1))
    for i, char in enumerate(left):
        row = [i + 1]
        for j, other in enumerate(right):
            cost = min(above[j] + (char != other), above[j + 1] + 1, row[j] + 1)
            if i and j and char == right[j - 1] and left[i - 1] == other:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]
