"""Compare the Python package with its peers: texts to fingerprints, and all pairs.

    bench/.venv-python/bin/python bench/python_peers.py [--docs 20000] [--results bench/PYTHON.md]

Everything is measured by the best of several rounds, ours and theirs in turn, so that a busy machine
slows both. Nothing is asserted here.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import lookalike
import numpy
import pyarrow
from lookalike.compat import simhash as compat
from lookalike.compat import simhash_py

#: The targets: minimum speed ratios.
TARGETS = {
    "PyPI simhash": 30,
    "datasketch MinHash-128": 20,
    "rensa RMinHash-128": 5,
    "the same, in bulk": 5,
}
COMPAT_TARGET = 10


def documents(count: int, words: int, seed: int) -> list[str]:
    """Texts with natural word frequencies."""
    rng = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    vocabulary = ["".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    return [
        " ".join(rng.choices(vocabulary, weights, k=rng.randint(words // 2, words * 3 // 2)))
        for _ in range(count)
    ]


def best(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The minimum seconds of each, measured in turns."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


class Table:
    """The rows, printed as measured and kept for the results."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, ...]] = []

    def add(self, *cells: str) -> None:
        self.rows.append(cells)
        print(" | ".join(cells), flush=True)

    def markdown(self, *head: str) -> str:
        lines = [head, ("---",) * len(head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def texts_rows(table: Table, docs: list[str], rounds: int) -> None:
    """Texts to fingerprints, in megabytes per second. Slow peers get the first fiftieth of the texts."""
    few = docs[: max(1, len(docs) // 50)]
    column = pyarrow.array(docs)
    calls: dict[str, tuple[list[str], Callable[[], object]]] = {
        "list": (docs, lambda: lookalike.fingerprints(docs)),
        "1 thread": (docs, lambda: lookalike.fingerprints(docs, threads=1)),
        "Arrow": (docs, lambda: lookalike.fingerprints(column)),
        "compat": (few, lambda: [compat.Simhash(doc) for doc in few]),
    }
    if simhash := peer("simhash"):
        calls["PyPI simhash"] = few, lambda: [simhash.Simhash(doc) for doc in few]
    if datasketch := peer("datasketch"):

        def datasketch_minhash(doc: str) -> None:
            made = datasketch.MinHash(num_perm=128)
            made.update_batch([word.encode() for word in doc.split()])

        calls["datasketch MinHash-128"] = few, lambda: [datasketch_minhash(doc) for doc in few]
    if rensa := peer("rensa"):

        def rensa_minhash(doc: str) -> None:
            made = rensa.RMinHash(num_perm=128, seed=42)
            made.update(doc.split())

        bulk = rensa.RMinHash.digest_matrix_from_token_sets
        calls["rensa RMinHash-128"] = docs, lambda: [rensa_minhash(doc) for doc in docs]
        calls["the same, in bulk"] = docs, lambda: bulk((doc.split() for doc in docs), 128, 42)
    seconds = best({name: call for name, (_, call) in calls.items()}, rounds)
    speed = {name: megabytes(calls[name][0]) / seconds[name] for name in calls}

    table.add("lookalike.fingerprints, list", f"{speed['list']:.0f} MB/s", "", "")
    table.add("the same, 1 thread", f"{speed['1 thread']:.0f} MB/s", "", "")
    table.add("the same, Arrow", f"{speed['Arrow']:.0f} MB/s", "", "")
    for name in TARGETS:
        if theirs := speed.get(name):
            ratio = f"{speed['list'] / theirs:.1f}x; {speed['1 thread'] / theirs:.1f}x on 1 thread"
            table.add(name, f"{theirs:.2f} MB/s", ratio, f">= {TARGETS[name]}x")
    if theirs := speed.get("PyPI simhash"):
        table.add(
            "compat Simhash against PyPI simhash",
            f"{speed['compat']:.1f} MB/s",
            f"{speed['compat'] / theirs:.0f}x",
            f">= {COMPAT_TARGET}x",
        )
    command_row(table, docs, column, rounds)


def megabytes(docs: list[str]) -> float:
    return sum(map(len, docs)) / 1e6


def command_row(table: Table, docs: list[str], column: pyarrow.Array, rounds: int) -> None:
    """Arrow in Python and the command line on the same texts in Parquet."""
    import pyarrow.parquet

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "docs.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"text": column}), file, compression="none")
        run = [
            sys.executable,
            "-m",
            "lookalike",
            "hash",
            file,
            "-o",
            os.devnull,
            "--quiet",
            "--force",
        ]
        nothing = [sys.executable, "-m", "lookalike", "--version"]
        both = best(
            {
                "command": lambda: subprocess.run(run, check=True, capture_output=True),
                "start": lambda: subprocess.run(nothing, check=True, capture_output=True),
                "arrow": lambda: lookalike.fingerprints(column),
            },
            rounds,
        )
    command = megabytes(docs) / (both["command"] - both["start"])
    ratio = megabytes(docs) / both["arrow"] / command
    table.add(
        "lookalike hash, Parquet (without starting)",
        f"{command:.0f} MB/s",
        f"{ratio:.2f}x",
        ">= 0.8x",
    )


def pairs_rows(table: Table, count: int, rounds: int) -> None:
    """All pairs within 3 of 64 bits: the package, the engine, seomoz' interface, faiss."""
    prints = made_prints(count)
    listed = prints.tolist()
    engine: list[float] = []
    seconds = best(
        {
            "find_all": lambda: lookalike.find_all(prints),
            "compat": lambda: simhash_py.find_all(listed, 5, 3),
            "engine": lambda: engine.append(engine_seconds(count)),
        },
        rounds,
    )
    find_all, compat_find_all = seconds["find_all"], seconds["compat"]
    table.add(f"find_all, {count:,} of 64 bits, k = 3", f"{1e3 * find_all:.0f} ms", "", "")
    table.add(
        "the engine itself (lookalike bench pairs, prints made alike)",
        f"{1e3 * min(engine):.0f} ms",
        f"{find_all / min(engine):.2f}x its time",
        "<= 1.10x",
    )
    table.add(
        "compat simhash_py.find_all, a list of ints",
        f"{1e3 * compat_find_all:.0f} ms",
        f"{1.6 / compat_find_all:.0f}x of the published 1.6 s",
        ">= 20x",
    )
    if faiss := peer("faiss"):
        theirs = faiss_seconds(faiss, prints)
        table.add(
            "faiss IndexBinaryMultiHash (4 x 16), exact for k = 3; a fiftieth of the queries, times 50",
            f"{theirs:.1f} s",
            f"{theirs / compat_find_all:.0f}x by the compat find_all",
            ">= 20x",
        )


def made_prints(count: int) -> numpy.ndarray:
    """Random fingerprints, 1 % of which differ in a bit from another one."""
    rng = numpy.random.default_rng(1)
    prints = rng.integers(0, 2**64, count, dtype=numpy.uint64)
    near = rng.choice(count, count // 100, replace=False)
    prints[near] = prints[(near + 1) % count] ^ (
        numpy.uint64(1) << rng.integers(0, 64, len(near)).astype(numpy.uint64)
    )
    return prints


def engine_seconds(count: int) -> float:
    """The time of the same search without Python."""
    run = [sys.executable, "-m", "lookalike", "bench", "pairs", "--random", str(count), "--json"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return json.loads(done.stdout or done.stderr)["seconds"]


def faiss_seconds(faiss, prints: numpy.ndarray) -> float:  # type: ignore[no-untyped-def]
    """The time of faiss to add all items, and to search for each."""
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    codes = prints.view(numpy.uint8).reshape(-1, 8)
    few = codes[: len(codes) // 50]
    seconds = best(
        {"add": lambda: index.add(codes), "search": lambda: index.range_search(few, 4)}, 1
    )
    return seconds["add"] + seconds["search"] * len(codes) / len(few)


def peer(name: str):  # type: ignore[no-untyped-def]
    """A peer, if it is installed."""
    try:
        return __import__(name)
    except ImportError:
        print(f"{name} is not installed; left out", file=sys.stderr)
        return None


def versions() -> str:
    """The measured versions."""
    names = ["lookalike", "simhash", "datasketch", "rensa", "faiss-cpu", "numpy", "pyarrow"]
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=Path)
    args = parser.parse_args()
    table = Table()
    texts_rows(table, documents(args.docs, args.words, seed=1), args.rounds)
    pairs_rows(table, args.pairs, args.rounds)
    if args.results:
        machine = (
            f"{os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}"
        )
        head = f"# The Python package beside its peers\n\n`make bench-python` wrote this: {machine}; {versions()}. Texts: {args.docs:,} of {args.words} words on average; the best of {args.rounds} rounds, all taken in turn. Peers work on one thread, as they come; `lookalike` on all cores, unless said.\n\n"
        args.results.write_text(
            head + table.markdown("what", "measured", "lookalike is", "aim"), "utf-8"
        )


if __name__ == "__main__":
    main()
