"""Reading the lab's file of a home."""

from __future__ import annotations

from orchestrator.errors import Problem, UsageError
from orchestrator.home import Home
from orchestrator.lab import MAX_BYTES, Lab, parse_lab


def read_lab(home: Home) -> Lab:
    """The lab of a home; one without a file has its defaults. Raises UsageError: not readable, or wrong."""
    try:
        with home.lab_file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Lab()
    except OSError as error:
        raise UsageError(Problem(str(home.lab_file), f"can't be read: {error.strerror}")) from error
    if len(data) > MAX_BYTES:
        raise UsageError(Problem(str(home.lab_file), f"has over {MAX_BYTES} bytes", "see docs/lab.md for the form"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(Problem(str(home.lab_file), f"is not UTF-8: {error.reason}")) from error
    return parse_lab(text, str(home.lab_file))
