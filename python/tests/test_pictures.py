"""Pictures as files, bytes and PIL images: the same fingerprints."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import lookalike
import numpy
import pytest
from lookalike import distance, errors, picture, pictures
from PIL import Image


def hills(seed: int = 0) -> Image.Image:
    """Noise of every size, the larger the stronger, as in nature; in colour."""
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


def test_a_picture_is_a_path_bytes_or_an_image(tmp_path: Path) -> None:
    image = hills()
    (tmp_path / "hills.png").write_bytes(png(image))
    print = picture(image)
    assert print is not None and 90 < print.bit_count() < 166
    for source in [
        tmp_path / "hills.png",
        str(tmp_path / "hills.png"),
        png(image),
        bytearray(png(image)),
    ]:
        assert picture(source) == print
    run = [sys.executable, "-m", "lookalike", "hash", str(tmp_path / "hills.png"), "--quiet"]
    assert hex(print)[2:] in subprocess.run(run, capture_output=True, text=True).stdout


def test_copies_are_near_and_others_far() -> None:
    image = hills()
    small = image.resize((160, 120))
    rough = io.BytesIO()
    image.save(rough, "JPEG", quality=30)
    for copy in [small, rough.getvalue(), image.convert("L"), image.convert("RGBA")]:
        assert distance(picture(image), picture(copy)) <= 31
    assert distance(picture(image), picture(hills(1))) > 72


def test_an_image_is_seen_as_a_viewer_shows_it() -> None:
    image = hills()
    turned = image.transpose(Image.Transpose.ROTATE_90)
    exif = turned.getexif()
    exif[0x0112] = 6
    data = io.BytesIO()
    turned.save(data, "PNG", exif=exif)
    assert distance(picture(image), picture(Image.open(io.BytesIO(data.getvalue())))) <= 4
    assert distance(picture(image), picture(data.getvalue())) <= 4


def test_many_at_once_with_what_cannot_be_read_masked(tmp_path: Path) -> None:
    flat = Image.new("RGB", (300, 300), "blue")
    sources = [hills(), tmp_path / "none.png", flat, b"<html>", png(hills())]
    with pytest.warns(
        UserWarning, match=r"2 pictures cannot be read: 1: .*none.png: .*; 3: not a picture"
    ):
        prints = pictures(sources)
    assert prints.shape == (5, 4)
    assert prints.mask.any(axis=1).tolist() == [False, True, True, True, False]
    assert lookalike.find_all(prints, 31)[:, :2].tolist() == [[0, 4]]
    with pytest.raises(errors.PictureError, match="not a picture"):
        pictures([b"<html>"], strict=True)
    with pytest.raises(errors.PictureError, match="not a picture"):
        picture(b"<html>")
    with pytest.raises(errors.RecipeError, match="did you mean pdq"):
        picture(hills(), recipe="pdp")
    with pytest.raises(TypeError, match="a path, bytes or a PIL image, not"):
        picture(3.5)
    assert pictures([]).shape == (0, 4)


def test_a_folder_of_pictures_is_deduplicated(tmp_path: Path) -> None:
    hills().save(tmp_path / "a.png")
    hills(1).save(tmp_path / "b.png")
    hills().resize((200, 150)).save(tmp_path / "c.jpg")
    result = lookalike.dedup(tmp_path)
    assert [Path(str(id)).name for id in result.kept] == ["a.png", "b.png"]
    assert result.groups[0].members[0].distance <= 31
