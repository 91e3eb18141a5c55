"""Makes images.tsv: fingerprints of small images that are themselves made by rule.

pdq comes from PyPI `pdqhash`, which wraps the reference, and phash from PyPI `imagehash`: ours may
differ from them by the bits that README.md tells. colour and hsv are computed here, in exact integers,
from docs/algorithm.md alone. Run it in this folder with PyPI pdqhash, imagehash, Pillow, numpy, mmh3.
"""

import math

import imagehash
import mmh3
import numpy
import pdqhash
from PIL import Image

MASK = (1 << 64) - 1


def scrambled(number):
    bits = (number + 1) * 0x9E3779B97F4A7C15 & MASK
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & MASK
    return bits ^ bits >> 31


def image(seed, width, height, channels):
    """Sixty triangle waves for each channel, in integers; 1024 is a period."""
    planes = []
    for channel in range(channels):
        plane = numpy.full((height, width), 0, dtype=numpy.int64)
        ys, xs = numpy.mgrid[0:height, 0:width]
        for wave in range(60):
            bits = scrambled(seed * 1000 + channel * 100 + wave)
            across, down, phase, size = bits & 7, bits >> 8 & 15, bits >> 16 & 1023, bits >> 32 & 31
            place = xs * (across * 1024) // width + ys * ((down - 8) * 1024) // height + phase
            plane += size * (abs(place % 1024 - 512) - 256)
        planes.append(numpy.clip(128 + plane // 512, 0, 255))
    return numpy.stack(planes, axis=2).astype(numpy.uint8)


def hsv(red, green, blue):
    most, least = max(red, green, blue), min(red, green, blue)
    span = most - least
    if span == 0:
        return 0, 0, most
    toward_zero = lambda number: int(math.copysign(abs(number) * 256 // span, number))
    if most == red:
        sixth = toward_zero(green - blue)
    elif most == green:
        sixth = 512 + toward_zero(blue - red)
    else:
        sixth = 1024 + toward_zero(red - green)
    return sixth % 1536 // 6, span * 255 // most, most


def histogram(pixels):
    height, width, _ = pixels.shape
    step = max(1, math.isqrt(-(-width * height // 100_000)))
    counts = [[0] * 32 for _ in range(3)]
    for row in pixels[::step, ::step].tolist():
        for red, green, blue in row:
            for channel, value in zip(counts, hsv(red, green, blue)):
                channel[value * 32 // 256] += 1
    return counts


def colour(counts):
    values = []
    for channel in counts:
        roots = [math.isqrt((count << 24) // sum(channel)) for count in channel]
        values += [32 * root - sum(roots) for root in roots]
    print_ = 0
    for bit in range(128):
        signs = scrambled(2 * bit) | scrambled(2 * bit + 1) << 64
        total = sum(value if signs >> at & 1 else -value for at, value in enumerate(values))
        print_ |= (total > 0) << bit
    return f"0x{print_:032x}"


def original(counts):
    weighted = []
    for name, channel in zip("hsv", counts):
        for bin_, count in enumerate(channel):
            weight = (count << 16) // sum(channel)
            if weight:
                low, high = mmh3.hash64(f"{name}:{bin_}".encode(), 0, signed=False)
                weighted.append((-weight, low, high))
    votes = [0] * 128
    for weight, low, high in sorted(weighted)[:15]:
        for bit in range(128):
            votes[bit] += -weight if (low | high << 64) >> bit & 1 else weight
    return f"0x{sum((vote > 0) << bit for bit, vote in enumerate(votes)):032x}"


def main():
    shapes = [(64, 64), (100, 75), (128, 128), (200, 301), (512, 384), (640, 427), (37, 99)]
    with open("images.tsv", "w") as table:
        table.write("# seed\twidth\theight\tchannels\trecipe\tfingerprint\tsource\n")
        for seed, (width, height) in enumerate(shapes * 2):
            channels = 3 if seed % 3 else 1
            pixels = image(seed, width, height, channels)
            pixels = numpy.repeat(pixels, 3, axis=2) if channels == 1 else pixels
            bits, _ = pdqhash.compute(numpy.ascontiguousarray(pixels))
            pdq = "".join(str(bit) for bit in bits)
            counts = histogram(pixels)
            rows = [
                ("pdq", f"0x{int(pdq, 2):064x}", "pdqhash"),
                ("phash", f"0x{imagehash.phash(Image.fromarray(pixels))}", "imagehash"),
                ("colour", colour(counts), "make_images.py"),
                ("hsv", original(counts), "make_images.py"),
            ]
            for recipe, print_, source in rows:
                table.write(f"{seed}\t{width}\t{height}\t{channels}\t{recipe}\t{print_}\t{source}\n")


if __name__ == "__main__":
    main()
