#!/usr/bin/env python3
"""Measure other near-duplicate tools: run them as their users do, and score them.

    peers.py DATA SCORER [--gaoya PROGRAM] [--only NAME]

Needs `pip install datasketch rensa`; gaoya is built by `make bench-peers`. DATA and SCORER are those
of quality.py. Prints a table in Markdown: F1 of pairs for every set, and their mean.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from quality import REPOSITORY, name_of, read

PERMUTATIONS = 128
CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
TOKEN = re.compile(f"[{CJK}]|[^\\W_{CJK}]+")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("data", type=Path)
    args.add_argument("scorer")
    args.add_argument("--gaoya", default=REPOSITORY / "bench/target/peers/release/lookalike-bench-peers")
    args.add_argument("--only", default="")
    args = args.parse_args()
    sets = sorted(args.data.glob("*.jsonl")) + sorted(args.data.glob("*.jsonl.xz"))
    print("| method | " + " | ".join(map(name_of, sets)) + " | macro F1 |")
    print("|---" * (len(sets) + 2) + "|")
    for name, find in methods(args).items():
        if args.only in name:
            scores = [score(args, path, find) for path in sets]
            cells = [f"{value:.3f}" for value in [*scores, sum(scores) / len(scores)]]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def methods(args):
    """By name, functions that find the pairs of a set in a file of plain JSON lines."""
    found = {}
    for size, threshold in ((3, 0.8), (5, 0.7), (3, 0.5)):
        found[f"datasketch words:{size} {threshold}"] = with_tokens(datasketch_pairs, size, threshold)
    for size, threshold in ((3, 0.8), (3, 0.5)):
        found[f"rensa words:{size} {threshold}"] = with_tokens(rensa_pairs, size, threshold)
    for features, threshold in (("words:3", 0.5), ("chars:5", 0.5)):
        found[f"gaoya {features} {threshold}"] = gaoya(args.gaoya, features, threshold)
    return found


def with_tokens(find, size, threshold):
    def run(texts, folder):
        rows = [json.loads(line) for line in texts.read_text("utf-8").splitlines()]
        sets = [shingles(row["text"], size) for row in rows]
        ids = [row["id"] for row in rows]
        return [(ids[a], ids[b]) for a, b in find(sets, threshold)]

    return run


def shingles(text, size):
    """The tokens for the peers: lookalike's words, which are better than their defaults."""
    tokens = TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
    count = max(len(tokens) - size + 1, 1)
    return sorted({" ".join(tokens[i : i + size]) for i in range(count)})


def datasketch_pairs(sets, threshold):
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
    for row, shingles in enumerate(sets):
        minhash = MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch([shingle.encode() for shingle in shingles])
        yield from ((other, row) for other in index.query(minhash))
        index.insert(row, minhash)


def rensa_pairs(sets, threshold):
    from rensa import RMinHash, RMinHashLSH

    bands = {0.8: 16, 0.5: 32}[threshold]
    index = RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=bands)
    made = []
    for row, shingles in enumerate(sets):
        minhash = RMinHash(num_perm=PERMUTATIONS, seed=42)
        minhash.update(shingles)
        for other in index.query(minhash):
            if minhash.jaccard(made[other]) >= threshold:
                yield other, row
        index.insert(row, minhash)
        made.append(minhash)


def gaoya(program, features, threshold):
    def run(texts, folder):
        pairs = folder / "gaoya.jsonl"
        subprocess.run([program, "texts", texts, pairs, features, str(threshold)], check=True)
        return [(pair["a"], pair["b"]) for pair in map(json.loads, open(pairs))]

    return run


def score(args, path, find):
    """F1 of the pairs found in one set."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        texts, pairs = folder / "texts.jsonl", folder / "pairs.jsonl"
        texts.write_bytes(read(path))
        lines = (json.dumps({"a": a, "b": b}) for a, b in find(texts, folder))
        pairs.write_text("".join(line + "\n" for line in lines))
        run = [sys.executable, args.scorer, "text", path, pairs]
        result = subprocess.run(run, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["pairs"]["F1"]


if __name__ == "__main__":
    main()
