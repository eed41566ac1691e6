"""A process that writes attempts and trials' ends until somebody ends it. Prints a line after each that is durable."""

from __future__ import annotations

import sys
from pathlib import Path

import sample_run as sample

from orchestrator.outcome import Skipped, SkipReason
from orchestrator.store.ledger import Ledger

ledger = Ledger.open(Path(sys.argv[1]))
run_id = sys.argv[2]
contents = sample.contents(run_id, rounds=100)
ledger.add_run(contents)
print("planned", flush=True)
for index in range(0, len(contents.trials), 3):
    one, two, three = contents.trials[index : index + 3]
    ledger.record_attempts(
        [
            sample.attempt(one, f"{run_id}-{index}", run_id=run_id),
            sample.attempt(two, f"{run_id}-{index + 1}", sample.FAILED, run_id=run_id),
        ]
    )
    print(f"attempts {index}", flush=True)
    ledger.end_trial(three.trial_id(run_id), Skipped(reason=SkipReason.DEADLINE))
    print(f"ended {index + 2}", flush=True)
