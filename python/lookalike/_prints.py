"""Distances and near pairs of fingerprints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _native
from ._arrays import WIDTHS, Given, is_empty, numpy, triples_from
from .errors import FingerprintError

if TYPE_CHECKING:
    from ._arrays import Triples


def distance(a: Any, b: Any) -> Any:
    """The number of bits in which two fingerprints differ.

    A fingerprint is an int or an array of 1, 2 or 4 words.

    >>> distance(0b1011, 0b0001)
    2
    >>> prints = fingerprints(["to be or not to be", "to be or to be not"])
    >>> distance(prints[0], prints[1]) == distance(simhash("to be or not to be"), prints[1])
    True

    For an array of many fingerprints, with the shape (n, words), the result is an array:

    >>> distance(prints, prints[0]).tolist()[0]
    0

    The distance of a missing fingerprint is ``None``, or masked in an array:

    >>> distance(simhash("..."), simhash("to be or not to be")) is None
    True
    """
    masks = [_mask_of(side) for side in (a, b)]
    mask = masks[0] | masks[1]
    if any(empty is True for empty in masks):
        return None if mask is True else numpy.ma.masked_all(mask.shape, dtype=numpy.uint32)
    for side in (a, b):
        if _is_int(side) and not 0 <= int(side) < 1 << 256:
            raise FingerprintError(f"{int(side)} is not a fingerprint of at most 256 bits")
    if _is_int(a) and _is_int(b):
        return (int(a) ^ int(b)).bit_count()
    if numpy is None:
        raise TypeError("without NumPy, fingerprints must be ints")
    width = next(_words(side).shape[-1] for side in (a, b) if not _is_int(side))
    one, two = (_words(side, width) for side in (a, b))
    bits = numpy.bitwise_count(one ^ two).sum(axis=-1, dtype=numpy.uint32)
    if bits.ndim == 0:
        return int(bits)
    return numpy.ma.MaskedArray(bits, mask=mask) if numpy.any(mask) else bits


def _mask_of(prints: Any) -> Any:
    """Whether the fingerprint is missing; for an array, a mask."""
    if numpy is not None and _is_masked(prints) and prints.ndim == 2:
        return numpy.ma.getmaskarray(prints).any(axis=1)
    return is_empty(prints)


def _is_int(print: Any) -> bool:
    return hasattr(print, "__index__") and getattr(print, "ndim", 0) == 0


def _words(print: Any, width: int | None = None) -> Any:
    """The words of fingerprints, along the last axis."""
    if _is_int(print) and width is not None:
        print = numpy.frombuffer(int(print).to_bytes(8 * width, "little"), dtype="<u8")
    words = numpy.asarray(getattr(print, "data", print) if _is_masked(print) else print)
    if words.dtype.kind not in "ui" and words.size:
        raise TypeError(f"fingerprints must be uint64, not {words.dtype}")
    if words.ndim not in (1, 2) or words.shape[-1] not in WIDTHS:
        raise ValueError(
            f"a fingerprint has 1, 2 or 4 words, an array of them the shape (n, words), not "
            f"{words.shape}; for an array of 64-bit fingerprints, use prints[:, None]"
        )
    return words.astype(numpy.uint64, copy=False)


def _is_masked(print: Any) -> bool:
    return isinstance(print, numpy.ma.MaskedArray)


def find_all(
    hashes: Any,
    distance: int = 3,
    blocks: int | None = None,
    *,
    bits: int | None = None,
    equal: Literal["all", "first"] = "all",
    memory: int | str | None = None,
    threads: int | None = None,
) -> Triples:
    """All pairs of fingerprints that differ in at most ``distance`` bits, missing none.

    Fingerprints are ints or an array such as :func:`fingerprints` returns. The result has a sorted
    row for each pair: two positions, the smaller first, and the distance.

    >>> find_all([0b0000, 0b1111_0000, 0b0111, 0b1111_0000]).tolist()
    [[0, 2, 3], [1, 3, 0]]

    The search chooses the fastest exact plan; ``blocks`` forces the classic one, with more blocks
    than the distance. The result is the same. A thousand equal fingerprints have half a million
    pairs; ``equal="first"`` pairs each only with the first of its equals. ``memory`` is a limit in
    bytes, or a string such as ``"2GB"``; larger data go to temporary files. Without NumPy the result
    is a list of tuples.
    """
    if equal not in ("all", "first"):
        raise ValueError(f'equal must be "all" or "first", not {equal!r}')
    given = Given(hashes, bits)
    found = _native.find_all(
        given.prints,
        given.bits,
        distance,
        blocks,
        first=equal == "first",
        memory=memory,
        threads=threads,
    )
    return given.restore(triples_from(found), columns=(0, 1))
