"""Phones stand in the order in which a person would list them, whatever order adb has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.app.phones import in_words_and_numbers


def test_numbers_count_as_numbers() -> None:
    labels = ["virtual-pixel-8-10", "B3", "6d1f9e0a", "virtual-pixel-8-9", "R58N30ABCDE", "B21", "virtual-pixel-8-1"]
    assert sorted(labels, key=in_words_and_numbers) == [
        "6d1f9e0a", "B3", "B21", "R58N30ABCDE", "virtual-pixel-8-1", "virtual-pixel-8-9", "virtual-pixel-8-10",
    ]  # fmt: skip


@given(st.lists(st.text(max_size=12)))
def test_any_text_has_its_place(labels: list[str]) -> None:
    assert len(sorted(labels, key=in_words_and_numbers)) == len(labels)
