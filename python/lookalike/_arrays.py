"""Fingerprints and pairs in Python: NumPy arrays if NumPy is installed, otherwise lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from . import _native

if TYPE_CHECKING:
    import numpy as np

    #: Fingerprints: 64-bit words, masked where a text has no features.
    Prints = np.ma.MaskedArray[Any, np.dtype[np.uint64]]
    #: Rows of two numbers and a distance.
    Triples = np.ndarray[tuple[int, int], np.dtype[np.uint32]]


def installed(name: str) -> Any:
    """A package, or ``None`` if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


numpy: Any = installed("numpy")

#: How many words a fingerprint may have.
WIDTHS = (1, 2, 4)


def is_empty(print: Any) -> bool:
    """Whether this marks a missing fingerprint: ``None`` or masked."""
    if numpy is not None and isinstance(print, numpy.ma.MaskedArray):
        return bool(numpy.ma.getmaskarray(print).any())
    return not isinstance(print, int | str) and bool(_native.is_missing(print))


def prints_from(words: bytearray, empty: bytearray, bits: int) -> Prints:
    """Fingerprints from the bytes of the native module."""
    width = max(1, bits // 64)
    if numpy is None:
        cut = (words[at : at + 8 * width] for at in range(0, len(words), 8 * width))
        numbers = (int.from_bytes(word, "little") for word in cut)
        listed: Any = [None if none else print for print, none in zip(numbers, empty, strict=True)]
        return cast("Prints", listed)
    data = numpy.frombuffer(words, dtype="<u8")
    mask = numpy.frombuffer(empty, dtype=bool)
    if width > 1:
        data = data.reshape(-1, width)
    if mask.any():
        # Code that drops the mask, such as np.save, must not get equal fingerprints. Fill with
        # pseudorandom bits instead, seeded by the input so that results are reproducible.
        seed = int.from_bytes(blake2b(words, digest_size=16).digest(), "little")
        noise = numpy.random.Generator(numpy.random.PCG64(seed))
        shape = (int(mask.sum()), *data.shape[1:])
        data[mask] = noise.integers(0, 1 << 64, size=shape, dtype=numpy.uint64)
    if width > 1:
        mask = numpy.repeat(mask[:, None], width, axis=1)
    prints: Prints = numpy.ma.MaskedArray(data, mask=mask)
    return prints


def triples_from(numbers: bytearray) -> Triples:
    """Rows of three numbers from the bytes of the native module."""
    if numpy is None:
        flat = memoryview(numbers).cast("I").tolist()
        listed: Any = list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
        return cast("Triples", listed)
    triples: Triples = numpy.frombuffer(numbers, dtype="<u4").reshape(-1, 3)
    return triples


class Given:
    """Fingerprints from the caller: a buffer of words or a list of ints, without missing ones."""

    def __init__(self, prints: Any, bits: int | None = None) -> None:
        #: The positions of the fingerprints, if some are missing.
        self.positions: Any = None
        #: The number of words of a fingerprint in an array.
        self.words: int | None = None
        if hasattr(prints, "to_numpy") and numpy is not None:
            prints = _of_column(prints)
        if numpy is not None and isinstance(prints, numpy.ndarray) and prints.dtype != object:
            self.prints, self.words = self._of_array(prints)
            self.bits = 64 * self.words if bits is None else bits
        else:
            self.prints = self._of_list(prints)
            self.bits = _bits_of(self.prints) if bits is None else bits

    def _of_array(self, array: Any) -> tuple[Any, int]:
        width = array.shape[1] if array.ndim == 2 else 1
        if array.ndim not in (1, 2) or width not in WIDTHS:
            raise ValueError(
                f"fingerprints must have the shape (n,) or (n, words) with 1, 2 or 4 words, "
                f"not {array.shape}"
            )
        if array.dtype.kind not in "ui" or array.dtype.itemsize not in (4, 8):
            raise TypeError(f"fingerprints must be uint64 (or int64, uint32), not {array.dtype}")
        if isinstance(array, numpy.ma.MaskedArray):
            mask = numpy.ma.getmaskarray(array)
            mask = mask.any(axis=1) if mask.ndim == 2 else mask
            array = array.data
            if mask.any():
                self.positions = numpy.flatnonzero(~mask).astype(numpy.uint32)
                array = array[self.positions]
        if array.dtype == numpy.int64:
            array = array.view(numpy.uint64)
        elif array.dtype == numpy.int32:
            array = array.view(numpy.uint32)
        # In C order and native byte order, so that the native module can copy it at once.
        return numpy.ascontiguousarray(array, dtype=numpy.uint64), width

    def _of_list(self, prints: Iterable[Any]) -> list[int]:
        listed = list(prints)
        known = [at for at, print in enumerate(listed) if type(print) is int or not is_empty(print)]
        if len(known) == len(listed):
            return listed
        self.positions = known if numpy is None else numpy.array(known, dtype=numpy.uint32)
        return [listed[at] for at in known]

    def restore(self, triples: Triples, columns: Sequence[int]) -> Triples:
        """Map these columns back to positions that count missing fingerprints."""
        if self.positions is None:
            return triples
        if numpy is None:
            moved: Any = [
                tuple(self.positions[n] if at in columns else n for at, n in enumerate(row))
                for row in triples
            ]
            return cast("Triples", moved)
        for column in columns:
            triples[:, column] = self.positions[triples[:, column]]
        return triples


def _of_column(column: Any) -> Any:
    """A column of pandas, polars or Arrow as an array, or as a list if values are missing."""
    if not _has_missing(column):
        return column.to_numpy()
    listed = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [None if _native.is_missing(print) else print for print in listed]


def _has_missing(column: Any) -> bool:
    if hasattr(column, "isna"):
        return bool(column.isna().any())
    count = column.null_count
    return bool(count() if callable(count) else count)


def _bits_of(prints: list[int]) -> int:
    """The smallest width of 64, 128 and 256 that fits all. Invalid values are refused elsewhere."""
    try:
        widest = max((int(print).bit_length() for print in prints), default=0)
    except (TypeError, ValueError):
        return 64
    return next((bits for bits in (64, 128) if widest <= bits), 256)
