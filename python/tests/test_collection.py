"""Durable collections: storing and searching."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lookalike import (
    Collection,
    CollectionMatch,
    Recipe,
    dedup,
    errors,
    fingerprints,
    simhash,
)

NINE = "The ferry to the island leaves at nine in the morning from the north end."
TEN = "The ferry to the island leaves at ten in the morning, from the north end!"
OTHER = "Boil the potatoes in their skins, let them cool, and slice them thin."


def test_texts_are_remembered_and_found(tmp_path: Path) -> None:
    with Collection(tmp_path / "seen") as seen:
        added = seen.insert_many([("nine", NINE, {"page": 7}), ("other", OTHER), ("empty", " ")])
        assert [bool(one) for one in added] == [True, True, False]
        assert not seen.insert("nine", TEN), "an id is taken once"
        [match] = seen.search(TEN)
        found = compare_all([NINE, TEN])
        assert match == CollectionMatch("nine", found.distance, found.similarity, "copy")
        assert seen.search("...") == seen.search(" ") == []
    with Collection(tmp_path / "seen") as seen:
        assert (len(seen), list(seen), seen.bits, seen.distance) == (
            2,
            ["nine", "other"],
            128,
            None,
        )
        assert "nine" in seen and "ten" not in seen
        item = seen["nine"]
        assert (item.id, item.fingerprint, item.payload) == ("nine", simhash(NINE), {"page": 7})
        assert abs((datetime.now(UTC) - item.inserted).total_seconds()) < 600
        assert seen.upsert("nine", OTHER) and seen["nine"].fingerprint == simhash(OTHER)
        assert seen.remove("nine") and not seen.remove("nine")
        with pytest.raises(KeyError):
            seen["nine"]
        seen.compact()
        seen.verify()
        seen.backup(tmp_path / "copy")
    with Collection(tmp_path / "copy", read_only=True) as copy:
        assert list(copy) == ["other"]
        with pytest.raises(errors.CollectionError, match="reading only"):
            copy.insert("x", NINE)


def compare_all(texts: list[str]) -> Any:
    """The only pair of some texts."""
    [pair] = dedup(texts, level="similar").pairs
    return pair


def test_check_and_insert_does_not_store_near_items(tmp_path: Path) -> None:
    with Collection(tmp_path / "seen", recipe="bare") as seen:
        assert seen.check_and_insert("nine", NINE) == []
        near = seen.check_and_insert("ten", TEN)
        assert [match.id for match in near] == ["nine"] and "ten" not in seen
        assert seen.check_and_insert("ten", TEN, distance=0) == []
        assert len(seen) == 2
    with Collection(tmp_path / "words") as seen:
        assert seen.check_and_insert("nine", NINE) == []
        assert seen.check_and_insert("ten", TEN, similarity=0.99) == []
        assert [match.id for match in seen.search(TEN, level="copy")] == ["ten", "nine"]


def test_fingerprints_of_yours_are_found_as_by_comparing_with_each(tmp_path: Path) -> None:
    rng = random.Random(3)
    prints = [rng.getrandbits(64) for _ in range(300)]
    prints += [print ^ (1 << rng.randrange(64)) ^ (1 << rng.randrange(64)) for print in prints]
    with Collection(tmp_path / "prints", recipe=None, bits=64, distance=3) as seen:
        assert all(seen.insert_many((str(at), print) for at, print in enumerate(prints)))
        for query, found in zip(prints, seen.search_many(prints, limit=1000), strict=True):
            near = [((query ^ p).bit_count(), at) for at, p in enumerate(prints)]
            near = sorted(pair for pair in near if pair[0] <= 3)
            assert found == [CollectionMatch(str(at), distance) for distance, at in near]
        with pytest.raises(ValueError, match="not of texts"):
            seen.insert("text", NINE)
        with pytest.raises(errors.FingerprintError, match="does not fit into 64 bits"):
            seen.insert("wide", 1 << 64)
        with pytest.raises(errors.CollectionError):
            seen.search(0, distance=4)


def test_another_recipe_is_refused(tmp_path: Path) -> None:
    Collection(tmp_path / "seen", recipe="bare").close()
    with pytest.raises(errors.CollectionError, match="bare"):
        Collection(tmp_path / "seen", recipe="simhash64")
    Collection(tmp_path / "seen").close()
    seen = Collection(tmp_path / "seen", recipe=Recipe("bare"))
    with pytest.raises(errors.CollectionError):
        Collection(tmp_path / "seen")
    seen.close()
    with pytest.raises(ValueError, match="closed"):
        len(seen)
    with pytest.raises(ValueError, match="functions cannot be stored"):
        Collection(tmp_path / "own", tokenizer=str.split)
    with pytest.raises(errors.CollectionError, match="no collection here"):
        Collection(tmp_path / "none", read_only=True)


def test_refuses_to_open_with_other_settings(tmp_path: Path) -> None:
    Collection(tmp_path / "seen", recipe=None, bits=64, distance=5).close()
    with Collection(tmp_path / "seen", recipe=None, distance=3) as seen:
        assert (seen.bits, seen.distance) == (64, 5)
    for asked, message in [
        ({"bits": 128}, "64-bit fingerprints, not 128"),
        ({"distance": 6}, "up to 5, not 6"),
    ]:
        with pytest.raises(errors.CollectionError, match=message):
            Collection(tmp_path / "seen", recipe=None, **asked)
    Collection(tmp_path / "seen", recipe=None).close()


def test_returns_a_status_for_each_item(tmp_path: Path) -> None:
    items = [
        ("a", NINE),
        ("a", NINE),
        ("a", OTHER),
        ("none", " "),
        (None, OTHER),
        (None, OTHER),
        ("x" * 40_000, OTHER),
        ("missing", None),
    ]
    expected = ["added", "present", "conflict", "unfit", "added", "present", "unfit", "unfit"]
    with Collection(tmp_path / "seen", recipe="bare") as seen:
        added = seen.insert_many(items)
        assert [one.status for one in added] == expected
        assert [bool(one) for one in added] == [status == "added" for status in expected]
        assert added[4].id == added[5].id and added[4].id.startswith("b3-")
        assert "at most 32767 bytes" in (added[6].reason or "")
        assert len(seen) == 2 and seen["a"].fingerprint == simhash(NINE, "bare")
        counts = Counter(one.status for one in seen.check_and_insert_many([("b", TEN), *items]))
        assert counts == {"near": 1, "present": 4, "conflict": 1, "unfit": 3}
        assert sum(counts.values()) == len(items) + 1
        replaced = seen.upsert_many([("a", OTHER), ("c", "")])
        assert [one.status for one in replaced] == ["replaced", "unfit"]


def test_never_reports_an_item_as_stored_that_is_not(tmp_path: Path) -> None:
    with Collection(tmp_path / "seen", recipe="bare") as seen:
        assert seen.check_and_insert("nine", NINE) == []
        assert seen.check_and_insert("nine", NINE) == [CollectionMatch("nine", 0)]
        with pytest.raises(errors.CollectionError, match="an item with other content has this id"):
            seen.check_and_insert("nine", OTHER)
        with pytest.raises(errors.CollectionError, match="empty"):
            seen.check_and_insert("empty", " ")
        assert len(seen) == 1


def test_masked_fingerprints_are_neither_stored_nor_found(tmp_path: Path) -> None:
    prints = fingerprints(["one text of some words", "..."], recipe="simhash64")
    with Collection(tmp_path / "seen", recipe=None, bits=64) as seen:
        assert [one.status for one in seen.insert_many(zip("ab", prints, strict=True))] == [
            "added",
            "unfit",
        ]
        assert seen.search_many(prints) == [[CollectionMatch("a", 0)], []]
        assert seen.insert(None, 7).id == "0x0000000000000007"
