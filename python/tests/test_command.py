"""The command line that comes with the package."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import lookalike


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(args, capture_output=True, text=True, encoding="utf-8")


def test_the_command_is_installed_with_the_package() -> None:
    command = shutil.which("lookalike", path=str(Path(sys.executable).parent))
    assert command is not None
    for start in [[command], [sys.executable, "-m", "lookalike"]]:
        done = run(*start, "compare", "0xff", "0xfe")
        assert done.returncode == 0 and "alike" in done.stdout
        assert run(*start, "compare", "0xff", "0x00").returncode == 1
        failed = run(*start, "dedup", "no-such-file")
        assert (failed.returncode, failed.stdout) == (2, "")
        assert failed.stderr.startswith("error: no-such-file")
        wrong = run(*start, "dedup", "--no-such-option")
        assert wrong.returncode == 2 and "Usage: lookalike dedup" in wrong.stderr
        version = run(*start, "--version")
        assert (version.returncode, version.stdout) == (0, f"lookalike {lookalike.__version__}\n")


def test_the_recipes_are_the_command_lines() -> None:
    listed = run(sys.executable, "-m", "lookalike", "recipes").stdout
    for preset in lookalike.recipes():
        line = next(line for line in listed.splitlines() if line.startswith(preset.name + " "))
        assert line.split()[1:4] == [str(preset.bits), str(preset.distance), preset.features]
