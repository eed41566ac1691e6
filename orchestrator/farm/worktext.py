"""Pure: a piece of work as a line of JSON and back, so that a later process can carry on an earlier one's block."""

from __future__ import annotations

import json

from orchestrator.farm.protocol import Planned, Work
from orchestrator.plan.case import Purpose


def work_to_text(work: Work) -> str:
    """The work as JSON; `trial` is the planned trial's id, empty for a calibration."""
    return json.dumps(
        {
            "case": work.case_id,
            "purpose": work.purpose.value,
            "iterations": work.iterations,
            "round": work.round,
            "position": work.position,
            "trial": work.trial.trial_id if work.trial is not None else "",
        },
        sort_keys=True,
    )


def work_from_text(text: str, phone: str) -> Work:
    """The work again. Raises ValueError or KeyError for text that is not ours."""
    data = json.loads(text)
    purpose = Purpose(data["purpose"])
    trial = None
    if data["trial"]:
        trial = Planned(
            trial_id=data["trial"],
            case_id=data["case"],
            phone=phone,
            purpose=purpose,
            round=data["round"],
            position=data["position"],
        )
    return Work(
        case_id=data["case"],
        purpose=purpose,
        iterations=data["iterations"],
        round=data["round"],
        position=data["position"],
        trial=trial,
    )
