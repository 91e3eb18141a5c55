"""Fingerprints of images."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import _native
from ._arrays import prints_from
from .errors import ImageError

if TYPE_CHECKING:
    from ._arrays import Prints


class ImagePreset(NamedTuple):
    """A built-in recipe for images."""

    name: str
    bits: int
    #: The maximum distance of each level.
    copy: int
    near: int
    similar: int
    description: str


def image_recipes() -> list[ImagePreset]:
    """The presets for images, the default first.

    >>> [(preset.name, preset.bits, preset.copy) for preset in image_recipes()]
    [('pdq', 256, 31), ('phash', 64, 8), ('colour', 128, 8), ('hsv', 128, 3)]
    """
    return [
        ImagePreset(name, bits, *levels, description)
        for name, bits, levels, description in _native.image_presets()
    ]


#: A path, the bytes of a file, or a PIL image.
Image: TypeAlias = str | os.PathLike[str] | bytes | bytearray | Any


def image(source: Image, recipe: str = "pdq") -> int | None:
    """The fingerprint of an image; ``None`` if the image has too little detail.

    ``source`` is a path, the bytes of a file, or a PIL image. JPEG, PNG, WebP, GIF, BMP and TIFF are
    read and rotated according to their EXIF data. With ``pdq``, copies differ in at most 31 of 256
    bits, near images in at most 48. :func:`image_recipes` lists the other recipes.

    >>> from PIL import Image
    >>> photo = Image.effect_noise((32, 32), 100).resize((300, 300))
    >>> distance(image(photo), image(photo.resize((600, 600)))) <= 31
    True
    >>> image(Image.new("L", (300, 300))) is None
    True
    """
    words, empty, failed = _native.images([_source_of(source)], recipe)
    for _, why in failed:
        raise ImageError(why)
    return None if empty[0] else int.from_bytes(words, "little")


def images(
    sources: Iterable[Image],
    recipe: str = "pdq",
    *,
    strict: bool = False,
    threads: int | None = None,
) -> Prints:
    """The fingerprints of many images, in parallel, as an array like that of :func:`fingerprints`.

    Images with too little detail are masked, and so are images that cannot be read. The latter cause
    a warning; with ``strict=True``, the first one raises an error.

    >>> from PIL import Image
    >>> photo = Image.effect_noise((32, 32), 100).resize((300, 300))
    >>> prints = images([photo, Image.new("L", (300, 300)), photo.resize((200, 200))])
    >>> prints.shape, find_all(prints, 31)[:, :2].tolist()
    ((3, 4), [[0, 2]])
    """
    if isinstance(sources, str | os.PathLike | bytes):
        raise TypeError("expected a list of images; for one image, use image(source)")
    words, empty, failed = _native.images(map(_source_of, sources), recipe, threads)
    if failed and strict:
        raise ImageError(failed[0][1])
    if failed:
        shown = "; ".join(f"{at}: {why}" for at, why in failed[:5])
        more = f"; and {len(failed) - 5} more" if len(failed) > 5 else ""
        warnings.warn(
            f"{len(failed)} image{'s' * (len(failed) > 1)} cannot be read: {shown}{more}",
            stacklevel=2,
        )
    bits = next(preset.bits for preset in image_recipes() if preset.name == recipe)
    return prints_from(words, empty, bits)


def _source_of(source: Any) -> Any:
    """The pixels of a PIL image as a viewer shows it; anything else unchanged."""
    if not hasattr(source, "tobytes") or not hasattr(source, "getexif"):
        return source
    from PIL import ImageOps

    shown = ImageOps.exif_transpose(source)
    if "transparency" in shown.info or shown.mode in ("RGBA", "LA", "PA"):
        from PIL import Image

        shown = shown.convert("RGBA")
        white = Image.new("RGBA", shown.size, "white")
        shown = Image.alpha_composite(white, shown)
    shown = shown.convert("L" if shown.mode in ("1", "L") else "RGB")
    return (*shown.size, len(shown.getbands()), shown.tobytes())
