"""The peer faiss: prepares, then runs once for every line on stdin.

    faiss_peer.py flat FILE.npy RADIUS QUERIES           the first QUERIES items are the queries
    faiss_peer.py multihash FILE.npy RADIUS QUERIES.npy
    faiss_peer.py hnsw-EF|usearch-EF FILE.npy RADIUS QUERIES.npy    the nearest 50 of each query

Prints JSON lines: first {"version", "bytes", "seconds"} when ready, then {"seconds", "pairs",
"checksum"} for each turn (see src/turn.rs). One thread. An item is not its own neighbour when
it is a query to its own set.
"""

import json
import sys
import time

import faiss
import numpy as np


def main(kind, file, radius, queries):
    faiss.omp_set_num_threads(1)
    items = read(file)
    own = kind == "flat"
    queries = items[: int(queries)] if own else read(queries)
    if "-" in kind:
        return graph(*kind.split("-"), items, int(radius), queries)
    index, ready = prepare(kind, items)
    say(version=faiss.__version__, **ready)
    for _ in sys.stdin:
        start = time.perf_counter()
        # The radius of faiss is exclusive, ours is inclusive.
        limits, _, found = index.range_search(queries, int(radius) + 1)
        seconds = time.perf_counter() - start
        say(seconds=seconds, **answer(limits, found, own))


# Graph indexes return the k nearest, not all within a radius. This k exceeds almost every answer.
NEAREST = 50


def graph(kind, breadth, items, radius, queries):
    """A graph index with search breadth `breadth`; results beyond the radius are dropped."""
    bits = 8 * items.shape[1]
    if kind == "hnsw":
        index = faiss.IndexBinaryHNSW(bits, 16)
        index.hnsw.efConstruction = 64
        index.add(items)
        index.hnsw.efSearch = int(breadth)
        version = "faiss " + faiss.__version__
        search = lambda: index.search(queries, NEAREST)
    else:
        import usearch
        from usearch.index import Index, MetricKind

        index = Index(ndim=bits, metric=MetricKind.Hamming, dtype="b1", expansion_search=int(breadth))
        index.add(np.arange(len(items)), items, threads=1)
        version = "usearch " + usearch.__version__

        def search():
            found = index.search(queries, NEAREST, threads=1)
            keys = np.where(np.arange(found.keys.shape[1]) < found.counts[:, None], found.keys, -1)
            return found.distances, keys.astype(np.int64)

    say(version=version)
    for _ in sys.stdin:
        start = time.perf_counter()
        distances, keys = search()
        seconds = time.perf_counter() - start
        near = (distances <= radius) & (keys >= 0)
        limits = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
        say(seconds=seconds, **answer(limits, keys[near], False))


def read(file):
    return np.load(file).view(np.uint8)


def prepare(kind, items):
    bits = 8 * items.shape[1]
    before, start = resident(), time.perf_counter()
    if kind == "flat":
        index = faiss.IndexBinaryFlat(bits)
    else:
        index = faiss.IndexBinaryMultiHash(bits, 4, 16)
        index.nflip = 0
    index.add(items)
    return index, {"bytes": resident() - before, "seconds": time.perf_counter() - start}


def answer(limits, found, own):
    queries = np.repeat(np.arange(len(limits) - 1), np.diff(limits.astype(np.int64)))
    keep = queries != found if own else slice(None)
    a, b = queries[keep].astype(np.uint64), found[keep].astype(np.uint64)
    mixed = a * np.uint64(0x9E3779B97F4A7C15) ^ b * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    return {"pairs": len(a), "checksum": int(np.sum(mixed, dtype=np.uint64))}


def resident():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return 1024 * int(line.split()[1])


def say(**facts):
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
