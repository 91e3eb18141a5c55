"""The exceptions. All of them are a :class:`LookalikeError`.

Errors about a value are also a :class:`ValueError`.
"""

__all__ = [
    "CollectionError",
    "ExtractError",
    "FingerprintError",
    "HashError",
    "ImageError",
    "InputError",
    "LookalikeError",
    "ModelError",
    "OptionError",
    "PairsError",
    "RecipeError",
    "RemovalError",
    "SearchError",
    "StopWordsError",
    "WeightError",
]


class LookalikeError(Exception):
    """The base class of all exceptions of lookalike."""


class CollectionError(LookalikeError):
    """A collection cannot be opened, changed or searched."""


class ExtractError(LookalikeError, ValueError):
    """Unknown features, such as ``features="wrods:2"``."""


class FingerprintError(LookalikeError, ValueError):
    """A number is not a fingerprint of this width, or the width is invalid."""


class HashError(LookalikeError, ValueError):
    """Unknown hash, or the hash does not accept the seed."""


class InputError(LookalikeError, ValueError):
    """Files or rows cannot be read, or results cannot be written."""


class ModelError(LookalikeError):
    """A corpus model cannot be read or written."""


class OptionError(LookalikeError, ValueError):
    """An option has an invalid value, or cannot be combined with another option."""


class PairsError(LookalikeError, ValueError):
    """Invalid options for a search of pairs."""


class ImageError(LookalikeError, ValueError):
    """A file is not an image, or cannot be read."""


class RecipeError(LookalikeError, ValueError):
    """Unknown recipe, or invalid combination of its settings."""


class RemovalError(LookalikeError):
    """More would be removed than ``max_remove`` allows."""


class SearchError(LookalikeError):
    """An index cannot be searched, read or written."""


class StopWordsError(LookalikeError, ValueError):
    """No stop words for this language."""


class WeightError(LookalikeError, ValueError):
    """A weight is not a finite number."""
