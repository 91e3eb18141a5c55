"""Recipes: the settings that decide the bits of a fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import _native
from ._arrays import installed, prints_from
from .errors import RecipeError

if TYPE_CHECKING:
    from ._arrays import Prints

#: A feature: a text, bytes, or an int that is already a hash.
Feature: TypeAlias = str | bytes | int
#: The features of an item, with or without weights.
Features: TypeAlias = Mapping[Any, float] | Iterable[Feature | tuple[Feature, float]]
#: Hashes the bytes of a feature; the lowest 64 bits are used.
Hash: TypeAlias = Callable[[bytes], int]
#: Splits a text into tokens.
Tokenizer: TypeAlias = Callable[[str], Iterable[str]]
#: Extracts the features of an item.
Extractor: TypeAlias = Callable[[Any], Features]


class Model:
    """The rarity of features in common texts, for recipes with ``tfidf`` weights.

    >>> model = Model.learn(["the cat sat", "the dog sat", "the end"], recipe="words")
    >>> model.texts
    3
    >>> simhash("the cat", recipe="words", weights="tfidf", model=model) is not None
    True
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Model) -> None:
        self._native = native

    @classmethod
    def learn(
        cls, texts: Iterable[str], recipe: str | Recipe = "keywords", **changes: Any
    ) -> Model:
        """Learn from a sample of texts. The model fits the features and the hash of the recipe."""
        chosen = recipe_of(recipe, changes)
        if chosen._own:
            raise RecipeError("a model supports only built-in features, not custom functions")
        known = (text for text in objects_of(texts) if not _native.is_missing(text))
        return cls(_native.Model.learn(known, chosen._native))

    @classmethod
    def open(cls, path: Any) -> Model:
        """Read a file written by :meth:`save` or ``lookalike recipes learn``."""
        return cls(_native.Model.open(path))

    def save(self, path: Any) -> None:
        """Write a file, for :meth:`open` and for ``--model`` on the command line."""
        self._native.save(path)

    @property
    def texts(self) -> int:
        """The number of texts it was learned from."""
        return self._native.texts

    @property
    def features(self) -> str:
        """Its features and hash, such as ``words:1, mix``."""
        return self._native.features

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return self._native.to_bytes() == other._native.to_bytes()

    def __hash__(self) -> int:
        return hash((self.texts, self.features))

    def __repr__(self) -> str:
        return f"<Model of {self.features}, from {self.texts} texts>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _model_from_bytes, (self._native.to_bytes(),)


def _model_from_bytes(data: bytes) -> Model:
    return Model(_native.Model.from_bytes(data))


