"""How fast do pictures become fingerprints? One run, on one core: lookalike beside its peers.

  image_peers.py FOLDER_OF_LARGE_JPEGS [--small FOLDER_OF_SMALL_JPEGS] [--binary lookalike]

Measures processor time (user and system) of `lookalike hash --threads 1`, of PyPI imagehash's pHash,
of pdqhash, and of decoding alone: Pillow's at an eighth of the size (libjpeg-turbo) and in full.
Needs PyPI Pillow, imagehash, pdqhash, numpy. Files are read once before, so that the disk is not
measured.
"""

import argparse
import resource
import subprocess
import time
from pathlib import Path


def files_in(folder):
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in {".jpg", ".jpeg"})


def python_time(files, work):
    start = time.process_time()
    for file in files:
        work(file)
    return (time.process_time() - start) / len(files)


def lookalike_time(binary, files, options):
    """Of so many files, less the time of one: starting costs something, too."""

    def seconds(some):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [binary, "hash", *some, "--kind", "image", "--threads", "1", "--quiet", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return (seconds(files) - seconds(files[:1])) / (len(files) - 1)


def measure(name, files, binary):
    import imagehash
    import numpy
    import pdqhash
    from PIL import Image

    for file in files:
        file.read_bytes()

    def eighth(file):
        picture = Image.open(file)
        picture.draft("L", (picture.width // 8, picture.height // 8))
        picture.load()

    ways = {
        "lookalike pdq": lambda: lookalike_time(binary, files, []),
        "lookalike phash": lambda: lookalike_time(binary, files, ["--recipe", "phash"]),
        "lookalike colour": lambda: lookalike_time(binary, files, ["--recipe", "colour"]),
        "imagehash phash": lambda: python_time(files, lambda file: imagehash.phash(Image.open(file))),
        "pdqhash": lambda: python_time(
            files[:8], lambda file: pdqhash.compute(numpy.array(Image.open(file).convert("RGB")))
        ),
        "libjpeg-turbo, 1/8, gray": lambda: python_time(files, eighth),
        "libjpeg-turbo, full": lambda: python_time(files, lambda file: Image.open(file).load()),
    }
    times = {way: run() for way, run in ways.items()}
    base = times["imagehash phash"]
    print(f"\n{name}: {len(files)} files, milliseconds of one core for each")
    for way, seconds in times.items():
        print(f"{way:26} {1000 * seconds:8.2f} ms  {base / seconds:6.2f} x imagehash")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("large", type=Path)
    arguments.add_argument("--small", type=Path)
    arguments.add_argument("--binary", default="target/release/lookalike")
    options = arguments.parse_args()
    measure("large", files_in(options.large), options.binary)
    if options.small:
        measure("small", files_in(options.small), options.binary)


if __name__ == "__main__":
    main()
