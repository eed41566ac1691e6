"""Pure: the list that the phone script sources, and the script itself as package data.

The list is shell text: `begin ID...`, then a line `t ID DEADLINE ENVCOUNT NAME=VALUE... WORD...` per trial, with every
word quoted for a POSIX shell; a line `l TAG...` stands before a trial whose log is wanted, a line `a MASK` (hex) before
one that is bound to cores; a line `g LIMIT...` before all others says what the phone waits for, one with every limit
off behind the first trial that it does so once. Nothing that a plan or a file name holds is ever read by the shell as
anything else.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

from android_runner.block import Block, TrialTask
from android_runner.device import PhonePath, quoted

TASK_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What a task or block may be called: a file name and a shell word without need of quotes."""

ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

LOG_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,22}")
"""A tag of the phone's log that may be asked for: a shell word and a filter without need of quotes."""

GATE_WORD = re.compile(r"-|-?[0-9]{1,7}")
"""A limit as the script takes it: seven digits stay far below 2^31."""

NO_LIMITS = "g - - - 0 - - 0 0 0"
"""From here on nothing is waited for."""

MAX_EPOCH = 999_999_999
MAX_DEADLINE_S = 7 * 86_400
MAX_TASKS = 10_000
MAX_LOG_TAGS = 8
MAX_CORES = 64
"""What a mask may name; `taskset` of toybox and busybox takes longer ones only in a form of their own."""


def script_source() -> bytes:
    """The phone script as it is pushed."""
    return files("android_runner.phone").joinpath("run_block.sh").read_bytes()


def script_digest() -> str:
    """64 hex digits of the sha256 of the script: its version."""
    return hashlib.sha256(script_source()).hexdigest()


def render_list(block: Block) -> bytes:
    """The block's list. Raises ValueError for what the phone could not carry out as asked."""
    if not TASK_ID.fullmatch(block.block_id):
        raise ValueError(f"not a block id: {block.block_id!r}")
    if not 0 < block.epoch <= MAX_EPOCH:
        raise ValueError(f"block {block.block_id}: epoch {block.epoch} is not between 1 and {MAX_EPOCH}")
    if not 0 < len(block.tasks) <= MAX_TASKS:
        raise ValueError(f"block {block.block_id}: {len(block.tasks)} tasks, of 1 to {MAX_TASKS}")
    ids = [task.task_id for task in block.tasks]
    if len(set(ids)) < len(ids):
        raise ValueError(f"block {block.block_id}: a task id stands twice")
    first, *others = (_task_line(task) for task in block.tasks)
    opened = [NO_LIMITS] if block.gate_once and block.limits is not None else []
    lines = [*_gate_line(block), f"begin {' '.join(ids)}", first, *opened, *others]
    return ("\n".join(lines) + "\n").encode()


def _gate_line(block: Block) -> list[str]:
    """The limits as whole numbers of the script's units, `-` for one that is off."""
    if block.limits is None:
        return []
    limits = block.limits
    level = limits.min_battery_level
    words = [
        _scaled(limits.max_battery_c, 10),
        _scaled(limits.max_zone_c, 1000),
        "-" if level is None else str(level),
        str(max(0, min(limits.battery_hysteresis, 100 - (level or 0)))),
        _scaled(limits.max_load, 100),
        "-" if limits.max_status is None else str(limits.max_status),
        _scaled(limits.flat_c, 1000),
        str(limits.flat_window_s),
        str(limits.gate_timeout_s),
    ]
    if not all(GATE_WORD.fullmatch(word) for word in words):
        raise ValueError(f"block {block.block_id}: limits that no phone can count with: {limits}")
    return [f"g {' '.join(words)}"]


def _scaled(figure: float | None, factor: int) -> str:
    return "-" if figure is None else str(round(figure * factor))


def _task_line(task: TrialTask) -> str:
    if not TASK_ID.fullmatch(task.task_id):
        raise ValueError(f"not a task id: {task.task_id!r}")
    if not 0 < task.deadline_s <= MAX_DEADLINE_S:
        raise ValueError(f"task {task.task_id}: deadline of {task.deadline_s} s is not between 1 and {MAX_DEADLINE_S}")
    if not task.argv or not task.argv[0]:
        raise ValueError(f"task {task.task_id}: no command")
    for name in task.env:
        if not ENV_NAME.fullmatch(name):
            raise ValueError(f"task {task.task_id}: not a variable's name: {name!r}")
    env = [f"{name}={_word(value, task)}" for name, value in sorted(task.env.items())]
    words = [_word(word, task) for word in task.argv]
    line = " ".join(["t", task.task_id, str(task.deadline_s), str(len(env)), *env, *words])
    return f"{_log_line(task)}{_mask_line(task)}{line}"


def _mask_line(task: TrialTask) -> str:
    if task.cpu_mask is None:
        return ""
    if not 0 < task.cpu_mask < 1 << MAX_CORES:
        raise ValueError(f"task {task.task_id}: not a mask of 1 to {MAX_CORES} cores: {task.cpu_mask!r}")
    return f"a {task.cpu_mask:x}\n"


def _log_line(task: TrialTask) -> str:
    if len(task.log_tags) > MAX_LOG_TAGS:
        raise ValueError(f"task {task.task_id}: {len(task.log_tags)} tags of the log, at most {MAX_LOG_TAGS}")
    for tag in task.log_tags:
        if not LOG_TAG.fullmatch(tag):
            raise ValueError(f"task {task.task_id}: not a tag of the log: {tag!r}")
    return f"l {' '.join(task.log_tags)}\n" if task.log_tags else ""


def _word(word: str, task: TrialTask) -> str:
    if "\0" in word:
        raise ValueError(f"task {task.task_id}: a NUL in {word!r}")
    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"task {task.task_id}: not text: {word!r}") from error
    return quoted(word if isinstance(word, PhonePath) else str(word))
