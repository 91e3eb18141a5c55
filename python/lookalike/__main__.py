"""The command line: ``lookalike``, or ``python -m lookalike``."""

import sys

from . import _native


def main() -> None:
    """Run the command line and exit with its exit code."""
    sys.exit(_native.run(["lookalike", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
