"""The examples in docstrings and docs/python.md work."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import lookalike
import pytest
from conftest import ROOT

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(lookalike.__path__, "lookalike.")
    if name not in ("lookalike._native", "lookalike.__main__")
]
NAMES = {name: getattr(lookalike, name) for name in lookalike.__all__}


@pytest.mark.parametrize("name", ["lookalike", *MODULES])
def test_examples_in_docstrings_work(name: str) -> None:
    module = importlib.import_module(name)
    globs: dict[str, Any] = NAMES | vars(module)
    results = doctest.testmod(module, globs=dict(globs), optionflags=FLAGS)
    assert results.failed == 0


def test_every_public_name_is_documented_and_every_function_by_an_example() -> None:
    named = {name: value for name, value in NAMES.items() if callable(value)}
    assert [name for name, value in named.items() if not (value.__doc__ or "").strip()] == []
    functions = {name: value for name, value in named.items() if not isinstance(value, type)}
    assert "dedup" in functions
    assert [name for name, value in functions.items() if ">>>" not in value.__doc__] == []


def test_the_tutorial_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    parser = doctest.DocTestParser()
    test = parser.get_doctest("\n".join(blocks), {}, "docs/python.md", None, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test)
    assert runner.failures == 0
