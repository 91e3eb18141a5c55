"""Write the texts of a folder to one file, separated by zero bytes, for every contender.

    texts.py FOLDER OUT

Reads the "text" of every row of FOLDER/*.jsonl and *.jsonl.xz.
"""

import sys
from pathlib import Path

from text_windows import texts

if __name__ == "__main__":
    folder, out = map(Path, sys.argv[1:])
    rows = [text.replace("\0", " ") for text in texts(folder)]
    if not rows:
        sys.exit(f'{folder}: no .jsonl or .jsonl.xz files with a "text" field')
    out.write_text("\0".join(rows), encoding="utf-8", newline="")
