"""A searchable index in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._arrays import Given, is_empty, numpy, triples_from
from .errors import FingerprintError

if TYPE_CHECKING:
    from ._arrays import Triples


class Match(NamedTuple):
    """An item near a query."""

    #: The id that :meth:`Index.insert` returned.
    id: int
    #: The number of bits in which it differs from the query.
    distance: int


class Index:
    """A mutable set of fingerprints with exact search.

    >>> index = Index(bits=64, distance=3)
    >>> index.insert(0b0000), index.insert(0b0111), index.insert(0b1111_1111)
    (0, 1, 2)
    >>> index.search(0b0001)
    [Match(id=0, distance=1), Match(id=1, distance=2)]
    >>> index.remove(0)
    0
    >>> 0b0111 in index, 0 in index, len(index)
    (True, False, 2)

    ``distance`` is the maximum distance of a search. Ids are numbers from 0; ids of removed items are
    reused, the lowest first. Several threads may search at the same time.
    """

    __slots__ = ("_native",)

    def __init__(self, bits: int = 64, distance: int = 3, prints: Any = None) -> None:
        self._native = _native.Index(bits, distance)
        if prints is not None:
            self.insert_many(prints)

    @property
    def bits(self) -> int:
        """The number of bits of a fingerprint."""
        return self._native.bits

    @property
    def distance(self) -> int:
        """The maximum distance of a search."""
        return self._native.distance

    def insert(self, print: int) -> int:
        """Add a fingerprint and return its id; :class:`ValueError` if it is masked or ``None``."""
        if is_empty(print):
            raise FingerprintError("the fingerprint is missing (masked or None)")
        return self._native.insert(_int_of(print))

    def insert_many(self, prints: Any) -> Any:
        """Add many and return their ids as an array, masked where a fingerprint is missing.

        >>> index = Index(bits=128, distance=30)
        >>> index.insert_many(fingerprints(["to be or not to be", "", "the end"])).tolist()
        [0, None, 1]
        """
        given = self._given(prints)
        ids = self._native.insert_many(given.prints)
        count = len(prints) if hasattr(prints, "__len__") else None
        return _ids(ids, given, count)

    def remove(self, id: int) -> int:
        """Remove an item and return its fingerprint; :class:`KeyError` if it does not exist."""
        removed = self._native.remove(id)
        if removed is None:
            raise KeyError(id)
        return removed

    def search(self, print: int, distance: int | None = None) -> list[Match]:
        """All items within the distance, nearest first. A missing fingerprint has no matches."""
        if is_empty(print):
            return []
        within = self.distance if distance is None else distance
        return [Match(*found) for found in self._native.search(_int_of(print), within)]

    def search_many(
        self, prints: Any, distance: int | None = None, *, threads: int | None = None
    ) -> Triples:
        """Search for many fingerprints in parallel, with a row for each match.

        A row has the position of the query, the id of the item and their distance, nearest first.

        >>> index = Index(prints=[0b0000, 0b0111])
        >>> index.search_many([0b0001, 0b1111]).tolist()
        [[0, 0, 1], [0, 1, 2], [1, 1, 1]]
        """
        given = self._given(prints)
        within = self.distance if distance is None else distance
        found = self._native.search_many(given.prints, within, threads)
        return given.restore(triples_from(found), columns=(0,))

    def clear(self) -> None:
        """Remove everything."""
        self._native.clear()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, under a temporary name until it is complete."""
        self._native.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Index:
        """Read a file written by :meth:`save`, and verify its checksums."""
        index = cls.__new__(cls)
        index._native = _native.Index.load(path)
        return index

    @property
    def memory_bytes(self) -> int:
        """The memory used, in bytes."""
        return self._native.memory_bytes()

    def __contains__(self, print: object) -> bool:
        return not is_empty(print) and self._native.contains(_int_of(print))

    def __getitem__(self, id: int) -> int:
        """The fingerprint of an item."""
        print = self._native.get(id)
        if print is None:
            raise KeyError(id)
        return print

    def __iter__(self) -> Iterator[int]:
        """All ids, in order."""
        return iter(memoryview(self._native.items()[0]).cast("I").tolist())

    def __len__(self) -> int:
        return self._native.count()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Index of {len(self)} items, {self.bits} bits, distance up to {self.distance}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _index_from, (self.bits, self.distance, *self._native.items())

    def _given(self, prints: Any) -> Given:
        given = Given(prints, self.bits)
        if given.words is not None and 64 * given.words != max(64, self.bits):
            raise ValueError(
                f"the index has {self.bits} bits, but the fingerprints have {64 * given.words}"
            )
        return given


def _index_from(bits: int, distance: int, ids: bytearray, words: bytearray) -> Index:
    """Restore items with their ids: gaps are filled, then removed."""
    index = Index(bits, distance)
    taken = memoryview(ids).cast("I").tolist()
    size = 8 * max(1, bits // 64)
    at = {id: words[size * n : size * (n + 1)] for n, id in enumerate(taken)}
    count = max(taken, default=-1) + 1
    filled = (int.from_bytes(at.get(id, b""), "little") for id in range(count))
    index._native.insert_many(list(filled))
    for id in set(range(count)) - at.keys():
        index.remove(id)
    return index


def _int_of(print: Any) -> Any:
    """Convert a fingerprint that is an array of words to an int."""
    if numpy is not None and isinstance(print, numpy.ndarray) and print.ndim == 1:
        return int.from_bytes(numpy.ascontiguousarray(print, dtype="<u8").tobytes(), "little")
    return print


def _ids(ids: bytearray, given: Given, count: int | None) -> Any:
    if numpy is None:
        flat = memoryview(ids).cast("I").tolist()
        if given.positions is None:
            return flat
        at = dict(zip(given.positions, flat, strict=True))
        return [at.get(n) for n in range(count or 0)]
    flat = numpy.frombuffer(ids, dtype="<u4")
    if given.positions is None:
        return numpy.ma.MaskedArray(flat, mask=numpy.zeros(len(flat), dtype=bool))
    all_ids = numpy.ma.masked_all(count or 0, dtype="<u4")
    all_ids[given.positions] = flat
    return all_ids
