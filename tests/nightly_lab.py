"""A nightly for tests: two virtual phones of one device model, one case, a perf_test that sleeps and says its level."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path

from android_runner.virtual.perf_test.sleeping import sleeping_perf_test
from tests.orch_cli import Orch

PHONES = ("virtual-pixel-8-1", "virtual-pixel-8-2")
SLOTS = ("--virtual-slots", "2")


def levelled_tool(folder: Path, per_mille: int = 1000, two_threads: int = 1000, *, sleep_s: float = 0.02) -> Path:
    """A perf_test that sleeps, and says latencies of so many per mille of its usual level (of another with `-x 2`),
    each process up to ± 3 per mille off (by its process number): figures that no load of this computer can move."""
    tool = sleeping_perf_test(folder, sleep_s)
    text = tool.read_text()
    level = f"""case " $said " in *' -x 2 '*) slow={two_threads} ;; *) slow={per_mille} ;; esac
slow=$((slow + $$ % 7 - 3)) #"""
    assert text.count("repetitions=1000\n") == 1
    text = text.replace("repetitions=1000\n", "repetitions=1000 said=$*\n")
    assert text.count("slow=1000 #") == 1
    tool.write_text(text.replace("slow=1000 #", level))
    return tool


class NightlyLab:
    """A nightly `lab` in the home of an `Orch`."""

    def __init__(self, orch: Orch, model: Path) -> None:
        self.orch = orch
        self.folder = orch.home / "nightly"
        self._place = orch.home.parent / "suite"
        self.folder.mkdir(parents=True)
        self._place.mkdir()
        shutil.copy(model, self._place / "net.onnx")
        self.plan()
        self.always: dict[str, object] = {}
        """Keys of the suite, whatever else is written."""
        self.tool = levelled_tool(self._place)
        self.write()

    def write(self, **changes: object) -> None:
        """Write the suite; `changes` go over its keys."""
        said: dict[str, object] = {
            "models": [str(self._place / "net.onnx"), str(self._place / "plan.toml")],
            "device": ["virtual:pixel-8x2"],
            "perf_test": str(self.tool),
            "start": "22:00",
            "deadline": "06:00",
            "rounds": 2,
            "iterations": 5,
            **self.always,
            **changes,
        }
        lines = [f"{name} = {'true' if value is True else repr(value)}" for name, value in said.items()]
        (self.folder / "lab.toml").write_text("\n".join(lines).replace("'", '"') + "\n")

    def plan(self, *threads: int) -> None:
        """Ask for the case of the default settings, and for one each with so many threads."""
        text = 'twins = false\ncanary = false\n[[matrix]]\nrecipe = ["onnx"]\n'
        more = f'[[matrix]]\nrecipe = ["onnx"]\nthreads = {list(threads)}\n' if threads else ""
        (self._place / "plan.toml").write_text(text + more)

    def level(self, per_mille: int, two_threads: int = 1000, *, sleep_s: float = 0.02) -> None:
        """Give another perf_test from now on."""
        folder = self._place / f"level-{per_mille}-{two_threads}-{sleep_s:g}"
        self.tool = levelled_tool(folder, per_mille, two_threads, sleep_s=sleep_s)
        self.write()

    def tonight(self, *, began_s: float, ends_s: float, **changes: object) -> str:
        """Have tonight's night have begun so long ago, and end so soon; its name."""
        now = datetime.now().astimezone()
        start, end = now - timedelta(seconds=began_s), now + timedelta(seconds=ends_s)
        self.write(start=f"{start:%H:%M:%S}", deadline=f"{end:%H:%M:%S}", **changes)
        return f"{start:%Y-%m-%d}"