class Recipe:
    """Everything that decides the bits: a preset with changes.

    >>> Recipe("words")
    Recipe(words: words:1, log, mix, 128 bits, version 1)
    >>> Recipe("words", features="chars:4", bits=64)
    Recipe(own: chars:4, log, mix, 64 bits, version 1)

    ``features`` is ``words:N``, ``chars:N``, ``bytes:N``, ``code:N``, ``blind:N`` or
    ``dictionary:N``; ``weights`` is ``set``, ``tf``, ``log`` or ``tfidf`` (needs a ``model``);
    ``hash`` is ``mix``, ``xxh3``, ``murmur3-64``, ``murmur3-128``, ``jenkins``, ``md5-first8`` or
    ``md5-last8``; ``bits`` is 32, 64, 128 or 256; ``top`` is the maximum number of features, 0 for
    all; ``stop_words`` are languages (``"en,zh"``), a list of words, or ``"none"``.

    Three settings can be custom functions. They run for one text after another, not in parallel:

    - ``hash`` takes the bytes of a feature and returns an int, whose lowest 64 bits are used.
    - ``tokenizer`` takes a text and returns its tokens; runs of tokens are the features, as usual.
    - ``extractor`` takes any item and returns its features: a dict of weights, a list of
      ``(feature, weight)``, or a list of features.

    >>> Recipe("bare", tokenizer=str.split).simhash("a b c") == simhash("a b c", recipe="bare")
    True
    """

    __slots__ = ("_choices", "_hash", "_native", "extractor", "model", "tokenizer")

    def __init__(
        self,
        name: str = "words",
        *,
        features: str | None = None,
        stop_words: str | Iterable[str] | None = None,
        weights: str | None = None,
        model: Model | None = None,
        top: int | None = None,
        hash: str | Hash | None = None,
        seed: int | None = None,
        bits: int | None = None,
        tokenizer: Tokenizer | None = None,
        extractor: Extractor | None = None,
    ) -> None:
        if stop_words is not None and not isinstance(stop_words, str):
            stop_words = list(stop_words)
        self._choices: dict[str, Any] = {
            "features": features,
            "stop_words": stop_words,
            "weights": weights,
            "model": model,
            "top": top,
            "hash": hash,
            "seed": seed,
            "bits": bits,
            "tokenizer": tokenizer,
            "extractor": extractor,
            "name": name,
        }
        self._hash = hash if callable(hash) else None
        self.model = model
        self.tokenizer = tokenizer
        self.extractor = extractor
        self._native = _native.Recipe(
            name,
            features=features,
            stop_words=stop_words if isinstance(stop_words, str) else None,
            own_words="\n".join(stop_words) if isinstance(stop_words, list) else None,
            weights=weights,
            model=model._native if model else None,
            top=top,
            hash=hash if isinstance(hash, str) else None,
            seed=seed,
            bits=bits,
        )

    @property
    def name(self) -> str:
        """The name of the preset, or ``own`` if anything was changed."""
        return "own" if self._own else self._native.name

    @property
    def features(self) -> str:
        """The features of a text."""
        return self._native.features

    @property
    def weights(self) -> str:
        """The weighting of features."""
        return self._native.weights

    @property
    def hash(self) -> str | Hash:
        """The hash of features: a name or a custom function."""
        return self._hash or self._native.hash

    @property
    def seed(self) -> int:
        """The seed of the hash."""
        return self._native.seed

    @property
    def bits(self) -> int:
        """The number of bits of a fingerprint."""
        return self._native.bits

    @property
    def top(self) -> int | None:
        """The maximum number of features; ``None`` for all."""
        return self._native.top

    @property
    def version(self) -> int:
        """Incremented whenever the same settings give other bits."""
        return self._native.version

    @property
    def distance(self) -> int:
        """The maximum distance of matching texts."""
        return self._native.distance

    @property
    def _own(self) -> tuple[Hash | None, Tokenizer | None, Extractor | None] | None:
        """The custom hash, tokenizer and extractor; ``None`` if there is none."""
        own = (self._hash, self.tokenizer, self.extractor)
        return None if own == (None, None, None) else own

    def replace(self, **changes: Any) -> Recipe:
        """The same recipe with these changes."""
        refuse_unknown(changes, self._choices, "a recipe has no")
        return Recipe(**(self._choices | changes))

    def simhash(self, item: Any) -> int | None:
        """The fingerprint of one item; see :func:`simhash`."""
        return self._native.simhash(item, self._own)

    def fingerprints(self, items: Any, threads: int | None = None) -> Prints:
        """The fingerprints of many items; see :func:`fingerprints`."""
        if isinstance(items, str):
            raise TypeError("expected a list of texts; for one text, use simhash(text)")
        if isinstance(items, Mapping):
            raise TypeError("expected a list of items; for one dict, use simhash(features)")
        items = column_of(items) if self._own is None else objects_of(items)
        return prints_from(*self._native.fingerprints(items, self._own, threads), self.bits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recipe):
            return NotImplemented
        return (self._native, self._own) == (other._native, other._own)

    def __hash__(self) -> int:
        return hash((str(self), self._own))

    def __str__(self) -> str:
        named = {"hash": self._hash, "tokenizer": self.tokenizer, "extractor": self.extractor}
        own = [f"own {name}" for name, function in named.items() if function]
        return ", ".join([self._native.text, *own])

    def __repr__(self) -> str:
        return f"Recipe({self})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _recipe_from, (self._choices,)


def _recipe_from(choices: dict[str, Any]) -> Recipe:
    return Recipe(**choices)


