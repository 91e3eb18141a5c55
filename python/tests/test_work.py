"""Other threads continue, Ctrl-C stops work, and forked children work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest
from lookalike import Index, find_all, fingerprints

SLOW_CALLS = {
    # A quarter of the bits, so exhaustive comparison. Takes minutes unless stopped.
    "find_all": "lookalike.find_all(rng.integers(0, 2**63, (2_000_000, 2), dtype=numpy.uint64), 32)",
    "fingerprints": "lookalike.fingerprints('some text of a few words' for _ in iter(int, 1))",
    "search_many": (
        "lookalike.Index(64, 20, prints=rng.integers(0, 2**63, 300_000, dtype=numpy.uint64))"
        ".search_many(rng.integers(0, 2**63, 10_000_000, dtype=numpy.uint64))"
    ),
    "fingerprints by a function": (
        "lookalike.fingerprints(iter(lambda: 'some text', 1), tokenizer=lambda text: text.split())"
    ),
    "dedup by a function": (
        "lookalike.dedup([f'{n} {n // 7}' for n in range(300_000)], hash=lambda data: sum(data) ** 99)"
    ),
    # Few words, many texts: all texts share words, and none match. Takes minutes unless stopped.
    "dedup": "lookalike.dedup(texts, exact=True)",
}
PREPARED = {
    "dedup": "texts = [' '.join(map(str, row)) for row in rng.integers(0, 300, (200_000, 20)).tolist()]",
}


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("call", SLOW_CALLS)
def test_ctrl_c_stops_the_work(call: str) -> None:
    code = f"""
        import lookalike, numpy, sys
        rng = numpy.random.default_rng(1)
        {PREPARED.get(call, "")}
        print("ready", flush=True)
        try:
            {SLOW_CALLS[call]}
        except KeyboardInterrupt:
            sys.exit(77)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    # It may still be reading its input in Python; then KeyboardInterrupt is also correct.
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=120) == 77


def test_other_threads_continue() -> None:
    steps = 0
    done = threading.Event()

    def count() -> None:
        nonlocal steps
        while not done.is_set():
            steps += 1
            time.sleep(0.001)

    counting = threading.Thread(target=count)
    counting.start()
    before = steps
    prints = numpy.random.default_rng(1).integers(0, 2**63, (60_000, 2), dtype=numpy.uint64)
    find_all(prints, 32, threads=1)
    during = steps - before
    done.set()
    counting.join()
    assert during >= 3, "a thread that only counts was held up all the time"


def test_searches_and_insertions_from_many_threads() -> None:
    prints = numpy.random.default_rng(2).integers(0, 2**63, 4000, dtype=numpy.uint64)
    index = Index(64, 3, prints=prints[:2000])
    failed: list[BaseException] = []

    def search() -> None:
        try:
            for at in range(2000):
                assert index.search(int(prints[at]))[0] == (at, 0)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for print in prints[2000:]:
        index.insert(int(print))
    for thread in threads:
        thread.join()
    assert not failed and len(index) == 4000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    texts = [f"text number {n}" for n in range(1000)]
    expected = fingerprints(texts).tolist()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        result = pool.map_async(_prints, [texts, texts])
        assert result.get(timeout=60) == [expected, expected]


def _prints(texts: list[str]) -> list[list[int]]:
    return fingerprints(texts).tolist()  # type: ignore[no-any-return]
