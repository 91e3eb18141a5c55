"""Find near-duplicates: everything within a radius, missing nothing.

>>> import lookalike
>>> texts = [
...     "The ferry to the island leaves at nine in the morning from the north end.",
...     "Boil the potatoes in their skins, let them cool, and slice them thin.",
...     "The ferry to the island leaves at ten in the morning, from the north end!",
... ]
>>> lookalike.dedup(texts).kept
[0, 1]

Start with :func:`dedup` for texts, rows, tables and files. Use :func:`fingerprints`,
:func:`find_all` and :class:`Index` as building blocks. :mod:`lookalike.compat` has drop-in modules
for two SimHash packages. NumPy and Arrow are used if installed, but not required. docs/python.md has
the full documentation.
"""

from importlib.metadata import version as _version

from . import errors
from ._collection import Added, Collection, CollectionMatch, StoredItem
from ._dedup import AlikePair, Dedup, Group, Member, dedup, report
from ._images import ImagePreset, image, image_recipes, images
from ._index import Index, Match
from ._prints import distance, find_all
from ._recipe import Model, Preset, Recipe, fingerprints, recipes, simhash
from .errors import LookalikeError

__version__ = _version("lookalike")

__all__ = [
    "Added",
    "AlikePair",
    "Collection",
    "CollectionMatch",
    "Dedup",
    "Group",
    "ImagePreset",
    "Index",
    "LookalikeError",
    "Match",
    "Member",
    "Model",
    "Preset",
    "Recipe",
    "StoredItem",
    "__version__",
    "dedup",
    "distance",
    "errors",
    "find_all",
    "fingerprints",
    "image",
    "image_recipes",
    "images",
    "recipes",
    "report",
    "simhash",
]
