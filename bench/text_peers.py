"""Measure exact text joins and a whole deduplication: lookalike and its peers.

  text_peers.py SETS [--binary lookalike] [--results FILE.md] [--only NAME] [--limit SECONDS]

SETS is a folder with mixed.jsonl (100,000 texts of all lengths), million.jsonl (a million short ones) and
half.jsonl (100,000, half of them from a few templates); rows have a `text`. A set that is missing is left out.

Joins: `lookalike pairs --exact --threads 1` at similarity 0.46, 0.6 and 0.8. "Join" is the processor time of
the search without reading and hashing, as the summary tells it; a binary that does not tell it is charged
all but the time of `lookalike hash`, which reads and hashes the same input: at most that much.

Deduplication: `lookalike dedup` of mixed.jsonl beside datasketch (MinHashLSH, as its users write it) and
text-dedup (its own command), both with 128 permutations, 3-word shingles and threshold 0.5. Each reads the
file, finds near-duplicates and writes what is kept. Needs PyPI datasketch; text-dedup is left out if it is
not installed.

Processor time is user and system of the process and its children; memory is the largest resident set of
one process. Files are read once before, so that the disk is not measured. A run over the limit is stopped.
"""

import argparse
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

SETS = ("mixed", "million", "half")
SIMILARITIES = (0.46, 0.6, 0.8)
JOIN_FIELDS = ("join_cpu", "seconds_searching", "search_seconds")
DEDUP_PEERS = Path(__file__).with_name("dedup_peers.py")


@dataclass
class Run:
    """The cost of a command."""

    wall: float
    cpu: float
    megabytes: float
    summary: dict = field(default_factory=dict)
    failed: str = ""


def run(command, limit):
    """Runs a command, to its end or the limit."""
    with tempfile.TemporaryFile("w+") as messages:
        start = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.DEVNULL,
            stderr=messages,
            start_new_session=True,
        )
        over = threading.Event()

        def stop():
            over.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit, stop)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        messages.seek(0)
        lines = messages.read().strip().splitlines()
    taken = Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
    if over.is_set():
        taken.failed = f"over {limit:.0f} s"
    elif process.returncode != 0:
        taken.failed = (lines or ["no message"])[-1]
    elif lines and lines[-1].startswith("{"):
        taken.summary = json.loads(lines[-1])
    return taken


def join_time(join, hashing):
    """CPU seconds of the join alone, and whether they are measured or only bounded."""
    told = [join.summary[name] for name in JOIN_FIELDS if name in join.summary]
    return (told[0], True) if told else (max(0.0, join.cpu - hashing.cpu), False)


def ours(options, command, file, output, threads, *more):
    return [
        options.binary, command, file, "--threads", threads, "--json", "--quiet", "-o", output, "--force", *more,
    ]  # fmt: skip


def join_rows(options, name, file, folder):
    """The joins of one set."""
    hashing = run([options.binary, "hash", file, "--threads", 1, "--quiet"], options.limit)
    yield f"| {name} | reading and hashing | {hashing.cpu:.2f} s | | {hashing.megabytes:.0f} MB | | |"
    for similarity in SIMILARITIES:
        more = ["--exact", "--similarity", similarity]
        join = run(ours(options, "pairs", file, folder / "pairs.jsonl", 1, *more), options.limit)
        if join.failed:
            yield f"| {name} | pairs >= {similarity} | {join.failed} | | | | |"
            continue
        seconds, told = join_time(join, hashing)
        exact = "exact" if join.summary.get("exact") else "NOT EXACT"
        yield (
            f"| {name} | pairs >= {similarity} | {join.cpu:.2f} s | {'' if told else '<= '}{seconds:.2f} s "
            f"| {join.megabytes:.0f} MB | {join.summary.get('pairs', 0):,} | {exact} |"
        )


def thread_rows(options, file, folder):
    """One thread against two."""
    for command, more in (("pairs", ["--exact", "--similarity", 0.46]), ("dedup", ["--max-remove", 1])):
        one, two = (
            run(ours(options, command, file, folder / "out.jsonl", threads, *more), options.limit) for threads in (1, 2)
        )
        failed = one.failed or two.failed
        ratio = failed or f"{one.wall / two.wall:.2f}x"
        yield f"| {command} | {one.wall:.2f} s | {two.wall:.2f} s | {ratio} |"


def dedup_rows(options, file, folder):
    """A whole deduplication with lookalike and its peers."""
    kept = folder / "kept.jsonl"
    datasketch = [sys.executable, DEDUP_PEERS, file, "--in-process", "--output", kept]
    text_dedup = [
        sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", file, "--split", "train",
        "--column", "text", "--output", folder / "kept", "--cache_dir", folder / "cache", "--ngram", 3,
        "--threshold", 0.5, "--num_perm", 128, "--num_proc", 1,
    ]  # fmt: skip
    ways = {
        "lookalike dedup, 1 thread": ours(options, "dedup", file, kept, 1, "--max-remove", 1),
        "lookalike dedup --exact, 1 thread": ours(options, "dedup", file, kept, 1, "--max-remove", 1, "--exact"),
        "datasketch MinHashLSH": datasketch,
        "text-dedup minhash": text_dedup,
    }
    needed = {"datasketch MinHashLSH": "datasketch", "text-dedup minhash": "text_dedup"}
    base = None
    for name, command in ways.items():
        if name in needed and importlib.util.find_spec(needed[name]) is None:
            yield f"| {name} | not installed | | | |"
            continue
        taken = run(command, options.limit)
        if taken.failed:
            yield f"| {name} | {taken.failed} | | | |"
            continue
        base = base or taken.cpu
        yield (
            f"| {name} | {taken.cpu:.2f} s | {taken.wall:.2f} s | {taken.megabytes:.0f} MB | {taken.cpu / base:.1f}x |"
        )


def sections(options, folder):
    """The tables, line by line."""
    files = {name: options.sets / f"{name}.jsonl" for name in SETS}
    files = {name: file for name, file in files.items() if file.exists() and options.only in (None, name)}
    if not files:
        sys.exit(f"{options.sets}: none of {', '.join(f'{name}.jsonl' for name in SETS)}")
    yield f"{platform.machine()}, {os.cpu_count()} cores; one run each."
    yield from ("", "## Exact joins, one thread", "")
    yield "| set | what | CPU | join | memory | pairs | |"
    yield "|---|---|---|---|---|---|---|"
    for name, file in files.items():
        warm(file)
        yield from join_rows(options, name, file, folder)
    if "mixed" not in files:
        return
    yield from ("", "## Two threads against one, mixed, wall time", "")
    yield "| what | one | two | ratio |"
    yield "|---|---|---|---|"
    yield from thread_rows(options, files["mixed"], folder)
    yield from ("", "## Whole deduplication, mixed", "", "Ratios are of CPU time to that of the first row.", "")
    yield "| what | CPU | wall | memory | ratio |"
    yield "|---|---|---|---|---|"
    yield from dedup_rows(options, files["mixed"], folder)


def warm(file):
    with open(file, "rb") as rows:
        while rows.read(1 << 24):
            pass


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("sets", type=Path)
    arguments.add_argument("--binary", type=Path, default=Path("target/release/lookalike"))
    arguments.add_argument("--results", type=Path)
    arguments.add_argument("--only", choices=SETS)
    arguments.add_argument("--limit", type=float, default=1800, metavar="SECONDS")
    options = arguments.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for line in sections(options, Path(folder)):
            print(line, flush=True)
            lines.append(line)
    if options.results:
        options.results.write_text("# Texts\n\nWritten by `make bench-texts`.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
