"""What a terminal sees while a run lasts: how far, how long yet, and what the rounds so far say."""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict

from orchestrator.farm.messages import BlockOutcome
from orchestrator.farm.protocol import EndTrial
from orchestrator.outcome import Measured
from orchestrator.plan.case import Case
from orchestrator.store.records import RunContents


class Progress:
    """A `Watcher` that writes to stderr: one line rewritten on a terminal, one line a block elsewhere."""

    def __init__(self) -> None:
        self.cases: dict[str, Case] = {}
        self.planned = 0
        self.ended = 0
        self.seen = 0
        self.pushed_bytes = 0
        self.p50s_s: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self.started_s = time.monotonic()
        self.name = ""
        self._live = sys.stderr.isatty()
        self._last = ""

    def begin(self, contents: RunContents) -> None:
        """The run is about to start."""
        self.cases = {case.case_id: case for case in contents.cases}
        self.planned = len(contents.trials)
        self.name = contents.run.plan_name
        self.started_s = time.monotonic()

    def staged(self, phone: str, pushed_bytes: int) -> None:
        """Bytes went to a phone."""
        self.pushed_bytes += pushed_bytes
        if pushed_bytes:
            self._line(f"staged {pushed_bytes / 1e6:.1f} MB on {phone}")

    def trial_seen(self, phone: str, task_id: str) -> None:
        """A process ended on a phone."""
        self.seen += 1
        if self._live:
            self._line("")

    def block_stored(self, outcome: BlockOutcome) -> None:
        """A block's attempts are in the ledger."""
        for attempt in outcome.attempts:
            match attempt.outcome:
                case Measured(figures=figures) if figures is not None:
                    case = self.cases[attempt.case_id]
                    self.p50s_s[(attempt.phone, case.model_name, attempt.case_id)].append(figures.p50_s)
        self._line("")

    def trial_ended(self, command: EndTrial) -> None:
        """A planned trial has its row."""
        self.ended += 1

    def phone_gone(self, phone: str, why: str) -> None:
        """A phone is given up."""
        self._line(f"{phone} is lost: {why}")

    def end(self) -> None:
        """Leave the line to what comes next."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
        sys.stderr.write(f"staged {self.pushed_bytes} bytes in all\n")
        sys.stderr.flush()

    def so_far(self) -> str:
        """The provisional answer: per phone and model the best row against the default; empty before a round."""
        best: dict[tuple[str, str], tuple[float, str]] = {}
        default: dict[tuple[str, str], float] = {}
        for (phone, model, case_id), values in self.p50s_s.items():
            middle_s = statistics.median(values)
            case = self.cases[case_id]
            if case.row == "default":
                default[(phone, model)] = middle_s
            if (phone, model) not in best or middle_s < best[(phone, model)][0]:
                best[(phone, model)] = (middle_s, case.row)
        words = []
        several = len({model for _, model in best}) > 1
        for key, (middle_s, row) in best.items():
            ratio = f" {default[key] / middle_s:.2f}×" if key in default and row != "default" else ""
            model = f" {key[1]}" if several else ""
            words.append(f"{key[0]}{model}: {row}{ratio}")
        return "; ".join(words[:2]) + (" …" if len(words) > 2 else "")

    def _line(self, news: str) -> None:
        done = max(self.ended, 0)
        elapsed_s = time.monotonic() - self.started_s
        left = f"{elapsed_s / done * (self.planned - done):.0f} s left" if done else "calibrating"
        text = f"{self.name}  {done}/{self.planned}  {left}" + (f"  so far {so}" if (so := self.so_far()) else "")
        if not self._live:
            said = news or text
            if said != self._last:
                sys.stderr.write(f"{said}\n")
            self._last = said
        else:
            sys.stderr.write(f"\r\x1b[K{news}\n" if news else f"\r\x1b[K{text[:79]}")
        sys.stderr.flush()
