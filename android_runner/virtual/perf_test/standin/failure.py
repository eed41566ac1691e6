"""How the program ends early: a C++ exception's text, or a death by signal."""

from __future__ import annotations


class PerfTestError(Exception):
    """What the true program throws: its text goes to stderr and the exit status is 255."""


class DiesBySegfault(Exception):
    """A place where the true program reads past memory or through a null pointer and is killed by SIGSEGV."""
