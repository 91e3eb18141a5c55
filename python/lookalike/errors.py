"""What can go wrong: one class for each kind of error, each a :class:`LookalikeError`.

Messages are those of the command line. What is wrong with a value is a :class:`ValueError`, too.
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
    """Anything that lookalike raises itself."""


class CollectionError(LookalikeError):
    """A collection cannot be opened, changed or searched like this."""


class ExtractError(LookalikeError, ValueError):
    """There are no such features: ``features="wrods:2"``."""


class FingerprintError(LookalikeError, ValueError):
    """A number is no fingerprint of this width, or there is no such width."""


class HashError(LookalikeError, ValueError):
    """There is no such hash, or it does not take the seed."""


class InputError(LookalikeError, ValueError):
    """Files or rows cannot be read, or results cannot be written."""


class ModelError(LookalikeError):
    """A corpus model cannot be read or written."""


class OptionError(LookalikeError, ValueError):
    """An option has a value it cannot have, or does not go with another one."""


class PairsError(LookalikeError, ValueError):
    """Pairs cannot be searched like this."""


class ImageError(LookalikeError, ValueError):
    """A file is no image, or it cannot be read."""


class RecipeError(LookalikeError, ValueError):
    """There is no such recipe, or its choices do not go together."""


class RemovalError(LookalikeError):
    """More would be removed than ``max_remove`` allows."""


class SearchError(LookalikeError):
    """An index cannot be searched, read or written."""


class StopWordsError(LookalikeError, ValueError):
    """There is no list of stop words for this language."""


class WeightError(LookalikeError, ValueError):
    """A weight is not a finite number."""
