"""A drop-in for PyPI ``simhash`` (2.1).

>>> from lookalike.compat.simhash import Simhash, SimhashIndex
>>> Simhash("hello world").value
10747039046998140950
>>> index = SimhashIndex([("a", Simhash("hello world")), ("b", Simhash("something else"))], k=3)
>>> index.get_near_dups(Simhash("hello, world!"))
['a']

It does not need NumPy, accepts weights above 255, and computes the default case in native code.
Subclasses that override ``_tokenize`` or ``_slide`` work as before.
"""

from __future__ import annotations

import hashlib
import logging
import numbers
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _native

__all__ = ["Simhash", "SimhashIndex"]

#: The default pattern for letters.
_LETTERS = r"[\w\u4e00-\u9fcc]+"


def int_to_bytes(n: int, length: int) -> bytes:
    """A number as big-endian bytes."""
    return n.to_bytes(length, "big")


def bytes_to_int(b: bytes) -> int:
    """The number of big-endian bytes."""
    return int.from_bytes(b, "big")


def _hashfunc(x: bytes) -> bytes:
    return hashlib.md5(x, usedforsecurity=False).digest()


class Simhash:
    """The SimHash of a text or of features, or a given SimHash.

    >>> Simhash(["aaa", "bbb"]).value
    57087923692560392
    >>> Simhash([("aaa", 3), ("bbb", 1)]).distance(Simhash(["aaa"]))
    0
    """

    #: Kept for compatibility; they have no effect.
    large_weight_cutoff = 50
    batch_size = 200

    value: Any

    def __init__(
        self,
        value: Any,
        f: int = 64,
        reg: str | re.Pattern[str] = _LETTERS,
        hashfunc: Callable[[bytes], bytes | int] = _hashfunc,
        log: logging.Logger | None = None,
    ) -> None:
        if f % 8:
            raise ValueError("f must be a multiple of 8")
        self.f = f
        self.f_bytes = f // 8
        self.reg = reg
        self.value = None
        self.hashfunc = hashfunc
        self.hashfunc_returns_int = hashfunc is not _hashfunc and isinstance(
            hashfunc(b"test"), numbers.Integral
        )
        self.log = logging.getLogger("simhash") if log is None else log
        if isinstance(value, Simhash):
            self.value = value.value
        elif isinstance(value, str):
            self.build_by_text(str(value))
        elif isinstance(value, Iterable):
            self.build_by_features(value)
        elif isinstance(value, numbers.Integral):
            self.value = value
        else:
            raise Exception(f"Bad parameter with type {type(value)}")

    def __eq__(self, other: Any) -> bool:
        return bool(self.value == other.value)

    # Values may change, so objects are not hashable.
    __hash__ = None  # type: ignore[assignment]

    def _slide(self, content: str, width: int = 4) -> list[str]:
        return [content[at : at + width] for at in range(max(len(content) - width + 1, 1))]

    def _letters(self, content: str) -> str:
        return "".join(re.findall(self.reg, content.lower()))

    def _tokenize(self, content: str) -> list[str]:
        return self._slide(self._letters(content))

    def build_by_text(self, content: str) -> None:
        """Set the value from a text."""
        kind = type(self)
        usual = (
            kind._tokenize is Simhash._tokenize
            and kind._slide is Simhash._slide
            and kind._letters is Simhash._letters
            and kind.build_by_features is Simhash.build_by_features
            and self.hashfunc is _hashfunc
            and 0 < self.f <= 128
        )
        if usual and self.reg == _LETTERS and content.isascii():
            self.value = _native.simhash_ascii(content, self.f)
        elif usual:
            self.value = _native.simhash_text(self._letters(content), self.f)
        else:
            counts = Counter(self._tokenize(content))
            self.build_by_features({token: counts[token] for token in sorted(counts)})

    def build_by_features(self, features: Any) -> None:
        """Set the value from features: a list of tokens or (token, weight), or a dict of weights."""
        if isinstance(features, dict):
            features = features.items()
        # A token without a weight has the weight of the previous one, as in the original.
        weight: Any = 1
        votes = []
        for feature in features:
            is_bare = isinstance(feature, str)
            if not is_bare:
                feature, weight = feature
            # As in the original, a negative integer weight counts against all bits and for none.
            is_silent = weight < 0 and (is_bare or isinstance(weight, int))
            ones = 0 if is_silent else weight
            votes.append((self._digest(feature), float(ones), float(weight)))
        self.value = bytes_to_int(_native.simhash_weighted(votes, self.f))

    def _digest(self, feature: str) -> bytes:
        """The bytes of a feature's hash, of which the last are used."""
        hashed = self.hashfunc(feature.encode("utf-8"))
        if isinstance(hashed, numbers.Integral):
            return int_to_bytes(int(hashed) & ((1 << self.f) - 1), self.f_bytes)
        return bytes(hashed)

    def distance(self, another: Simhash) -> int:
        """The number of bits in which the two differ."""
        assert self.f == another.f
        differing: int = (int(self.value) ^ int(another.value)) & ((1 << self.f) - 1)
        return differing.bit_count()


