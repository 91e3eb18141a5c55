"""A drop-in for seomoz' ``simhash`` (``simhash-py`` 0.4).

>>> from lookalike.compat import simhash_py as simhash
>>> words = ["to", "be", "or", "not", "to", "be"]
>>> phrases = (" ".join(phrase) for phrase in simhash.shingle(words, 4))
>>> simhash.compute([simhash.unsigned_hash(phrase.encode()) for phrase in phrases])
2911866054484538127

Arguments that crash the original raise an exception here.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from .. import _native
from .._arrays import Given

__all__ = ["compute", "find_all", "num_differing_bits", "shingle", "unsigned_hash"]

_Token = TypeVar("_Token")


def unsigned_hash(obj: bytes) -> int:
    """The first 8 bytes of the MD5, as a number.

    >>> unsigned_hash(b"hello")
    6719722671305337462
    """
    if not isinstance(obj, bytes):
        raise TypeError(f"expected bytes, {type(obj).__name__} found")
    return int.from_bytes(hashlib.md5(obj, usedforsecurity=False).digest()[:8], "big")


def compute(hashes: Iterable[int]) -> int:
    """The SimHash of 64-bit hashes: a bit is set if most hashes have it.

    >>> hex(compute([0xABCD, 0xBCDE, 0xCDEF]))
    '0xadcf'
    >>> compute([])
    0
    """
    return _native.compute(list(hashes))


def num_differing_bits(a: int, b: int) -> int:
    """The number of bits in which two hashes differ.

    >>> num_differing_bits(0xDEADBEEF, 0xDEADBEAD)
    2
    """
    for hash in (a, b):
        if not 0 <= hash < 1 << 64:
            raise OverflowError(f"{hash} is not a 64-bit hash")
    return (a ^ b).bit_count()


def shingle(tokens: Iterable[_Token], window: int = 4) -> Iterator[list[_Token]]:
    """Every run of ``window`` tokens.

    >>> list(shingle("abcde", 4))
    [['a', 'b', 'c', 'd'], ['b', 'c', 'd', 'e']]
    """
    if window <= 0:
        raise ValueError(f"window must be at least 1, not {window}")
    run: deque[_Token] = deque(maxlen=window)
    for token in tokens:
        run.append(token)
        if len(run) == window:
            yield list(run)


def find_all(hashes: Any, number_of_blocks: int, different_bits: int) -> list[tuple[int, int]]:
    """All pairs of different hashes within ``different_bits``, the smaller hash first.

    Equal hashes count once. The number of blocks is checked, but the fastest plan is used; the
    result is the same.

    >>> find_all([0xFF, 0xEF, 0xEE, 0x33, 0xFF], 4, 1)
    [(239, 255), (238, 239)]
    """
    if not 0 <= different_bits < number_of_blocks <= 64:
        raise ValueError(
            f"{number_of_blocks} blocks cannot find hashes within {different_bits} bits; "
            "use more blocks than bits, and at most 64"
        )
    words = Given(hashes, 64).prints if hasattr(hashes, "dtype") else array("Q", hashes)
    return _native.near_values(words, different_bits) if len(words) else []
