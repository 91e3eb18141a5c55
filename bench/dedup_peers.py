#!/usr/bin/env python3
"""Measure a whole deduplication: lookalike and its peers on one file, one after another.

    dedup_peers.py TEXTS.jsonl [--program lookalike] [--text-dedup PYTHON] [--only NAME]

Rows have an `id` and a `text`. Peers: a script with datasketch, as its users write it (128 permutations,
3-word shingles, threshold 0.5; needs `pip install datasketch`), and the command of text-dedup
(`--text-dedup` names the Python it is installed for). Each reads the file, finds near-duplicates and
writes what is kept. Prints one line of JSON each: wall seconds, CPU seconds, peak memory, texts kept,
and how many times as long as lookalike it took.
"""
import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("texts", type=Path)
    args.add_argument("--program", default=REPOSITORY / "target/release/lookalike")
    args.add_argument("--text-dedup", metavar="PYTHON")
    args.add_argument("--only")
    args.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    args.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    args = args.parse_args()
    if args.in_process:
        return by_datasketch(args.texts, args.output)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept.jsonl"
        ours = None
        for name, command in commands(args, kept, Path(folder)).items():
            if args.only in (None, name):
                row = measure(name, command, kept)
                ours = ours or row["seconds"]
                print(json.dumps(row | {"times": round(row["seconds"] / ours, 1)}), flush=True)


def commands(args, kept, folder):
    own = [args.program, "dedup", args.texts, "-o", kept, "--force", "--quiet", "--max-remove", "1"]
    this = [sys.executable, __file__, args.texts, "--in-process", "--output", kept]
    all = {"lookalike": own, "lookalike, 1 thread": own + ["--threads", "1"], "datasketch": this}
    if args.text_dedup:
        all["text-dedup"] = [
            args.text_dedup, "-m", "text_dedup.minhash", "--path", "json", "--data_files", args.texts,
            "--split", "train", "--column", "text", "--output", folder / "kept", "--cache_dir", folder / "cache",
            "--ngram", "3", "--threshold", "0.5", "--num_perm", "128",
        ]
    return all


def measure(name, command, kept):
    kept.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        return {"name": name, "seconds": round(seconds, 2), "failed": run.stderr.strip().splitlines()[-1:]}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = sum(1 for _ in open(kept)) if kept.exists() else None
    return {
        "name": name, "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2),
        "peak_mb_so_far": after.ru_maxrss // 1024, "kept": lines,
    }


def by_datasketch(texts, output):
    """The common usage: insert each text that matches no earlier one."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=0.5, num_perm=128)
    with open(texts, encoding="utf-8") as rows, open(output, "w", encoding="utf-8") as kept:
        for number, line in enumerate(rows):
            words = re.findall(r"\w+", json.loads(line)["text"].lower())
            shingles = {" ".join(words[at : at + 3]) for at in range(max(1, len(words) - 2))}
            signature = MinHash(num_perm=128)
            signature.update_batch([shingle.encode() for shingle in shingles])
            if not index.query(signature):
                index.insert(number, signature)
                kept.write(line)


if __name__ == "__main__":
    main()
