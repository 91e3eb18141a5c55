"""SimHash fingerprints of windows of real text, as realistically skewed data.

    text_windows.py FOLDER OUT.npy WORDS WINDOW STEP

Reads the "text" of every row of FOLDER/*.jsonl and *.jsonl.xz, takes windows of WINDOW words that
start every STEP words, and writes the 64-bit SimHash of their WORDS-word shingles as an array of
uint64, repeats left out.
"""

import hashlib
import json
import lzma
import re
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np


def main(folder, out, *sizes):
    words, window, step = map(int, sizes)
    prints = [windows(text, words, window, step) for text in texts(Path(folder))]
    if not prints:
        sys.exit(f"{folder}: no .jsonl or .jsonl.xz files with a \"text\" field")
    # In order of first appearance.
    values, first = np.unique(np.concatenate(prints), return_index=True)
    np.save(out, values[np.argsort(first)].reshape(-1, 1))


def texts(folder):
    for file in sorted(folder.glob("*.jsonl*")):
        with (lzma.open if file.suffix == ".xz" else open)(file, "rt", encoding="utf-8") as rows:
            yield from (json.loads(row)["text"] for row in rows)


def windows(text, words, window, step):
    tokens = re.findall(r"\w+", text.lower())
    shingles = [" ".join(tokens[i : i + words]) for i in range(len(tokens) - words + 1)]
    if len(shingles) < window:
        return np.empty(0, np.uint64)
    hashes = np.frombuffer(b"".join(map(hashed, shingles)), np.uint8).reshape(-1, 8)
    votes = 2 * np.unpackbits(hashes, axis=1, bitorder="little").astype(np.int32) - 1
    sums = np.vstack([np.zeros((1, 64), np.int32), np.cumsum(votes, axis=0, dtype=np.int32)])
    starts = np.arange(0, len(shingles) - window + 1, step)
    bits = sums[starts + window] > sums[starts]
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").ravel()


@lru_cache(maxsize=1 << 20)
def hashed(shingle):
    return hashlib.blake2b(shingle.encode(), digest_size=8).digest()


if __name__ == "__main__":
    main(*sys.argv[1:])
