"""Images: what do they look like, in bits?"""

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
    """A recipe for images that comes with lookalike."""

    name: str
    bits: int
    #: Within how many bits two images are copies, near, similar.
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


#: A file, the bytes of one, or a PIL image.
Image: TypeAlias = str | os.PathLike[str] | bytes | bytearray | Any


def image(source: Image, recipe: str = "pdq") -> int | None:
    """The fingerprint of an image; ``None`` if there is too little to see in it.

    ``source`` is a path, the bytes of a file, or a PIL image. JPEG, PNG, WebP, GIF, BMP and TIFF are
    read, and turned as their EXIF data say. By ``pdq``, copies are within 31 of 256 bits, near
    images within 48; :func:`image_recipes` lists the others.

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
    """The fingerprints of many images, in parallel: an array as :func:`fingerprints` makes it.

    Masked are images with too little to see, and those that cannot be read. The latter are told by
    a warning; ``strict=True`` raises at the first.

    >>> from PIL import Image
    >>> photo = Image.effect_noise((32, 32), 100).resize((300, 300))
    >>> prints = images([photo, Image.new("L", (300, 300)), photo.resize((200, 200))])
    >>> prints.shape, find_all(prints, 31)[:, :2].tolist()
    ((3, 4), [[0, 2]])
    """
    if isinstance(sources, str | os.PathLike | bytes):
        raise TypeError("one image is no list of images; use image(source)")
    words, empty, failed = _native.images(map(_source_of, sources), recipe, threads)
    if failed and strict:
        raise ImageError(failed[0][1])
    if failed:
        shown = "; ".join(f"{at}: {why}" for at, why in failed[:5])
        more = f"; and {len(failed) - 5} more" if len(failed) > 5 else ""
        warnings.warn(f"{len(failed)} images cannot be read: {shown}{more}", stacklevel=2)
    bits = next(preset.bits for preset in image_recipes() if preset.name == recipe)
    return prints_from(words, empty, bits)


def _source_of(source: Any) -> Any:
    """A PIL image as its pixels, as a viewer shows it; anything else as it is."""
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
