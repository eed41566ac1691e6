"""The journal's reader: what the script writes is read back; what it can't have written is never believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.block import BlockEnding, Ending
from android_runner.phone.journal import MAX_JOURNAL_BYTES, Journal, parse_journal
from tests.host_phone import block_of, task

BOOT = "62183f3f-a36c-4b2e-ac65-b6b00cdd15f1"
BLOCK = block_of(task("12", "true"), task("done", "true"), task("t3", "true"))
# Written by the script itself on mksh, with one trial ended by the watchdog.
WHOLE = b"""\
1 begin 5 3 20397 4574.47 62183f3f-a36c-4b2e-ac65-b6b00cdd15f1 20987
"""


def figure(chain: int, *numbers: int) -> int:
    for number in numbers:
        chain = (chain * 33 + number % 65521) % 65521
    return chain


class Writer:
    """The script's `put`, said again in Python from its description."""

    def __init__(self) -> None:
        self.seq = self.chain = 0
        self.text = b""

    def put(self, text: str, *numbers: int) -> Writer:
        self.seq += 1
        self.chain = figure(self.chain, self.seq, *numbers)
        self.text += f"{self.seq} {text} {self.chain}\n".encode()
        return self


def boot_numbers() -> list[int]:
    digits = BOOT.replace("-", "")
    return [int(digits[at : at + 4], 16) for at in range(0, 32, 4)]


def whole() -> Writer:
    writer = Writer().put(f"begin 5 3 20397 4574.47 {BOOT}", 1, 5, 3, 20397, 4574, 147, *boot_numbers())
    writer.put("start 1 12 1 4574.50", 3, 1, 1, 4574, 150).put("exited 1 12 0 2 4575.08", 4, 1, 0, 2, 4575, 108)
    writer.put("start 2 done 2 4575.10", 3, 2, 2, 4575, 110).put(
        "timed_out 2 done 143 4 4585.09", 5, 2, 143, 4, 4585, 109
    )
    writer.put("start 3 t3 4 4585.10", 3, 3, 4, 4585, 110).put("lost 3 t3", 7, 3)
    return writer.put("finish done 4590.00", 8, 1, 4590, 100)


def test_the_figure_is_that_of_the_script() -> None:
    assert whole().text.startswith(WHOLE)


def test_a_whole_journal_is_read() -> None:
    journal = parse_journal(whole().text, BLOCK)
    assert journal.damage is None
    assert not journal.torn
    assert journal.ending is BlockEnding.DONE
    assert (journal.script_pid, journal.boot_id) == (20397, BOOT)
    assert [(r.task_id, r.ending, r.exit_code, r.before, r.after) for r in journal.records.values()] == [
        ("12", Ending.EXITED, 0, 1, 2),
        ("done", Ending.TIMED_OUT, 143, 2, 4),
        ("t3", Ending.LOST, None, 4, None),
    ]
    assert journal.records["12"].ended_uptime_s == 4575.08


def prefix_of(journal: Journal, full: Journal) -> bool:
    """Whether all that `journal` believes is what `full` says, or said before a trial's end."""
    for task_id, record in journal.records.items():
        true = full.records[task_id]
        if record.ending is not None and record != true:
            return False
        if (record.started_uptime_s, record.before) != (true.started_uptime_s, true.before):
            return False
    return True


@given(st.integers(min_value=0, max_value=len(whole().text)))
def test_a_cut_journal_is_partial_and_says_so(length: int) -> None:
    text = whole().text[:length]
    journal = parse_journal(text, BLOCK)
    assert journal.damage is None
    assert journal.torn == (text != b"" and not text.endswith(b"\n"))
    assert (journal.ending is None) == (length < len(whole().text))
    assert prefix_of(journal, parse_journal(whole().text, BLOCK))


