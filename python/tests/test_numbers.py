"""Errors for invalid numbers name the argument and the permitted range."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from lookalike import (
    Collection,
    Index,
    Model,
    Recipe,
    dedup,
    errors,
    find_all,
    fingerprints,
    images,
    simhash,
)

Call = Callable[[Any], Any]

PRINTS = [0b0000, 0b0111]
TEXT = "to be or not to be"


def new(folder: str, **options: Any) -> Collection:
    """The path of a new collection."""
    return Collection(folder, **options)


def seen() -> Collection:
    collection = Collection("seen")
    collection.upsert("a", TEXT)
    return collection


#: Every whole number that can be given, under the name of its argument. Those that ``dedup`` hands to
#: the command line are its.
CALLS: dict[str, dict[str, Call]] = {
    "bits": {
        "find_all": lambda n: find_all(PRINTS, bits=n),
        "find_all of an array": lambda n: find_all(numpy.array(PRINTS), bits=n),
        "fingerprints": lambda n: fingerprints([TEXT], bits=n),
        "simhash": lambda n: simhash(TEXT, bits=n),
        "Recipe": lambda n: Recipe(bits=n),
        "Recipe.replace": lambda n: Recipe().replace(bits=n),
        "Model.learn": lambda n: Model.learn([TEXT], bits=n),
        "Index": lambda n: Index(bits=n),
        "Collection of texts": lambda n: new("new", bits=n),
        "Collection of fingerprints": lambda n: new("new", recipe=None, bits=n),
        "dedup": lambda n: dedup([TEXT], bits=n),
    },
    "blocks": {"find_all": lambda n: find_all(PRINTS, 3, n)},
    "distance": {
        "find_all": lambda n: find_all(PRINTS, n),
        "Index": lambda n: Index(64, n),
        "Index.search": lambda n: Index(prints=PRINTS).search(1, n),
        "Index.search_many": lambda n: Index(prints=PRINTS).search_many([1], n),
        "Collection": lambda n: new("new", distance=n),
        "Collection.check_and_insert": lambda n: seen().check_and_insert("b", "b", distance=n),
        "Collection.search": lambda n: seen().search(TEXT, n),
        "Collection.search_many": lambda n: seen().search_many([TEXT], n),
    },
    "limit": {
        "Collection.search": lambda n: seen().search(TEXT, limit=n),
        "Collection.search_many": lambda n: seen().search_many([TEXT], limit=n),
    },
    "memory": {"find_all": lambda n: find_all(PRINTS, memory=n)},
    "seed": {
        "Recipe": lambda n: Recipe(seed=n),
        "dedup": lambda n: dedup([TEXT], seed=n),
    },
    "threads": {
        "find_all": lambda n: find_all(PRINTS, threads=n),
        "fingerprints": lambda n: fingerprints([TEXT], threads=n),
        "Recipe.fingerprints": lambda n: Recipe().fingerprints([TEXT], n),
        "images": lambda n: images([], threads=n),
        "Index.search_many": lambda n: Index(prints=PRINTS).search_many([1], threads=n),
        "Collection.search_many": lambda n: seen().search_many([TEXT], threads=n),
    },
    "top": {
        "Recipe": lambda n: Recipe(top=n),
        "dedup": lambda n: dedup([TEXT], top=n),
    },
}

#: The message for numbers out of range, the exception, and whether 0 is out of range.
ALLOWED: dict[str, tuple[str, type[errors.LookalikeError], bool]] = {
    "bits": ("32, 64, 128 or 256", errors.FingerprintError, True),
    "blocks": ("a number from 1 to 256", errors.PairsError, True),
    "distance": ("a number from 0 to 256", errors.PairsError, False),
    "limit": ("a number from 0 to sys.maxsize", errors.OptionError, False),
    "memory": ('1 to 2**53 - 1 bytes, or a size such as "512M" or "2GB"', errors.OptionError, True),
    "seed": ("a number from 0 to 2**64 - 1", errors.HashError, False),
    "threads": ("a number from 1 to 65535, or None for all cores", errors.OptionError, True),
    "top": ("a number from 0 (all) to 2**32 - 1", errors.RecipeError, False),
}

EACH = pytest.mark.parametrize(
    ("argument", "name"), [(argument, name) for argument, calls in CALLS.items() for name in calls]
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@EACH
@pytest.mark.parametrize("number", [-1, -(2**40), 2**70, numpy.int64(-3)])
def test_refuses_numbers_out_of_range(argument: str, name: str, number: int) -> None:
    allowed, error, _ = ALLOWED[argument]
    with pytest.raises(error) as raised:
        CALLS[argument][name](number)
    assert isinstance(raised.value, ValueError)
    assert str(raised.value) == f"{argument} must be {allowed}, not {number!r}"


@EACH
def test_zero_is_a_number_like_others(argument: str, name: str) -> None:
    _, error, is_refused = ALLOWED[argument]
    if is_refused:
        with pytest.raises(error, match=r"\b0\b"):
            CALLS[argument][name](0)
    else:
        CALLS[argument][name](0)


@EACH
@pytest.mark.parametrize("other", [2.5, 64.0, "many", b"2", True, False, [1]])
def test_refuses_values_that_are_not_integers(argument: str, name: str, other: object) -> None:
    allowed, error, _ = ALLOWED[argument]
    # A text may be a size.
    kind = error if argument == "memory" and isinstance(other, str) else TypeError
    with pytest.raises(kind) as raised:
        CALLS[argument][name](other)
    assert str(raised.value) == f"{argument} must be {allowed}, not {other!r}"


def test_numbers_of_numpy_are_numbers() -> None:
    one, three, four, bits = (numpy.int64(number) for number in (1, 3, 4, 64))
    found = find_all(PRINTS, three, four, bits=bits, memory=bits, threads=one)
    assert found.tolist() == [[0, 1, 3]]
    assert Index(bits, three, prints=PRINTS).search(0, one) == [(0, 0)]
    assert Recipe(seed=one, top=four, bits=bits).top == 4


def test_the_largest_numbers_are_taken() -> None:
    assert Recipe(seed=2**64 - 1, top=2**32 - 1).seed == 2**64 - 1
    assert len(seen().search(TEXT, limit=sys.maxsize)) == 1
    assert find_all(PRINTS, 255, 256, bits=256, memory=2**53 - 1).tolist() == [[0, 1, 3]]
