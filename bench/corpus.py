#!/usr/bin/env python3
"""Write a corpus from the text files of this machine: JSON lines with pieces of about a kilobyte.

    corpus.py FOLDER... --texts 100000 -o CORPUS.jsonl

Walks the folders in order of names, reads what is UTF-8 text (also .gz), and cuts it into pieces at line
ends. One piece in eight is an edited copy of an earlier one: up to a fifth of its words are dropped,
doubled or replaced. The same files give the same corpus.
"""
import argparse
import gzip
import json
import os
import random
import sys
from pathlib import Path

PIECE = 1000
SMALLEST = 200
LARGEST_FILE = 1 << 22


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("folders", type=Path, nargs="+")
    args.add_argument("--texts", type=int, required=True)
    args.add_argument("-o", "--output", type=Path, required=True)
    args = args.parse_args()
    chance = random.Random(1)
    recent = []
    written = 0
    with args.output.open("w", encoding="utf-8", newline="\n") as out:
        for piece in pieces(args.folders):
            texts = [piece]
            if recent and chance.random() < 1 / 7:
                texts.append(edited(chance.choice(recent), chance))
            for text in texts[: args.texts - written]:
                written += 1
                out.write(json.dumps({"id": written, "text": text}, ensure_ascii=False) + "\n")
            if len(recent) < 10_000:
                recent.append(piece)
            else:
                recent[chance.randrange(len(recent))] = piece
            if written == args.texts:
                return
    sys.exit(f"{args.output}: only {written} texts; name more folders")


def pieces(folders):
    for text in (text for folder in folders for text in files(folder)):
        piece = []
        size = 0
        for line in text.splitlines(keepends=True):
            piece.append(line)
            size += len(line)
            if size >= PIECE:
                yield "".join(piece)[: 4 * PIECE]
                piece, size = [], 0
        if size >= SMALLEST:
            yield "".join(piece)


def files(folder):
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(path) / name
            try:
                if file.is_symlink() or file.stat().st_size > LARGEST_FILE:
                    continue
                packed = file.read_bytes()
                text = (gzip.decompress(packed) if name.endswith(".gz") else packed).decode()
            except (OSError, EOFError, UnicodeDecodeError):
                continue
            if "\0" not in text:
                yield text


def edited(text, chance):
    part = chance.random() / 5
    words = []
    for word in text.split(" "):
        if chance.random() < part:
            words += chance.choice([[], [word, word], [chance.choice(["one", "other", "some", "this"])]])
        else:
            words.append(word)
    return " ".join(words)


if __name__ == "__main__":
    main()