class SimhashIndex:
    """Finds all items within ``k`` bits, with ``k + 1`` blocks.

    ``objs`` is a list of ``(obj_id, Simhash)``. Results are ids as ``str``, in no particular order.
    """

    def __init__(
        self,
        objs: Any,
        f: int = 64,
        k: int = 2,
        log: logging.Logger | None = None,
    ) -> None:
        self.k = k
        self.f = f
        self.log = logging.getLogger("simhash") if log is None else log
        count = len(objs)
        self.log.info("Initializing %s data.", count)
        self.bucket: defaultdict[str, set[str]] = defaultdict(set)
        for number, entry in enumerate(objs):
            if number % 10000 == 0 or number == count - 1:
                self.log.info("%s/%s", number + 1, count)
            self.add(*entry)

    def get_near_dups(self, simhash: Simhash) -> list[str]:
        """The ids of all items within ``k`` bits."""
        assert simhash.f == self.f
        near: set[str] = set()
        for key in self.get_keys(simhash):
            entries = self.bucket[key]
            self.log.debug("key:%s", key)
            if len(entries) > 200:
                self.log.warning("Big bucket found. key:%s, len:%s", key, len(entries))
            for entry in entries:
                value, _, obj_id = entry.partition(",")
                if simhash.distance(Simhash(int(value, 16), self.f)) <= self.k:
                    near.add(obj_id)
        return list(near)

    def add(self, obj_id: Any, simhash: Simhash) -> None:
        """Add an item; adding it again has no effect."""
        assert simhash.f == self.f
        for key in self.get_keys(simhash):
            self.bucket[key].add(self._entry(obj_id, simhash))

    def delete(self, obj_id: Any, simhash: Simhash) -> None:
        """Remove an item, if it exists."""
        assert simhash.f == self.f
        for key in self.get_keys(simhash):
            self.bucket[key].discard(self._entry(obj_id, simhash))

    @staticmethod
    def _entry(obj_id: Any, simhash: Simhash) -> str:
        return f"{int(simhash.value):x},{obj_id}"

    @property
    def offsets(self) -> list[int]:
        """The first bit of each block. The last block has all remaining bits."""
        return [self.f // (self.k + 1) * block for block in range(self.k + 1)]

    def get_keys(self, simhash: Simhash) -> Iterator[str]:
        """The bucket of each block."""
        offsets = self.offsets
        for block, (start, end) in enumerate(zip(offsets, [*offsets[1:], self.f], strict=True)):
            chunk = int(simhash.value) >> start & ((1 << (end - start)) - 1)
            yield f"{chunk:x}:{block:x}"

    def bucket_size(self) -> int:
        """The number of buckets, including those created by queries."""
        return len(self.bucket)
