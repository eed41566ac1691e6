"""Everything that can go wrong with one phone, as one tree.

RunnerError                        kind                blame     retry
├─ LinkError
│  ├─ LinkLost                     link_lost           lab       later      cable, reboot, adbd died, server gone
│  ├─ DeadlinePassed               deadline            lab       later      alive but too slow, or hung
│  ├─ LinkRefused                  link_refused        lab       never      unauthorized, offline, ambiguous serial
│  └─ HostileAnswer                hostile_answer      lab       never      breaks the protocol: sizes, names, markers
├─ StagingError
│  ├─ TransferCorrupt              transfer_corrupt    lab       here       digest differs after push or pull
│  ├─ PhoneFull                    phone_full          lab       elsewhere  no space left, nothing left to evict
│  └─ PhoneRefused                 phone_refused       lab       elsewhere  the phone's words: permission …
├─ LeaseLost                       lease_lost          lab       later      another run holds this phone
├─ ToolError
│  ├─ BinaryUnusable               binary_unusable     plan      never      not executable there, or lacks a library
│  ├─ SettingRefused               setting_refused     plan      never      EP not in this build, option not understood
│  ├─ ModelRefused                 model_refused       model     never      the runtime rejects it at load or in a run
│  ├─ ToolCrashed                  crashed             runtime   elsewhere  ended by a signal of its own making
│  ├─ ToolKilled                   killed              lab       here       SIGKILL from outside: low memory, a person
│  └─ TrialTimedOut                timed_out           runtime   elsewhere  over its deadline, ended by the watchdog
├─ TrialLost                       lost                lab       here       nothing on the phone says how it ended
└─ ReportUnreadable                unreadable          us        never      output of no known dialect; evidence is kept

`blame` says who must act, `retry` whether and where trying again is honest. Both are attributes of the leaf class, so
that no caller decides by `isinstance`. A message says what was tried, on which phone, what was seen and what to do.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Blame(StrEnum):
    """Who must act before the same thing can go well."""

    LAB = "lab"
    PLAN = "plan"
    MODEL = "model"
    RUNTIME = "runtime"
    US = "us"


class Retry(StrEnum):
    """Whether, and where, trying again is honest."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    LATER = "later"
    NEVER = "never"


class RunnerError(Exception):
    """Base of the tree; leaves set `kind`, `blame` and `retry`."""

    kind: ClassVar[str] = "runner"
    blame: ClassVar[Blame] = Blame.US
    retry: ClassVar[Retry] = Retry.NEVER


class LinkError(RunnerError):
    """The way to the phone, not the phone's work, went wrong."""

    blame = Blame.LAB


class LinkLost(LinkError):
    """The stream or the transport ended before the answer did."""

    kind = "link_lost"
    retry = Retry.LATER


class DeadlinePassed(LinkError):
    """The wall-clock budget of one call is used up."""

    kind = "deadline"
    retry = Retry.LATER


class LinkRefused(LinkError):
    """The adb server will not open this phone."""

    kind = "link_refused"
    retry = Retry.NEVER


class HostileAnswer(LinkError):
    """The phone's answer breaks the protocol or a bound; nothing of it is used."""

    kind = "hostile_answer"
    retry = Retry.NEVER


class StagingError(RunnerError):
    """Files could not be put on the phone or taken from it."""

    blame = Blame.LAB


class TransferCorrupt(StagingError):
    """The digest of what arrived is not that of what was sent."""

    kind = "transfer_corrupt"
    retry = Retry.HERE


class PhoneFull(StagingError):
    """No space left on the phone, also after old files were evicted."""

    kind = "phone_full"
    retry = Retry.ELSEWHERE


class PhoneRefused(StagingError):
    """The phone's file service said no, in its own words."""

    kind = "phone_refused"
    retry = Retry.ELSEWHERE


class LeaseLost(RunnerError):
    """A higher epoch stands on the phone: somebody else runs there now."""

    kind = "lease_lost"
    blame = Blame.LAB
    retry = Retry.LATER


class ToolError(RunnerError):
    """onnxruntime_perf_test ended without a measurement."""


class BinaryUnusable(ToolError):
    """The phone cannot execute the binary, or it lacks its shared library."""

    kind = "binary_unusable"
    blame = Blame.PLAN
    retry = Retry.NEVER


class SettingRefused(ToolError):
    """The binary does not know, or was not built with, what was asked for."""

    kind = "setting_refused"
    blame = Blame.PLAN
    retry = Retry.NEVER


class ModelRefused(ToolError):
    """The runtime rejects the model, at load or in a run."""

    kind = "model_refused"
    blame = Blame.MODEL
    retry = Retry.NEVER


class ToolCrashed(ToolError):
    """Ended by a signal of its own making (SIGSEGV, SIGABRT, …)."""

    kind = "crashed"
    blame = Blame.RUNTIME
    retry = Retry.ELSEWHERE


class ToolKilled(ToolError):
    """Ended by SIGKILL or SIGTERM from outside."""

    kind = "killed"
    blame = Blame.LAB
    retry = Retry.HERE


class TrialTimedOut(ToolError):
    """Over its deadline; the watchdog on the phone ended it."""

    kind = "timed_out"
    blame = Blame.RUNTIME
    retry = Retry.ELSEWHERE


class TrialLost(RunnerError):
    """Started on the phone, and nothing there says how it ended."""

    kind = "lost"
    blame = Blame.LAB
    retry = Retry.HERE


class ReportUnreadable(RunnerError):
    """Output of no known dialect; the evidence is kept and can be parsed again."""

    kind = "unreadable"
    blame = Blame.US
    retry = Retry.NEVER
