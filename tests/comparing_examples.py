"""The worked examples of docs/comparing.md: what was measured before, and each command with what it said.

`python -m tests.comparing_examples FOLDER` prints them as the page quotes them.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper

from orchestrator.store.ledger import Ledger
from orchestrator.variants.samples import write_samples
from tests.forked_orch import ROOT
from tests.known_tool import known_perf_test
from tests.orch_cli import Ended, Orch

PLAN = 'rounds = 8\niterations = 20\ntwins = false\n[[matrix]]\nrecipe = ["onnx", "basic", "all"]\n'
SMALL_PLAN = 'rounds = 1\niterations = 20\ntwins = false\n[[matrix]]\nrecipe = ["onnx"]\n'
OS_BEFORE, OS_AFTER = "14/UQ1A.240205.004/11269751", "14/AP2A.240805.005/12025142"
FUSED_IS_FASTER = 'if grep -q FusedConv "$1"; then slow=$((slow * 8 / 10)); fi'
AFTER_THE_UPDATE = f"""case $(getprop ro.build.fingerprint) in
*{OS_AFTER}*) case $1 in *.onnx) slow=$((slow * 12 / 10));; *) slow=$((slow * 11 / 10));; esac;;
esac"""
NEW_ORT = "case $1 in *.onnx) slow=$((slow * 9 / 10));; esac"


@dataclass
class Examples:
    """A home in which everything was measured that the examples compare; `runs` are by the names that they use."""

    orch: Orch
    folder: Path
    runs: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words: str | Path) -> Ended:
        """A command as the page has it, with the runs' true names."""
        return self.orch(*(self._with_true_names(str(word)) for word in words))

    def _with_true_names(self, word: str) -> str:
        for name, run in self.runs.items():
            word = word.replace(name, run)
        return word

    def said(self, ended: Ended) -> str:
        """What a command said, with the runs' names as the page has them."""
        text = ended.out + "".join(f"{line}\n" for line in ended.err.splitlines() if not line.startswith("next "))
        for name, run in self.runs.items():
            text = text.replace(run, name)
        return text

    def measure(self, name: str, *words: str | Path, plan: str = PLAN) -> None:
        """A run, to be called `name`."""
        path = self.folder / "plan.toml"
        path.write_text(plan)
        ended = self.orch("run", path, *words)
        assert ended.code == 0, ended
        ledger = Ledger.open(self.orch.home)
        self.runs[name] = ledger.find_run("@last")
        ledger.close()


def phone(folder: Path, fingerprint: str) -> tuple[str, str]:
    """The device profile of a phone with this build of the system."""
    text = (ROOT / "device_profiles" / "pixel-8.toml").read_text()
    assert text.count(OS_BEFORE) == 1
    profile = folder / "pixel-8.toml"
    profile.write_text(text.replace(OS_BEFORE, fingerprint))
    return "--device", f"virtual:{profile.name}"


def retrained(source: Path, target: Path) -> Path:
    """The same net with other weights."""
    model: Any = onnx.load(source)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype.kind == "f":
            tensor.CopyFrom(numpy_helper.from_array((values * 1.01).astype(values.dtype), tensor.name))
    onnx.save(model, target)
    return target


def measured(folder: Path) -> Examples:
    """Measure all that the examples need."""
    found = Examples(Orch(folder / "home"), folder)
    (source,) = write_samples(folder / "samples", ["mnist"])
    (folder / "v2").mkdir()
    net, net_2 = folder / "net.onnx", retrained(source, folder / "v2" / "net.onnx")
    other = folder / "other.onnx"
    shutil.copy(source, net)
    shutil.copy(source, other)
    rules = [FUSED_IS_FASTER, AFTER_THE_UPDATE]
    old = "--perf-test", known_perf_test(folder / "ort-old", 10.0, rule="\n".join(rules))
    new = "--perf-test", known_perf_test(folder / "ort-new", 10.0, rule="\n".join([*rules, NEW_ORT]))
    before = phone(folder, OS_BEFORE)
    found.measure("0412-base-7k2f", net, *old, *before)
    found.measure("0413-ort-m3xq", net, *new, *before)
    found.measure("0414-net2-h9wc", net_2, *old, *before)
    found.measure("0415-other-t4ne", other, *old, *before, plan=SMALL_PLAN)
    found.orch("virtual", "down")
    found.measure("0420-os-b5rd", net, *old, *phone(folder, OS_AFTER))
    return found


COMMANDS = (
    "compare 0412-base-7k2f 0413-ort-m3xq --across binary",
    "compare 0412-base-7k2f 0414-net2-h9wc --across model --fail-if p50:5% --fail-if size:1%",
    "compare 0412-base-7k2f 0412-base-7k2f --map basic=all",
    "compare 0412-base-7k2f 0420-os-b5rd --fail-if p50:5%",
    "compare 0412-base-7k2f 0415-other-t4ne",
)

if __name__ == "__main__":
    examples = measured(Path(sys.argv[1]))
    for command in COMMANDS:
        print(f"$ orch {command}\n{examples.said(examples(*command.split()))}")
    examples.orch.end()
