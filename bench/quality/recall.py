#!/usr/bin/env python3
"""Compare the stated with the measured recall: --recall and --exact, by similarity.

    recall.py DATA [--texts 50000] [--recall .9 .95 .99] [--similarity .46 .6 .8] [--program PATH]

DATA is a folder of .jsonl or .jsonl.xz sets with a "text" field. Two inputs are searched: all sets together, and
the given number of windows of 60 to 120 words cut from them, of which every fourth is an edited copy of another. Pairs
found exactly are the reference; each is in a band of similarity. Exit 1 if the measured recall of all pairs, or of
those in the lowest band with 1,000 pairs or more, is below the stated one by more than .01. No packages are needed.
"""
import argparse
import collections
import json
import lzma
import random
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = REPOSITORY / "target/release/lookalike"
BANDS = [0.46, 0.48, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.01]
SLACK = 0.01
FEWEST = 1000


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("data", type=Path)
    args.add_argument("--texts", type=int, default=50_000)
    args.add_argument("--recall", type=float, nargs="+", default=[0.9, 0.95, 0.99])
    args.add_argument("--similarity", type=float, nargs="+", default=[0.46, 0.6, 0.8])
    args.add_argument("--program", default=PROGRAM)
    args = args.parse_args()
    texts = [json.loads(line)["text"] for path in sets(args.data) for line in read(path).splitlines()]
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        inputs = {"labelled sets": texts, "windows": windows(texts, args.texts)}
        for name, rows in inputs.items():
            path = Path(folder) / "texts.jsonl"
            path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(rows)))
            print(f"\n{name}: {len(rows):,} texts")
            for similarity in args.similarity:
                exact, stated = pairs(args.program, path, similarity, "--exact")
                assert stated == 1.0
                for recall in args.recall:
                    holds &= compare(args.program, path, similarity, recall, exact)
    sys.exit(not holds)


def compare(program, path, similarity, recall, exact):
    """Print the recall in each band; return whether it meets the stated recall."""
    found, stated = pairs(program, path, similarity, "--recall", str(recall))
    extra = found.keys() - exact.keys()
    assert not extra, f"{len(extra)} pairs that the exact search does not have"
    bands = collections.defaultdict(lambda: [0, 0])
    for pair, share in exact.items():
        band = max(low for low in BANDS if low <= share or low == BANDS[0])
        bands[band][0] += 1
        bands[band][1] += pair in found
    overall = len(found) / max(1, len(exact))
    lowest = next((hits / count for _, (count, hits) in sorted(bands.items()) if count >= FEWEST), overall)
    holds = min(overall, lowest) >= stated - SLACK
    shares = "  ".join(f"{low:.2f}: {hits / count:.4f} of {count:,}" for low, (count, hits) in sorted(bands.items()))
    print(f">= {similarity}  stated {stated}  measured {overall:.4f}  {'' if holds else 'BELOW '} [{shares}]")
    return holds


def pairs(program, path, similarity, *options):
    """Pairs with their similarity, and the stated recall."""
    command = [program, "pairs", path, "--similarity", str(similarity), "--equal", "first", "--json", *options]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    summary = json.loads(run.stderr.splitlines()[-1])
    rows = map(json.loads, run.stdout.splitlines())
    return {(row["a"], row["b"]): row["similarity"] for row in rows}, summary["recall"]


def windows(texts, count):
    """At least `count` windows of words; every fourth is an edited copy of an earlier one."""
    draw = random.Random(1)
    made = []
    words = [word for text in texts for word in text.split()]
    length = max(60, min(120, len(words) * 4 // (3 * count)))
    start = 0
    while len(made) < count:
        start %= len(words)
        window = words[start : start + length]
        start += length
        made.append(" ".join(window))
        if len(made) % 4 == 3:
            made.append(" ".join(edited(draw.choice(made).split(), draw.uniform(0.02, 0.5), draw)))
    return made


def edited(words, share, draw):
    """Replace, drop or repeat some words."""
    changed = []
    for word in words:
        if draw.random() >= share:
            changed.append(word)
        elif draw.random() < 0.6:
            changed.append(draw.choice(words) + draw.choice("aeiou"))
        elif draw.random() < 0.5:
            changed += [word, word]
    return changed


def sets(folder):
    found = sorted(folder.glob("*.jsonl")) + sorted(folder.glob("*.jsonl.xz"))
    return found or sys.exit(f"{folder}: no .jsonl or .jsonl.xz files")


def read(path):
    return lzma.open(path).read() if path.suffix == ".xz" else path.read_bytes()


if __name__ == "__main__":
    main()
