"""All pairs and searches, compared with exhaustive comparison."""

from __future__ import annotations

import pickle
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
from lookalike import Index, Match, distance, errors, find_all, fingerprints


def some(count: int, bits: int, seed: int) -> list[int]:
    """Fingerprints with many near and some equal ones."""
    rng = random.Random(seed)
    prints = [rng.getrandbits(bits) for _ in range(count)]
    for at in range(0, count, 3):
        flips = rng.sample(range(bits), rng.randrange(6))
        prints[at] = prints[at // 2] ^ sum(1 << bit for bit in flips)
    return prints


def words(prints: list[int], bits: int) -> Any:
    width = max(1, bits // 64)
    data = b"".join(print.to_bytes(8 * width, "little") for print in prints)
    array = numpy.frombuffer(data, dtype=numpy.uint64)
    return array if width == 1 else array.reshape(-1, width)


def oracle(prints: list[int | None], radius: int) -> list[list[int]]:
    pairs = combinations(enumerate(prints), 2)
    near = [
        [i, j, (a ^ b).bit_count()] for (i, a), (j, b) in pairs if a is not None and b is not None
    ]
    return [pair for pair in near if pair[2] <= radius]


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
@pytest.mark.parametrize("radius", [0, 1, 3, 5])
def test_find_all_equals_exhaustive_comparison(bits: int, radius: int) -> None:
    prints = some(300, bits, seed=bits + radius)
    expected = oracle(prints, radius)
    assert expected
    found = find_all(words(prints, bits), radius, bits=bits)
    assert found.dtype == numpy.uint32
    assert found.tolist() == expected
    assert find_all(prints, radius, bits=bits).tolist() == expected
    for blocks in [radius + 1, radius + 3]:
        assert find_all(prints, radius, blocks, bits=bits).tolist() == expected
    assert find_all(prints, radius, bits=bits, memory=1000, threads=1).tolist() == expected


@pytest.mark.parametrize("memory", ["1", "8K", "1.5 MiB", "2gb", 1])
def test_memory_is_bytes_or_a_size_as_people_write_one(memory: int | str) -> None:
    prints = some(300, 64, seed=7)
    assert find_all(prints, 3, memory=memory).tolist() == oracle(prints, 3)


@pytest.mark.parametrize("memory", ["", "0", "-1G", "2X", "9007199254740992"])
def test_refuses_invalid_sizes(memory: str) -> None:
    with pytest.raises(errors.OptionError) as raised:
        find_all([1], memory=memory)
    assert f'or a size such as "512M" or "2GB", not {memory!r}' in str(raised.value)


def test_the_width_of_ints_is_guessed() -> None:
    assert find_all([1 << 100, 3 << 100, 0]).tolist() == [[0, 1, 1], [0, 2, 1], [1, 2, 2]]
    assert find_all([1 << 200, 0], 1).tolist() == [[0, 1, 1]]


def test_arrays_of_every_kind_are_taken() -> None:
    prints = some(100, 64, seed=1)
    expected = oracle(prints, 3)
    array = words(prints, 64)
    for given in [
        array,
        array.view(numpy.int64),
        array.astype(">u8"),
        numpy.repeat(array, 2)[::2],
        array.reshape(-1, 1),
        numpy.ma.MaskedArray(array),
        polars.Series(array),
        pandas.Series(array),
        pyarrow.array(array),
        iter(prints),
    ]:
        assert find_all(given).tolist() == expected
    small = numpy.array([1, 3, 0xFFFF], dtype=numpy.uint32)
    assert find_all(small, 1).tolist() == [[0, 1, 1]]


def test_empty_texts_are_like_nothing() -> None:
    texts = ["", "to be or not to be", "", "to be, or not to be", ""]
    for bits in [64, 128]:
        prints = fingerprints(texts, bits=bits)
        assert find_all(prints, 0).tolist() == [[1, 3, 0]]
    listed = [None, 7, None, 7]
    columns = [
        polars.Series(listed, dtype=polars.UInt64),
        pandas.Series(listed, dtype="UInt64"),
        pandas.Series(listed, dtype=object),
        pyarrow.array(listed, pyarrow.uint64()),
        pyarrow.chunked_array([listed[:1], listed[1:]], pyarrow.uint64()),
    ]
    for given in [listed, *columns]:
        assert find_all(given, 0).tolist() == [[1, 3, 0]]


def test_equal_ones_can_be_tied_to_the_first() -> None:
    prints = [5, 9, 5, 5, 4]
    assert find_all(prints, 1, equal="first").tolist() == [[0, 2, 0], [0, 3, 0], [0, 4, 1]]
    same = numpy.zeros(200_000, dtype=numpy.uint64)
    assert len(find_all(same, equal="first")) == 199_999
    with pytest.raises(MemoryError, match='equal="first"'):
        find_all(same)
    with pytest.raises(ValueError, match="equal must be"):
        find_all(prints, equal="none")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        (
            [2**64],
            {"bits": 64},
            errors.FingerprintError,
            "18446744073709551616 does not fit into 64",
        ),
        ([-1], {}, errors.FingerprintError, "-1 does not fit"),
        ([2**32], {"bits": 32}, errors.FingerprintError, "does not fit into 32 bits"),
        ([2**300], {}, errors.FingerprintError, "does not fit into 256 bits"),
        ([1.5], {}, TypeError, "a fingerprint must be an int, not float"),
        (["1"], {}, TypeError, "a fingerprint must be an int, not str"),
        ([1], {"bits": 100}, errors.FingerprintError, "32, 64, 128 or 256 bits, not 100"),
        ([1], {"distance": 65}, errors.PairsError, "a radius of 65 is wider than the 64 bits"),
        ([1], {"blocks": 3}, errors.PairsError, "3 blocks cannot find pairs within 3"),
        (numpy.zeros((2, 3), dtype=numpy.uint64), {}, ValueError, r"not \(2, 3\)"),
        (numpy.zeros(2), {}, TypeError, "not float64"),
    ],
)
def test_refuses_invalid_searches(
    given: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        find_all(given, **options)


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
def test_index_equals_exhaustive_comparison(bits: int, tmp_path: Path) -> None:
    prints = some(500, bits, seed=bits)
    index = Index(bits, distance=4)
    assert [index.insert(print) for print in prints[:250]] == list(range(250))
    assert index.insert_many(words(prints[250:], bits)).tolist() == list(range(250, 500))
    gone = set(range(0, 500, 7))
    for id in gone:
        assert index.remove(id) == prints[id]
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    assert (loaded.bits, loaded.distance) == (max(64, bits), 4)
    for same in [index, loaded, pickle.loads(pickle.dumps(index))]:
        assert len(same) == 500 - len(gone)
        assert list(same) == [id for id in range(500) if id not in gone]
        rows = []
        for at, query in enumerate(prints):
            near = [((query ^ p).bit_count(), id) for id, p in enumerate(prints) if id not in gone]
            near = sorted(pair for pair in near if pair[0] <= 3)
            assert same.search(query, 3) == [Match(id, distance) for distance, id in near]
            assert (query in same) == (bool(near) and near[0][0] == 0)
            rows += [[at, id, distance] for distance, id in near]
        assert same.search_many(words(prints, bits), 3).tolist() == rows
        assert same.search_many(prints, 3, threads=1).tolist() == rows
        assert same.insert(prints[0]) == 0, "the lowest free id is given again"


def test_an_index_keeps_ids_beside_empty_texts() -> None:
    prints = fingerprints(["to be or not to be", "", "the end"])
    index = Index(128, distance=20)
    assert index.insert_many(prints).tolist() == [0, None, 1]
    assert index.search(prints[2]) == [Match(1, 0)]
    assert index.search_many(prints, 0).tolist() == [[0, 0, 0], [2, 1, 0]]
    assert index[0] == int(prints[0][0]) + (int(prints[0][1]) << 64)


def test_index_errors_are_clear(tmp_path: Path) -> None:
    index = Index(64, distance=3)
    for nobody in [0, 7, -1, 2**70]:
        with pytest.raises(KeyError):
            index.remove(nobody)
        with pytest.raises(KeyError):
            index[nobody]
    for other in ["a", 1.5, True]:
        with pytest.raises(TypeError, match=f"an id must be a number, not {other!r}"):
            index.remove(other)  # type: ignore[arg-type]
    with pytest.raises(errors.SearchError, match="the index was made for at most 3"):
        index.search(0, 4)
    with pytest.raises(errors.FingerprintError, match="does not fit into 64 bits"):
        index.insert(2**64)
    with pytest.raises(ValueError, match="the index has 64 bits, but the fingerprints have 128"):
        index.insert_many(fingerprints(["a text"]))
    with pytest.raises(errors.PairsError, match="wider than"):
        Index(64, distance=65)
    (tmp_path / "text").write_text("something else")
    with pytest.raises(errors.SearchError, match="not a lookalike index"):
        Index.load(tmp_path / "text")
    with pytest.raises(errors.SearchError, match="No such file"):
        Index.load(tmp_path / "none")
    assert repr(index) == "<Index of 0 items, 64 bits, distance up to 3>"
    index.insert(5)
    index.clear()
    assert len(index) == 0 and index.memory_bytes >= 0


def test_detects_every_damage_to_an_index(tmp_path: Path) -> None:
    index = Index(64, distance=3, prints=[1, 2, 3])
    file = tmp_path / "index"
    index.save(file)
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            loaded = Index.load(file)
        except errors.SearchError as error:
            assert str(file) in str(error)
        else:
            # The padding between sections is never read.
            assert whole[at] == 0 and [loaded[id] for id in loaded] == [1, 2, 3]
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(errors.SearchError):
            Index.load(file)


def test_distance_counts_bits() -> None:
    a, b = 0x0123456789ABCDEF << 64 | 7, 0xFEDCBA9876543210 << 64
    one, two = words([a, b], 128)
    assert distance(a, b) == distance(one, two) == distance(a, two) == distance(one, b) == 67
    assert distance(words([a, b], 128), words([b, b], 128)).tolist() == [67, 0]
    assert distance(numpy.uint64(7), 0) == 3
    with pytest.raises(ValueError, match="1, 2 or 4 words"):
        distance(numpy.zeros(3, dtype=numpy.uint64), 1)
    with pytest.raises(TypeError, match="uint64"):
        distance(numpy.zeros(2), 1)
    for wrong in [-1, 2**256]:
        with pytest.raises(errors.FingerprintError, match=f"{wrong} is not a fingerprint"):
            distance(wrong, 0)
