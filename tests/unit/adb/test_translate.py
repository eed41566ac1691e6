"""Nothing foreign leaves the adb package."""

from __future__ import annotations

import errno
import importlib
import inspect
import pkgutil
import struct

import adbutils
import pytest

from android_runner.adb.translate import FOREIGN, refusal, translated, words
from android_runner.errors import DeadlinePassed, HostileAnswer, LinkError, LinkLost, PhoneFull


def adbutils_exceptions() -> list[type[Exception]]:
    found: set[type[Exception]] = set()
    for module in pkgutil.walk_packages(adbutils.__path__, "adbutils."):
        if module.name.endswith(("__main__", ".pidcat")):  # programs: they act when imported
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # an extra of adbutils that is not installed
            continue
        for _, value in inspect.getmembers(loaded, inspect.isclass):
            if issubclass(value, Exception) and value.__module__.startswith("adbutils"):
                found.add(value)
    return sorted(found, key=lambda one: one.__name__)


def test_every_exception_class_of_adbutils_is_mapped_by_name() -> None:
    classes = adbutils_exceptions()
    assert len(classes) >= 5
    assert [one for one in classes if one not in dict(FOREIGN)] == []


def test_no_mapping_is_hidden_by_an_earlier_one() -> None:
    for number, (foreign, _) in enumerate(FOREIGN):
        assert not [earlier for earlier, _ in FOREIGN[:number] if issubclass(foreign, earlier)], foreign


@pytest.mark.parametrize(
    ("foreign", "own"),
    [
        (TimeoutError(), DeadlinePassed),
        (TimeoutError(errno.ETIMEDOUT, "gone"), LinkLost),
        (ConnectionResetError(), LinkLost),
        (BrokenPipeError(), LinkLost),
        (OSError(errno.EBADF, "closed"), LinkLost),
        (EOFError(), LinkLost),
        (struct.error("unpack"), HostileAnswer),
        (ValueError("int"), HostileAnswer),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), HostileAnswer),
        (AssertionError(), HostileAnswer),
        (adbutils.AdbError("device offline"), LinkLost),
        (adbutils.AdbTimeout("x"), DeadlinePassed),
    ],
)
def test_foreign_becomes_ours(foreign: Exception, own: type[LinkError]) -> None:
    with pytest.raises(own, match="S1: push") as caught, translated("S1", "push"):
        raise foreign
    assert caught.value.__cause__ is foreign


@pytest.mark.parametrize("mine", [PhoneFull("x"), LinkLost("y")])
def test_ours_pass_as_they_are(mine: Exception) -> None:
    with pytest.raises(type(mine)) as caught, translated("S1", "push"):
        raise mine
    assert caught.value is mine


@pytest.mark.parametrize("other", [KeyError("k"), ZeroDivisionError(), KeyboardInterrupt(), MemoryError()])
def test_bugs_and_interrupts_are_not_dressed_up(other: BaseException) -> None:
    with pytest.raises(type(other)), translated("S1", "push"):
        raise other


def test_words_of_a_phone_are_one_harmless_line() -> None:
    assert words(b"a\x1b[2Jb\n\rc\xff") == "a [2Jb c\ufffd"
    assert words("abc\u202egnp.exe\u200b") == "abc gnp.exe"  # would read from right to left
    assert len(words("x" * 5000)) == 300
    assert "nothing" in str(refusal("S1", b"\x00"))
