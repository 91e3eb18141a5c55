#!/usr/bin/env python3
"""Measure the detection of near-duplicates: run lookalike on labelled sets and score it.

    quality.py DATA SCORER [--recipe words] [--program PATH] [--option=--exact] [--json FILE]

DATA is a folder of .jsonl or .jsonl.xz sets (rows: id, text, cluster); SCORER is called as
`SCORER text SET PAIRS --groups GROUPS` and prints JSON. No packages are needed. Rows with an `op`
(edits made on purpose) are also listed by edit: how often the edited text was found beside its base.
Exit 1 if a target of the default recipe is missed.
"""
import argparse
import collections
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = REPOSITORY / "target/release/lookalike"

# Macro F1 of pairs, macro F1 after grouping, least F1 of a set (synth_code apart).
TARGETS = {"words": (0.940, 0.925, 0.88), "bare": (0.905, 0.0, 0.0)}
# Recipes without similarity and levels.
DISTANCE_DECIDES = {"bare", "simhash64"}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("data", type=Path)
    args.add_argument("scorer")
    args.add_argument("--recipe", default="words")
    args.add_argument("--program", default=PROGRAM)
    args.add_argument("--option", action="append", default=[])
    args.add_argument("--json", type=Path)
    args = args.parse_args()
    sets = sorted(args.data.glob("*.jsonl")) + sorted(args.data.glob("*.jsonl.xz"))
    if not sets:
        sys.exit(f"{args.data}: no .jsonl or .jsonl.xz files")
    with tempfile.TemporaryDirectory() as folder:
        results = {name_of(path): measure(args, path, Path(folder)) for path in sets}
    table(results)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(not meets(results, *TARGETS.get(args.recipe, (0.0, 0.0, 0.0))))


def measure(args, path, folder):
    """Pairs and groups of one set, scored: groups at the loosest level around the first items, and those that dedup removes by
    default."""
    pairs, groups = (folder / name for name in ("pairs.jsonl", "groups.jsonl"))
    run = [args.program, "dedup", path, "--recipe", args.recipe, "--quiet", "--force", "--groups", groups]
    score = [sys.executable, args.scorer, "text", path, pairs, "--groups", groups]

    def scored(*options):
        subprocess.run([*run, *options, *args.option], check=True)
        return json.loads(subprocess.run(score, check=True, capture_output=True, text=True).stdout)

    loosest = [] if args.recipe in DISTANCE_DECIDES else ["--level", "similar", "--keep", "first"]
    result = scored("--pairs", pairs, *loosest)
    result["acting"] = scored()["groups"] if loosest else result["groups"]
    rows = [json.loads(line) for line in read(path).splitlines()]
    found = {frozenset((str(pair["a"]), str(pair["b"]))) for pair in map(json.loads, open(pairs))}
    return result | {"edits": edits(rows, found)}


def edits(rows, found):
    """For each edit, how often it was found with its base."""
    bases = {row["base"]: str(row["id"]) for row in rows if row.get("op") == "base"}
    hits = collections.defaultdict(list)
    for row in rows:
        base = bases.get(row.get("base"))
        if base and row["op"] != "base":
            hits[f"{row['op']} {row['level']:g}"].append(frozenset((base, str(row["id"]))) in found)
    return {edit: round(sum(hit) / len(hit), 2) for edit, hit in sorted(hits.items())}


def read(path):
    return lzma.open(path).read() if path.suffix == ".xz" else path.read_bytes()


def name_of(path):
    return path.name.split(".")[0]


def table(results):
    print(f"{'set':12} {'P':>6} {'R':>6} {'F1':>6}   {'groups':>6} {'mixed':>5}   {'acting':>6} {'P':>6}")
    for name, result in results.items():
        pairs, groups, acting = result["pairs"], result["groups"], result["acting"]
        row = f"{pairs['P']:6.3f} {pairs['R']:6.3f} {pairs['F1']:6.3f}   {groups['F1']:6.3f} {groups['mixed']:5}"
        print(f"{name:12} {row}   {acting['F1']:6.3f} {acting['P']:6.3f}")
    macro = [f"{mean(results, what):6.4f}" for what in ("pairs", "groups", "acting")]
    print(f"{'macro':12} {'':13} {macro[0]}   {macro[1]} {'':5}   {macro[2]}")
    for name, result in results.items():
        if result["edits"]:
            print(f"{name}: " + ", ".join(f"{edit} {share:g}" for edit, share in result["edits"].items()))


def mean(results, what):
    return sum(result[what]["F1"] for result in results.values()) / len(results)


def meets(results, pairs, groups, least):
    lowest = min((result["pairs"]["F1"] for name, result in results.items() if name != "synth_code"), default=1.0)
    return mean(results, "pairs") >= pairs and mean(results, "groups") >= groups and lowest >= least


if __name__ == "__main__":
    main()
