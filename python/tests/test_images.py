"""Files, bytes and PIL images give the same fingerprints."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import lookalike
import numpy
import pytest
from conftest import vectors
from lookalike import distance, errors, image, images
from PIL import Image


def hills(seed: int = 0) -> Image.Image:
    """Coloured noise of all frequencies, with higher amplitude at lower frequencies."""
    rng = numpy.random.default_rng(seed)
    total = numpy.zeros((240, 320, 3))
    for cells in (3, 6, 12, 24, 48, 96):
        small = rng.integers(0, 256, (cells, cells, 3), dtype=numpy.uint8)
        large = Image.fromarray(small).resize((320, 240), Image.Resampling.BICUBIC)
        total += numpy.asarray(large) / cells
    total -= total.min()
    return Image.fromarray((255 * total / total.max()).astype(numpy.uint8))


def png(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def test_an_image_is_a_path_bytes_or_an_image(tmp_path: Path) -> None:
    scene = hills()
    (tmp_path / "hills.png").write_bytes(png(scene))
    print = image(scene)
    assert print is not None and 90 < print.bit_count() < 166
    for source in [
        tmp_path / "hills.png",
        str(tmp_path / "hills.png"),
        png(scene),
        bytearray(png(scene)),
    ]:
        assert image(source) == print
    run = [sys.executable, "-m", "lookalike", "hash", str(tmp_path / "hills.png"), "--quiet"]
    assert hex(print)[2:] in subprocess.run(run, capture_output=True, text=True).stdout


@pytest.mark.parametrize("recipe", ["pdq", "phash", "colour", "hsv"])
def test_every_recipe_takes_every_kind_of_source(recipe: str, tmp_path: Path) -> None:
    scene = hills()
    (tmp_path / "hills.png").write_bytes(png(scene))
    preset = next(preset for preset in lookalike.image_recipes() if preset.name == recipe)
    prints = images([scene, tmp_path / "hills.png", png(scene), hills(1)], recipe)
    assert prints.shape == ((4, preset.bits // 64) if preset.bits > 64 else (4,))
    words = prints.reshape(4, -1).tolist()
    assert words[0] == words[1] == words[2] != words[3]
    assert image(scene, recipe) == sum(word << 64 * at for at, word in enumerate(words[0]))
    copies = distance(image(scene, recipe), image(scene.resize((200, 150)), recipe))
    assert copies <= preset.copy < preset.near < preset.similar


def scrambled(number: int) -> int:
    bits = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % 2**64
    return bits ^ bits >> 31


def waves(seed: int, width: int, height: int, channels: int) -> Image.Image:
    """The images of ``vectors/images.tsv``: sums of triangle waves."""
    ys, xs = numpy.mgrid[0:height, 0:width]
    planes = numpy.zeros((height, width, channels), dtype=numpy.int64)
    for channel in range(channels):
        for wave in range(60):
            bits = scrambled(seed * 1000 + channel * 100 + wave)
            place = xs * ((bits & 7) * 1024) // width + (bits >> 16 & 1023)
            place += ys * (((bits >> 8 & 15) - 8) * 1024) // height
            planes[..., channel] += (bits >> 32 & 31) * (abs(place % 1024 - 512) - 256)
    pixels = numpy.clip(128 + planes // 512, 0, 255).astype(numpy.uint8)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels)


#: How many bits may differ from what computes with other floats.
NEAR_ENOUGH = {"pdqhash": 2, "imagehash": 6, "make_images.py": 0}


@pytest.mark.parametrize("line", vectors("images.tsv"), ids=lambda line: "-".join(line[:5]))
def test_images_have_the_fingerprints_of_images_tsv(line: list[str]) -> None:
    *shape, recipe, expected, source = line
    print = image(waves(*map(int, shape)), recipe)
    assert distance(print, int(expected, 16)) <= NEAR_ENOUGH[source]


def test_copies_are_near_and_others_far() -> None:
    scene = hills()
    small = scene.resize((160, 120))
    rough = io.BytesIO()
    scene.save(rough, "JPEG", quality=30)
    for copy in [small, rough.getvalue(), scene.convert("L"), scene.convert("RGBA")]:
        assert distance(image(scene), image(copy)) <= 31
    assert distance(image(scene), image(hills(1))) > 72


def test_an_image_is_seen_as_a_viewer_shows_it() -> None:
    scene = hills()
    turned = scene.transpose(Image.Transpose.ROTATE_90)
    exif = turned.getexif()
    exif[0x0112] = 6
    data = io.BytesIO()
    turned.save(data, "PNG", exif=exif)
    assert distance(image(scene), image(Image.open(io.BytesIO(data.getvalue())))) <= 4
    assert distance(image(scene), image(data.getvalue())) <= 4


def test_masks_images_that_cannot_be_read(tmp_path: Path) -> None:
    flat = Image.new("RGB", (300, 300), "blue")
    sources = [hills(), tmp_path / "none.png", flat, b"<html>", png(hills())]
    with pytest.warns(
        UserWarning, match=r"2 images cannot be read: 1: .*none.png: .*; 3: not an image"
    ):
        prints = images(sources)
    assert prints.shape == (5, 4)
    assert prints.mask.any(axis=1).tolist() == [False, True, True, True, False]
    assert lookalike.find_all(prints, 31)[:, :2].tolist() == [[0, 4]]
    with pytest.raises(errors.ImageError, match="not an image"):
        images([b"<html>"], strict=True)
    with pytest.raises(errors.ImageError, match="not an image"):
        image(b"<html>")
    with pytest.raises(errors.RecipeError, match="did you mean pdq"):
        image(hills(), recipe="pdp")
    with pytest.raises(TypeError, match="a path, bytes or a PIL image, not"):
        image(3.5)
    with pytest.raises(TypeError, match="expected a list of images"):
        images("holiday.jpg")
    assert images([]).shape == (0, 4)


def test_a_folder_of_images_is_deduplicated(tmp_path: Path) -> None:
    hills().save(tmp_path / "a.png")
    hills(1).save(tmp_path / "b.png")
    hills().resize((200, 150)).save(tmp_path / "c.jpg")
    result = lookalike.dedup(tmp_path)
    assert [Path(str(id)).name for id in result.kept] == ["a.png", "b.png"]
    assert result.groups[0].members[0].distance <= 31


def test_turned_and_cropped_images_are_found_when_asked_for(tmp_path: Path) -> None:
    scene = hills().resize((640, 480))
    scene.save(tmp_path / "a.png")
    scene.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "b.png")
    scene.crop((80, 60, 600, 450)).save(tmp_path / "c.png")

    def removed(**options: Any) -> list[str]:
        result = lookalike.dedup(tmp_path, cache="none", **options)
        return [Path(str(id)).name for id in result.removed]

    assert removed() == []
    assert removed(orientations=True) == ["b.png"]
    # Parts of other images are listed, but removed only on request.
    assert removed(match="partial") == ["b.png"]
    assert removed(match="partial", level="part") == ["b.png", "c.png"]
    assert "c.png" in removed(recipe="colour", level="similar")
    with pytest.raises(errors.InputError, match="only texts; the input holds images"):
        removed(tokenizer=str.split)
