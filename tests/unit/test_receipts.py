"""What receipts prove, and what they don't; pure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from android_runner.batches import batches
from android_runner.receipts import (
    Resident,
    StageFile,
    StageUnit,
    is_ready,
    parse_look,
    parse_residents,
    victims,
)

DIGEST = "ab" * 32
SHA = "0" * 64
MODEL = StageUnit(
    digest=DIGEST, files=(StageFile(name="m.ort", source=b"", sha256=SHA), StageFile(name="d/i.pb", source=b""))
)
RECEIPT = f"""orch-receipt 1 {DIGEST}
sha {SHA} m.ort
sha {"1" * 64} d/i.pb
10 1700000000 42 {DIGEST}/m.ort
20 1700000000 43 {DIGEST}/d/i.pb
end {DIGEST}
"""
NOW = f"10 1700000000 42 {DIGEST}/m.ort\n20 1700000000 43 {DIGEST}/d/i.pb\n"


def ready(receipt: str, now: str, unit: StageUnit = MODEL) -> bool:
    return is_ready(unit, parse_look(f"{receipt}MARK\n{now}", "MARK"))


def test_a_receipt_that_fits_proves_the_unit() -> None:
    assert ready(RECEIPT, NOW)


@pytest.mark.parametrize(
    ("receipt", "now"),
    [
        ("", NOW),
        (RECEIPT, ""),
        (RECEIPT.replace(f"end {DIGEST}\n", ""), NOW),
        (RECEIPT.replace("orch-receipt 1", "orch-receipt 2"), NOW),
        (RECEIPT.replace(SHA, "2" * 64), NOW),
        (RECEIPT.replace(f"sha {'1' * 64} d/i.pb\n", ""), NOW),
        (RECEIPT + f"orch-receipt 1 {DIGEST}\nsha {SHA} more\nend {DIGEST}\n", NOW),
        (RECEIPT.replace(f"end {DIGEST}", f"end {'cd' * 32}"), NOW),
        (RECEIPT, NOW.replace("10 17", "11 17")),
        (RECEIPT, NOW.replace("1700000000 43", "1700000001 43")),
        (RECEIPT, NOW.replace(" 42 ", " 44 ")),
        (RECEIPT, NOW.splitlines()[0] + "\n"),
    ],
)
def test_what_proves_nothing(receipt: str, now: str) -> None:
    assert not ready(receipt, now)


def test_an_unknown_sha_takes_what_was_verified_then_and_a_known_one_does_not() -> None:
    other = StageUnit(digest=DIGEST, files=(MODEL.files[0], StageFile(name="d/i.pb", source=b"", sha256="3" * 64)))
    assert not ready(RECEIPT, NOW, other)


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    seen = parse_look(text, "MARK")
    assert not is_ready(MODEL, seen)


@pytest.mark.parametrize(
    "name",
    ["", "/abs", "../x", "a/../b", "a/..", ".part-x", "-rf", "a b", "a\n", "a;b", "é", "a//b", "a/", "x" * 200, "$x"],
)
def test_names_that_are_not_ours(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        StageFile(name=name, source=b"")


@pytest.mark.parametrize("digest", ["", "xyz", "AB" * 32, "../" + "a" * 61, "a" * 65, "abc"])
def test_digests_that_are_none(digest: str) -> None:
    with pytest.raises(ValueError, match="not a digest"):
        StageUnit(digest=digest, files=MODEL.files)


def test_units_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="twice"):
        StageUnit(digest=DIGEST, files=(MODEL.files[0], MODEL.files[0]))
    with pytest.raises(ValueError, match="no files"):
        StageUnit(digest=DIGEST, files=())
    with pytest.raises(ValueError, match="not a sha256"):
        StageFile(name="a", source=Path("a"), sha256="12")


def test_least_recently_used_go_first_and_kept_ones_never() -> None:
    old, middle, new = (Resident(letter * 8, used, 100) for letter, used in (("a", 10), ("b", 20), ("c", 30)))
    orphan = Resident("d" * 8, 0, 50)
    everyone = [new, old, orphan, middle]
    assert victims(everyone, set(), 120) == [orphan, old]
    assert victims(everyone, {old.digest}, 120) == [orphan, middle]
    assert victims(everyone, set(), 10_000) == [orphan, old, middle, new]
    assert victims(everyone, set(), 0) == []


def test_only_digests_of_ours_are_ever_candidates() -> None:
    text = "5 aabbccdd.receipt\n7 ../x.receipt\n12\taabbccdd\n9\t..\n9\tfoo\n4\t/etc\n3\t00112233\n"
    assert parse_residents(text) == [Resident("aabbccdd", 5, 12 * 1024), Resident("00112233", 0, 3 * 1024)]


@given(st.lists(st.integers(1, 30_000), max_size=40))
def test_batches_keep_order_and_lose_nothing(costs: list[int]) -> None:
    groups = list(batches(costs, lambda cost: cost, 40_000))
    assert [cost for group in groups for cost in group] == costs
    assert all(sum(group) <= 40_000 or len(group) == 1 for group in groups)
