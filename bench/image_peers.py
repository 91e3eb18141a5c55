"""Measure image fingerprints on one core: lookalike and its peers.

  image_peers.py PHOTOGRAPHS [--binary lookalike] [--results FILE.md]

Makes two sets of JPEGs of the photographs that have 8 megapixels or more: as a camera writes them
(4000 x 3000, quality 93, 4:2:0) and small (500 pixels wide or high, quality 85). Measures processor time
(user and system) of `lookalike hash --threads 1 --cache none`, of PyPI imagehash's pHash, of pdqhash, and of
decoding alone: our decoder's, and Pillow's (libjpeg-turbo). Needs PyPI Pillow, imagehash, pdqhash,
numpy. Files are read once before, so that the disk is not measured. Of three rounds, in which all
take turns, the best one counts.
"""

import argparse
import json
import platform
import resource
import subprocess
import tempfile
import time
from pathlib import Path

ROUNDS = 3
LARGE, SMALL = 12, 40


def make_sets(photographs, folder):
    """Files of the large set and of the small one."""
    from PIL import Image, ImageOps

    endings = {".jpg", ".jpeg", ".png", ".webp"}
    large, small = [], []
    for file in sorted(file for file in photographs.rglob("*") if file.suffix.lower() in endings):
        image = Image.open(file)
        if image.width * image.height < 8_000_000 or len(small) == SMALL:
            continue
        image = image.convert("RGB")
        if len(large) < LARGE:
            large.append(folder / f"large-{len(large)}.jpg")
            ImageOps.fit(image, (4000, 3000)).save(large[-1], quality=93, subsampling="4:2:0")
        image.thumbnail((500, 500))
        small.append(folder / f"small-{len(small)}.jpg")
        image.save(small[-1], quality=85)
    return large, small


def python_time(files, work):
    start = time.process_time()
    for file in files:
        work(file)
    return (time.process_time() - start) / len(files)


def lookalike_time(binary, files, options):
    """The time for these files minus the time for one, to exclude the start."""

    def seconds(some):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [binary, "hash", *some, "--kind", "image", "--threads", "1", "--quiet"]
        command += ["--cache", "none", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return (seconds(files) - seconds(files[:1])) / (len(files) - 1)


def steps_of(binary, files):
    """The steps of lookalike in milliseconds."""
    command = [binary, "bench", "images", *files, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(files, binary):
    """Milliseconds per image for each task; the best of several rounds."""
    import imagehash
    import numpy
    import pdqhash
    from PIL import Image

    for file in files:
        file.read_bytes()

    def eighth(file):
        image = Image.open(file)
        image.draft("L", (image.width // 8, image.height // 8))
        image.load()

    ways = {
        "lookalike pdq": lambda: lookalike_time(binary, files, []),
        "lookalike phash": lambda: lookalike_time(binary, files, ["--recipe", "phash"]),
        "lookalike colour": lambda: lookalike_time(binary, files, ["--recipe", "colour"]),
        "imagehash phash": lambda: python_time(files, lambda file: imagehash.phash(Image.open(file))),
        "pdqhash": lambda: python_time(
            files[:4], lambda file: pdqhash.compute(numpy.array(Image.open(file).convert("RGB")))
        ),
        "libjpeg-turbo, 1/8, gray": lambda: python_time(files, eighth),
        "libjpeg-turbo, full": lambda: python_time(files, lambda file: Image.open(file).load()),
    }
    rounds = [{way: 1000 * run() for way, run in ways.items()} for _ in range(ROUNDS)]
    steps = [steps_of(binary, files) for _ in range(ROUNDS)]
    best = {way: min(times[way] for times in rounds) for way in ways}
    best |= {f"step {step}": min(times[step] for times in steps) for step in steps[0] if step != "images"}
    return best


def rows(large, small):
    """Task, our time, peer, ratio, and its required bound."""
    peer, ours = "imagehash phash", "lookalike pdq"
    return [
        ("12 MP JPEG to pdq, file to fingerprint", large[ours], f"{peer}: {large[peer]:.1f} ms",
         large[peer] / large[ours], ">= 5", large[peer] / large[ours] >= 5),
        ("12 MP JPEG, decoded and fingerprinted", large["step whole"],
         f"our decoder alone, at 1/8: {large['step decode']:.1f} ms",
         large["step whole"] / large["step decode"], "<= 1.15", large["step whole"] <= 1.15 * large["step decode"]),
        ("12 MP JPEG, decoded at 1/8", large["step decode"],
         f"libjpeg-turbo at 1/8: {large['libjpeg-turbo, 1/8, gray']:.1f} ms",
         large["libjpeg-turbo, 1/8, gray"] / large["step decode"], "", None),
        ("500 px JPEG to pdq, file to fingerprint", small[ours], f"{peer}: {small[peer]:.2f} ms",
         small[peer] / small[ours], ">= 2", small[peer] / small[ours] >= 2),
        ("fingerprint after decoding, 12 MP", large["step fingerprint"], "", large["step fingerprint"], "<= 1 ms",
         large["step fingerprint"] <= 1),
        ("eight orientations more, 12 MP", large["step orientations"], "", large["step orientations"], "<= 0.3 ms",
         large["step orientations"] <= 0.3),
        ("parts more (--match partial), 12 MP", large["step parts"], "", large["step parts"], "", None),
    ]


def table(large, small, files):
    megabytes = sum(file.stat().st_size for file in files) / len(files) / 1e6
    lines = [
        f"{len(files)} JPEGs of 4000 x 3000 ({megabytes:.2f} MB each) and small ones of 500 pixels; "
        f"{platform.machine()}, one core, processor time, the best of {ROUNDS} rounds.",
        "",
        "| what | ours | beside | ratio | must | |",
        "|---|---|---|---|---|---|",
    ]
    for what, time_, beside, ratio, must, good in rows(large, small):
        verdict = {True: "reached", False: "BELOW MUST", None: ""}[good]
        ratio = f"{ratio:.2f}x" if beside else ""
        lines.append(f"| {what} | {time_:.2f} ms | {beside} | {ratio} | {must} | {verdict} |")
    lines += ["", "Milliseconds for each image:", "", "| | 12 MP | 500 px |", "|---|---|---|"]
    lines += [f"| {way} | {large[way]:.2f} | {small[way]:.2f} |" for way in large]
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("photographs", type=Path)
    arguments.add_argument("--binary", default="target/release/lookalike")
    arguments.add_argument("--results", type=Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large_files, small_files = make_sets(options.photographs, Path(folder))
        large, small = measure(large_files, options.binary), measure(small_files, options.binary)
        text = table(large, small, large_files)
    print(text, end="")
    if options.results:
        options.results.write_text("# Images\n\nWritten by `make bench-images`.\n\n" + text)


if __name__ == "__main__":
    main()
