"""Writes vectors.tsv: vectors as digests keep them, and cosines, made without lookalike.

Everything is computed by rational numbers, except for the three operations that the definition rounds:
these are those of IEEE 754 with 64 bits, which Python has.
"""

import hashlib
import math
import struct
from fractions import Fraction
from pathlib import Path

FORMATS = {"f2": "e", "f4": "f", "f8": "d"}


def digest(numbers: list[float]) -> bytes:
    largest = max(abs(number) for number in numbers)
    # Powers of two change no rounding.
    factor = 2.0**-500 if largest > 1e290 else 2.0**500 if largest < 1e-290 else 1.0
    largest *= factor
    values = []
    for number in numbers:
        size = math.floor(abs(number * factor) * 32767.0 / largest + 0.5)
        values.append(-size if number < 0 else size)
    norm = sum(value * value for value in values)
    return struct.pack("<Q", norm) + struct.pack(f"<{len(values)}h", *values)


def cosine(a: bytes, b: bytes) -> int:
    """Millionths, rounded down, at least 0."""
    (norm_a,), (norm_b,) = struct.unpack("<Q", a[:8]), struct.unpack("<Q", b[:8])
    a, b = (struct.unpack(f"<{(len(x) - 8) // 2}h", x[8:]) for x in (a, b))
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    if dot <= 0:
        return 0
    return math.isqrt(int(Fraction(dot * dot * 10**12, norm_a * norm_b)))


def sequence(dimensions: int, step: int) -> list[float]:
    return [((i * step) % 1009 - 504) / 1009 for i in range(dimensions)]


def main() -> None:
    tiny = 5e-324
    cases: list[tuple[str, str, list[float]]] = [
        ("ties", "f8", [32767.0, 0.5, 1.5, -0.5, -1.5, 2.5]),
        ("just below a tie", "f8", [32767.0, 0.49999999999999994, -2.4999999999999996]),
        ("negative zero", "f4", [-0.0, 1.0, 0.0]),
        ("one-hot", "f4", [0.0] * 5 + [-3.0] + [0.0] * 10),
        ("subnormals of 16 bits", "f2", [2.0**-24, -(2.0**-23), 2.0**-14]),
        ("subnormals of 32 bits", "f4", [2.0**-149, -(2.0**-140), 2.0**-126]),
        ("subnormals of 64 bits", "f8", [tiny, -tiny, 3 * tiny]),
        ("the largest of 16 bits", "f2", [65504.0, -65504.0, 1.0]),
        ("the largest of 64 bits", "f8", [1.7976931348623157e308, -1e308, 1e290]),
        ("tenths", "f8", [0.1, -0.2, 0.3, 0.7]),
        ("tenths of 16 bits", "f2", [0.1, -0.2, 0.3, 0.7]),
    ]
    lines = [
        "# Vectors as their digests hold them; see docs/algorithm.md. Made by make_vectors.py.",
        "# vector, name, type, little-endian bytes of the numbers, bytes of the digest",
        "# sequence, dimensions, step: number i is ((i * step) % 1009 - 504) / 1009; MD5 of the digest",
        "# cosine, bytes of two digests, millionths",
    ]
    digests = []
    for name, kind, numbers in cases:
        packed = struct.pack(f"<{len(numbers)}{FORMATS[kind]}", *numbers)
        numbers = list(struct.unpack(f"<{len(numbers)}{FORMATS[kind]}", packed))
        digests.append(digest(numbers))
        lines.append(f"vector\t{name}\t{kind}\t{packed.hex()}\t{digests[-1].hex()}")
    for dimensions in (2, 3, 31, 384, 768, 1024, 4096, 16384):
        md5 = hashlib.md5(digest(sequence(dimensions, 377))).hexdigest()
        lines.append(f"sequence\t{dimensions}\t377\t{md5}")
    pairs = [(a, b) for a in digests for b in digests if len(a) == len(b)]
    for steps in ((377, 378), (5, 6), (7, 7)):
        pairs.append(tuple(digest(sequence(40, step)) for step in steps))
    for a, b in pairs:
        lines.append(f"cosine\t{a.hex()}\t{b.hex()}\t{cosine(a, b)}")
    Path(__file__).with_name("vectors.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
