"""The native module matches its stub, and a typed program passes a strict checker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from pathlib import Path

import lookalike
from lookalike import Dedup, Index, Match, Model, Recipe
from lookalike.compat.simhash import Simhash
from lookalike.compat.simhash_py import find_all

fingerprint: int | None = lookalike.simhash("a text", recipe="bare", bits=64)
recipe: Recipe = Recipe("words", hash=lambda data: len(data))
rows = lookalike.fingerprints(["a", "b"], recipe).shape[0]
pairs: list[list[int]] = lookalike.find_all([1, 2, 3], 2).tolist()
index = Index(bits=64, distance=3)
near: list[Match] = index.search(index.insert(7))
result: Dedup = lookalike.dedup([Path("a.jsonl")], level="near") if not near else lookalike.dedup(["a"])
similarity: float | None = result.groups[0].members[0].similarity
model: Model = Model.learn(["a", "b"])
value: list[tuple[int, int]] = find_all([1, 2], 4, 3)
assert Simhash("a").distance(Simhash("b")) > 0
"""

WRONG = """
import lookalike

lookalike.dedup(["a"], level="close")
lookalike.find_all([1], "three")
number: str = lookalike.simhash("a")
lookalike.Index(bits="64")
"""


def mypy(*args: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", *args]
    return subprocess.run(run, capture_output=True, text=True, encoding="utf-8")


def test_the_stub_of_the_native_half_is_true() -> None:
    done = mypy("mypy.stubtest", "lookalike._native", "--ignore-disjoint-bases")
    assert done.returncode == 0, done.stdout


def test_the_package_and_a_typed_program_pass(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = mypy(
        "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "program.py")
    )
    assert done.returncode == 0, done.stdout
    done = mypy("mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "-p", "lookalike")
    assert done.returncode == 0, done.stdout


def test_type_checker_reports_wrong_types(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    done = mypy(
        "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "wrong.py")
    )
    assert "Found 4 errors" in done.stdout
