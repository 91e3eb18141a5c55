"""Shared fixtures. The tests run against the installed package, never against the source tree."""

from __future__ import annotations

from pathlib import Path

import lookalike
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session", autouse=True)
def _is_installed() -> None:
    sources = ROOT / "python"
    assert sources not in Path(lookalike.__file__).parents, "install the wheel; make test-python"


def vectors(name: str) -> list[list[str]]:
    """The lines of a file of golden vectors, split at tabs."""
    lines = (ROOT / "vectors" / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]
