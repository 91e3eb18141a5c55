"""seomoz' ``simhash``: published values, and the whole public interface."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy
import pytest
from lookalike.compat import simhash_py as simhash


def test_unsigned_hash_is_the_first_half_of_md5() -> None:
    assert simhash.unsigned_hash(b"hello") == 6719722671305337462
    with pytest.raises(TypeError):
        simhash.unsigned_hash("hello")  # type: ignore[arg-type]


def test_compute_takes_the_majority() -> None:
    assert simhash.compute([]) == 0
    assert simhash.compute([0xDEADBEEF] * 100) == 0xDEADBEEF
    assert simhash.compute([0xDEADBEEFDEADBEEF, 0x2152411021524110]) == 0
    assert simhash.compute([0xABCD, 0xBCDE, 0xCDEF]) == 0xADCF
    assert simhash.compute(iter([1, 1, 2])) == 1
    assert simhash.compute(numpy.array([2**64 - 1], dtype=numpy.uint64)) == 2**64 - 1
    for wrong in [-1, 2**64]:
        with pytest.raises(OverflowError):
            simhash.compute([wrong])


@pytest.mark.parametrize("count", [1, 2, 7, 64, 500])
def test_compute_equals_counting(count: int) -> None:
    rng = random.Random(count)
    hashes = [rng.getrandbits(64) for _ in range(count)]
    ones = [sum(hash >> bit & 1 for hash in hashes) for bit in range(64)]
    assert simhash.compute(hashes) == sum(1 << bit for bit in range(64) if 2 * ones[bit] > count)


def test_num_differing_bits() -> None:
    assert simhash.num_differing_bits(0xDEADBEEF, 0xDEADBEAD) == 2
    assert simhash.num_differing_bits(0, 2**64 - 1) == 64
    with pytest.raises(OverflowError):
        simhash.num_differing_bits(0, -1)


def test_shingle_is_a_generator_of_lists() -> None:
    assert list(simhash.shingle(range(6))) == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert list(simhash.shingle(range(3), 4)) == []
    assert list(simhash.shingle("ab", 1)) == [["a"], ["b"]]
    for window in [0, -1]:
        shingles = simhash.shingle(range(10), window)
        with pytest.raises(ValueError):
            next(shingles)


@pytest.mark.parametrize("blocks", range(4, 10))
def test_find_all_equals_exhaustive_comparison(blocks: int) -> None:
    rng = random.Random(blocks)
    hashes = [rng.getrandbits(64) for _ in range(200)]
    hashes += [h ^ sum(1 << bit for bit in rng.sample(range(64), rng.randrange(6))) for h in hashes]
    before = list(hashes)
    expected = {
        (min(a, b), max(a, b)) for a, b in combinations(set(hashes), 2) if (a ^ b).bit_count() <= 3
    }
    found = simhash.find_all(hashes, blocks, 3)
    assert hashes == before, "the argument is as it was"
    assert isinstance(found, list) and len(found) == len(expected) > 50
    assert set(found) == expected
    assert all(type(value) is int for pair in found for value in pair)


@pytest.mark.parametrize("kind", [list, set, tuple, iter, lambda x: map(int, x), numpy.array])
def test_find_all_takes_any_collection_and_never_pairs_equals(kind: Any) -> None:
    hashes = (
        numpy.array([7, 7, 6, 2**63], dtype=numpy.uint64)
        if kind is numpy.array
        else kind([7, 7, 6, 2**63])
    )
    assert simhash.find_all(hashes, 4, 1) == [(6, 7)]


@pytest.mark.parametrize(("blocks", "bits"), [(3, 3), (0, 0), (65, 3), (4, -1)])
def test_wrong_blocks_raise(blocks: int, bits: int) -> None:
    with pytest.raises(ValueError, match="blocks"):
        simhash.find_all([1, 2], blocks, bits)


def test_find_all_refuses_values_that_are_not_hashes() -> None:
    for wrong in [-1, 2**64]:
        with pytest.raises(OverflowError):
            simhash.find_all([wrong], 4, 3)
    with pytest.raises(TypeError):
        simhash.find_all(["1"], 4, 3)
    assert simhash.find_all([], 4, 3) == []
