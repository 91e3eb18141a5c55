"""Everything works with lists if NumPy and Arrow are not installed."""

from __future__ import annotations

import subprocess
import sys
import textwrap

CODE = """
    import sys
    for name in ["numpy", "pyarrow", "pandas", "polars"]:
        sys.modules[name] = None

    import pickle
    from pathlib import Path
    import lookalike
    from lookalike.compat.simhash import Simhash
    from lookalike.compat import simhash_py

    texts = ["to be or not to be", "", "to be, or NOT to be", None]
    for bits in [64, 128]:
        prints = lookalike.fingerprints(texts, bits=bits)
        assert prints == [lookalike.simhash(t or "", bits=bits) for t in texts]
        assert prints[1] is prints[3] is None
        assert lookalike.find_all(prints, 0) == [(0, 2, 0)]
        index = lookalike.Index(bits, 3)
        assert index.insert_many(prints) == [0, None, 1, None]
        assert index.search_many(prints, 0) == [(0, 0, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0)]
        assert list(pickle.loads(pickle.dumps(index))) == [0, 1]
        assert lookalike.distance(prints[0], prints[2]) == 0
    result = lookalike.dedup([{"id": 7, "text": t} for t in texts if t])
    assert result.kept == [1] and result.groups[0].keep == 7
    assert Simhash("hello world").value == 10747039046998140950
    assert Simhash([("a", 300), ("b", 0.5)]).value == Simhash("a").value
    assert simhash_py.find_all([1, 3, 255], 4, 3) == [(1, 3)]
    print("all of it")
"""


def test_lists_are_enough() -> None:
    run = [sys.executable, "-c", textwrap.dedent(CODE)]
    done = subprocess.run(run, capture_output=True, text=True, encoding="utf-8")
    assert (done.stdout, done.stderr, done.returncode) == ("all of it\n", "", 0)