def recipe_of(recipe: str | Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with changes."""
    if isinstance(recipe, str):
        recipe = _preset(recipe)
    elif not isinstance(recipe, Recipe):
        raise TypeError(f"a recipe must be a name or a Recipe, not {type(recipe).__name__}")
    return recipe.replace(**changes) if changes else recipe


def refuse_unknown(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise an error for unknown names, with a suggestion."""
    names = list(known)
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TypeError(f"{what} {name}{hint}")


@lru_cache(maxsize=32)
def _preset(name: str) -> Recipe:
    return Recipe(name)


def column_of(items: Any) -> Any:
    """A column for the native module: Arrow data or an iterable."""
    library = type(items).__module__.partition(".")[0]
    if library in ("pandas", "polars") and hasattr(items, "columns"):
        raise TypeError("expected a column, not a table; pass one of its columns")
    if library == "numpy":
        return items.tolist()
    if library == "pandas" and not _is_arrow_series(items):
        return items.tolist()
    if library == "polars" and is_all_null(items):
        return items.to_list()
    return items


def _is_arrow_series(series: Any) -> bool:
    """Whether pandas can export this as Arrow data, for which it needs pyarrow."""
    if series.dtype == object or not hasattr(series, "__arrow_c_stream__"):
        return False
    return installed("pyarrow") is not None


def is_all_null(series: Any) -> bool:
    """Whether polars knows no type; such a column cannot be exported as Arrow data."""
    return str(series.dtype) == "Null"


def objects_of(items: Any) -> Iterable[Any]:
    """The items as Python objects, one after another."""
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(items, way):
            listed: Iterable[Any] = getattr(items, way)()
            return listed
    if not hasattr(items, "__iter__"):
        raise TypeError(f"expected a list, a column or a table, not {type(items).__name__}")
    untouched: Iterable[Any] = iter(items)
    return untouched


def simhash(item: str | Features, recipe: str | Recipe = "words", **changes: Any) -> int | None:
    """The fingerprint of a text or of features; ``None`` if it has no features.

    >>> hex(simhash("to be or not to be", recipe="simhash64"))
    '0x247801a025ad981'
    >>> simhash("...") is None
    True

    Features are a dict of weights, a list of ``(feature, weight)``, or a list of features with weight
    1. A feature is a str, bytes, or an int that is already a hash.

    >>> soup = simhash({"water": 5, "salt": 1, "carrot": 3, "leek": 3})
    >>> more = simhash([("water", 5), ("carrot", 3), ("leek", 3)])
    >>> cake = simhash(["flour", "sugar", "butter"])
    >>> distance(soup, more) < distance(soup, cake)
    True
    >>> hex(simhash([0xABCD, 0xBCDE, 0xCDEF], bits=64))
    '0xadcf'

    ``changes`` are arguments of :class:`Recipe`: ``simhash(text, features="chars:4", bits=64)``.
    """
    return recipe_of(recipe, changes).simhash(item)


def fingerprints(
    items: Any, recipe: str | Recipe = "words", *, threads: int | None = None, **changes: Any
) -> Prints:
    """The fingerprints of many texts, in parallel.

    ``items`` is a list, a generator, a NumPy array, an Arrow array, or a column of pandas or polars,
    with texts or with features as in :func:`simhash`. The result is a masked array of 64-bit words
    with the shape (n,) or (n, words), least significant word first. Items without features are
    masked, so they match nothing, not even each other.

    >>> prints = fingerprints(["to be or not to be", "", "to be, or NOT to be"], recipe="simhash64")
    >>> prints.shape, prints.mask.tolist()
    ((3,), [False, True, False])
    >>> int(prints[2]) == simhash("to be or not to be", recipe="simhash64")
    True
    >>> fingerprints(["two words", "of 64 bits each"]).shape
    (2, 2)

    Without NumPy the result is a list of ints, with ``None`` for a missing fingerprint.
    """
    return recipe_of(recipe, changes).fingerprints(items, threads)


class Preset(NamedTuple):
    """A built-in recipe."""

    name: str
    bits: int
    #: The maximum distance of matching texts.
    distance: int
    features: str
    weights: str
    #: The verification of candidates; ``None`` if the distance decides alone.
    verify: str | None
    #: Precision, recall and F1 on labelled texts, if measured.
    quality: tuple[float, float, float] | None
    description: str


def recipes() -> list[Preset]:
    """The presets, the default first.

    >>> [preset.name for preset in recipes()][:3]
    ['words', 'bare', 'simhash64']
    """
    return [Preset(*preset) for preset in _native.presets()]
