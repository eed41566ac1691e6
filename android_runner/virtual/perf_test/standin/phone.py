"""The virtual phone around the program: what its Android is, and its log. On a host's own Linux there is none.

The daemon writes `/vendor/etc/virtual-phone` (`android_runner.virtual.platform_file`): a word and its values a line,
between tabs.
"""

from __future__ import annotations

import os
from time import localtime, strftime, time_ns

from android_runner.virtual.perf_test.standin.options import Options
from android_runner.virtual.perf_test.standin.pace import Pace

PLATFORM_FILE = "/vendor/etc/virtual-phone"
LOG_FILE = "/data/system/log"
_TAG = "onnxruntime"
_OPTIMIZERS_OFF = "optimization.disable_specified_optimizers"
_DENORMAL_AS_ZERO = "session.set_denormal_as_zero"


class Phone:
    """One virtual phone, from its platform file. `root` is empty where the phone's root is `/`."""

    def __init__(self, root: str, text: str) -> None:
        self.root = root
        self.arm = False
        self.api_level = 0
        self.devices: list[tuple[str, str, int, list[str], list[str]]] = []
        """Name, kind, feature level, lacking operators and flags under which it is wrong, of each NNAPI device."""
        self.python = ""
        """The interpreter that prepares NNAPI's part; empty where this host has not got what it needs."""
        self.python_path = ""
        self.converter = ""
        self.pace: Pace | None = None
        """How fast it lets things be, where it gets hot."""
        for line in text.splitlines():
            word, _, rest = line.partition("\t")
            self._take(word, rest.split("\t"))

    def _take(self, word: str, values: list[str]) -> None:
        if word == "abi":
            self.arm = values[0].startswith("arm")
        elif word == "api_level":
            self.api_level = int(values[0])
        elif word == "nnapi_device":
            name, kind, level, lacks, wrong = (*values, "")[:5]
            lists = [text.split(",") if text else [] for text in (lacks, wrong)]
            self.devices.append((name, kind, int(level), lists[0], lists[1]))
        elif word == "python":
            self.python, self.python_path, self.converter = values
        elif word == "pace":
            self.pace = Pace(f"{self.root}{values[0]}")

    def adapt(self, options: Options) -> None:
        """What the command line can't do on this phone's processor.

        No build for ARM has the NCHWc kernels (but one option of 2026), and flushing denormals acts on x86 only
        (`core/common/denormal.cc`).
        """
        if not self.arm:
            return
        off = options.config.get(_OPTIMIZERS_OFF, "")
        options.config[_OPTIMIZERS_OFF] = f"{off};NchwcTransformer" if off else "NchwcTransformer"
        options.flags.discard("z")
        options.config.pop(_DENORMAL_AS_ZERO, None)

    def log(self, severity: str, logger: str, location: str, text: str) -> None:
        """A line of onnxruntime's as Android's sink writes it (`core/platform/android/logging/android_log_sink.cc`).

        `severity` is its letter. One write, so that lines of other processes don't get between.
        """
        now_ns = time_ns()
        stamp = f"{strftime('%m-%d %H:%M:%S', localtime(now_ns // 10**9))}.{now_ns // 10**6 % 1000:03}"
        pid = os.getpid()
        head = f"{stamp} {pid:5} {pid:5} {severity} {_TAG}: "
        lines = f" [{severity}:{_TAG}:{logger}, {location}] {text}".splitlines()
        data = "".join([f"{head}{line}\n" for line in lines]).encode("utf-8", "surrogateescape")
        try:
            descriptor = os.open(f"{self.root}{LOG_FILE}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o664)
        except OSError:
            return  # no program on a phone fails for a log that can't be written
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def find_phone() -> Phone | None:
    """The phone that this program runs on, if it is a virtual one. Raises `OSError` for a hot one without a pace."""
    root = os.environ.get("ORCH_ROOT", "")
    try:
        with open(f"{root}{PLATFORM_FILE}", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    return Phone(root, text)
