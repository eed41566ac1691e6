"""How much our folder takes on phones: asked through the port, all at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from android_runner.block import ORCH_DIR
from android_runner.deadline import Deadline
from android_runner.device import quoted
from android_runner.errors import PhoneRefused, RunnerError
from android_runner.facts import cleaned
from orchestrator.app.phones import Phone
from orchestrator.report.disk import PhoneDisk

ASK_S = 60.0
MAX_OUTPUT_BYTES = 4096
_KIB = re.compile(rb"\s*([0-9]{1,12})\s")


def phones_disk(phones: Sequence[Phone]) -> tuple[PhoneDisk, ...]:
    """Our folder on each of these usable phones; one that does not answer has the reason."""
    if not phones:
        return ()
    with ThreadPoolExecutor(max_workers=16) as pool:
        return tuple(pool.map(_ask, phones))


def _ask(phone: Phone) -> PhoneDisk:
    size_bytes, problem = None, ""
    try:
        size_bytes = _folder_bytes(phone)
    except RunnerError as error:
        problem = cleaned(str(error))
    free_bytes = phone.facts.free_bytes if phone.facts is not None else None
    return PhoneDisk(
        phone=phone.identity, label=phone.label, size_bytes=size_bytes, free_bytes=free_bytes, problem=problem
    )


def _folder_bytes(phone: Phone) -> int:
    """What du says of our folder; 0 where there is none. Raises RunnerError."""
    folder = quoted(ORCH_DIR)
    script = f"[ -d {folder} ] || {{ echo 0 none; exit 0; }}; du -sk {folder}"
    said = phone.source().shell(script, deadline=Deadline.after(ASK_S), max_output_bytes=MAX_OUTPUT_BYTES)
    found = _KIB.match(said.stdout)
    if found is None:
        words = (said.stderr or said.stdout)[:200].decode("utf-8", errors="replace")
        raise PhoneRefused(f"du says nothing of {ORCH_DIR}: {words}")
    return int(found[1]) * 1024
