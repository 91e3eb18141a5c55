"""Measure the detection of similar images: run the binary on labelled photographs and score it.

  images.py DATA SCORER [--binary lookalike] [--peers] [--only NAME ...]

DATA has the folder img/ and manifest.csv (columns file, base, transform, group); SCORER takes
`image MANIFEST PAIRS` and prints one JSON object. --peers adds PyPI imagehash and pdqhash, as far as
they are installed: every image against every other, within the radius people use.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

RUNS = {
    "default": [],
    "orientations": ["--orientations"],
    "partial": ["--match", "partial"],
    "phash": ["--recipe", "phash"],
    "colour": ["--recipe", "colour"],
    "hsv": ["--recipe", "hsv"],
}


def score(scorer, data, pairs):
    command = ["python3", scorer, "image", data / "manifest.csv", pairs]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def ours(binary, data, options, folder):
    pairs = folder / "pairs.jsonl"
    command = [binary, "pairs", data / "img", "-o", pairs, "--force", "--quiet", "--kind", "image"]
    subprocess.run([*command, *options], check=True)
    return pairs


def peer(rows, data, fingerprint, radius, folder):
    """All pairs within the radius, of bits as rows of 0 and 1."""
    import numpy

    bits = numpy.array([fingerprint(data / row["file"]) for row in rows], dtype=numpy.float32)
    pairs = folder / "pairs.jsonl"
    with open(pairs, "w") as output:
        for start in range(0, len(rows), 256):
            part = bits[start : start + 256]
            distance = part @ (1 - bits).T + (1 - part) @ bits.T
            for a, b in numpy.argwhere(distance <= radius):
                if start + a < b:
                    pair = {"a": rows[start + a]["file"], "b": rows[b]["file"]}
                    output.write(json.dumps(pair) + "\n")
    return pairs


def peers():
    """Name, fingerprint function and radius of each installed peer."""
    try:
        import imagehash
        import numpy
        from PIL import Image

        yield "imagehash", lambda file: imagehash.phash(Image.open(file)).hash.flatten(), 10
        import pdqhash

        def pdq(file):
            return pdqhash.compute(numpy.array(Image.open(file).convert("RGB")))[0]

        yield "pdqhash", pdq, 31
    except ImportError as missing:
        print(f"# without {missing.name}")


def recall(result, rows, groups):
    """The share of copies found with their base, over the transformations of some groups."""
    names = {row["transform"] for row in rows if row["group"] in groups}
    found = [value for name, value in result["recall_by_transform"].items() if name in names]
    return sum(found) / max(1, len(found))


def table(results, rows):
    columns = list(results)
    print("| |", " | ".join(columns), "|")
    print("|---|" + "---|" * len(columns))
    line = lambda name, values: print(f"| {name} |", " | ".join(values), "|")
    plain, every = {"core", "tone"}, {"core", "tone", "overlay", "crop", "geom"}
    line("plain copies", [f"{recall(results[name], rows, plain):.4f}" for name in columns])
    line("all", [f"{recall(results[name], rows, every):.4f}" for name in columns])
    line("false pairs a million", [f"{results[name]['false_per_million']:.2f}" for name in columns])
    line("F1 of all pairs", [f"{results[name]['pairs']['F1']:.3f}" for name in columns])
    order = {row["transform"]: row["group"] for row in rows}
    for transform in [name for name in order if order[name] in every]:
        values = [results[name]["recall_by_transform"][transform] for name in columns]
        line(transform, [f"{value:.3f}" for value in values])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("scorer", type=Path)
    arguments.add_argument("--binary", default="target/release/lookalike")
    arguments.add_argument("--peers", action="store_true")
    arguments.add_argument("--only", nargs="*", default=[])
    options = arguments.parse_args()
    rows = list(csv.DictReader(open(options.data / "manifest.csv")))
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, flags in RUNS.items():
            if not options.only or name in options.only:
                pairs = ours(options.binary, options.data, flags, folder)
                results[name] = score(options.scorer, options.data, pairs)
        for name, fingerprint, radius in peers() if options.peers else []:
            pairs = peer(rows, options.data, fingerprint, radius, folder)
            results[name] = score(options.scorer, options.data, pairs)
    table(results, rows)


if __name__ == "__main__":
    main()