@given(st.integers(min_value=0, max_value=len(whole().text) * 8 - 1))
def test_a_flipped_bit_is_found(bit: int) -> None:
    text = bytearray(whole().text)
    text[bit // 8] ^= 1 << bit % 8
    journal = parse_journal(bytes(text), BLOCK)
    assert journal.damage is not None or journal.torn
    assert journal.ending is None
    assert prefix_of(journal, parse_journal(whole().text, BLOCK))


@given(st.lists(st.integers(min_value=0, max_value=7), min_size=1, max_size=12))
def test_lost_swapped_and_doubled_lines_are_found(order: list[int]) -> None:
    lines = whole().text.splitlines(keepends=True)
    journal = parse_journal(b"".join(lines[number] for number in order), BLOCK)
    good = next((at for at, number in enumerate(order) if number != at), len(order))
    assert (journal.damage is None) == (good == len(order))
    assert prefix_of(journal, parse_journal(whole().text, BLOCK))


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    journal = parse_journal(data, BLOCK)
    assert journal.records == {}
    assert (journal.damage is None) == (b"\n" not in data)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("start 2 12 1 4574.50", (3, 2, 1, 4574, 150)),
        ("start 1 done 1 4574.50", (3, 1, 1, 4574, 150)),
        ("start 4 x 1 4574.50", (3, 4, 1, 4574, 150)),
        ("start 01 12 1 4574.50", (3, 1, 1, 4574, 150)),
        ("exited 1 12 0 2 4575.08", (4, 1, 0, 2, 4575, 108)),
        ("begin 5 3 1 1.00 " + BOOT, (1, 5, 3, 1, 1, 100, *boot_numbers())),
        ("lost 1 12", (7, 1)),
        ("nonsense 1", (9, 1)),
    ],
)
def test_a_line_with_a_right_figure_that_makes_no_sense_is_found(text: str, numbers: tuple[int, ...]) -> None:
    writer = Writer().put(f"begin 5 3 20397 4574.47 {BOOT}", 1, 5, 3, 20397, 4574, 147, *boot_numbers())
    assert parse_journal(writer.put(text, *numbers).text, BLOCK).damage is not None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("exited 1 12 256 2 4575.08", (4, 1, 256, 2, 4575, 108)),
        ("exited 1 done 0 2 4575.08", (4, 1, 0, 2, 4575, 108)),
        ("start 2 done 2 4575.10", (3, 2, 2, 4575, 110)),
        ("finish done 4575.10", (8, 1, 4575, 110)),
    ],
)
def test_a_wrong_line_while_a_trial_runs_is_found(text: str, numbers: tuple[int, ...]) -> None:
    writer = Writer().put(f"begin 5 3 20397 4574.47 {BOOT}", 1, 5, 3, 20397, 4574, 147, *boot_numbers())
    writer.put("start 1 12 1 4574.50", 3, 1, 1, 4574, 150)
    assert parse_journal(writer.put(text, *numbers).text, BLOCK).damage is not None


def test_the_journal_of_another_block_is_not_believed() -> None:
    assert parse_journal(whole().text, block_of(task("12", "true"))).damage is not None
    assert parse_journal(whole().text, block_of(*BLOCK.tasks, epoch=6)).damage is not None


def test_an_endless_journal_is_bounded() -> None:
    journal = parse_journal(whole().text + b"x" * MAX_JOURNAL_BYTES, BLOCK)
    assert journal.damage is not None
    assert journal.ending is None


def test_a_torn_line_is_bridged_by_a_restart() -> None:
    writer = Writer().put(f"begin 5 3 20397 4574.47 {BOOT}", 1, 5, 3, 20397, 4574, 147, *boot_numbers())
    writer.text += b"2 start 1 12 1 45\n"
    writer.put(f"resume 999 4600.00 {BOOT}", 2, 999, 4600, 100, *boot_numbers())
    journal = parse_journal(writer.text, BLOCK)
    assert journal.damage is None
    assert journal.script_pid == 999
