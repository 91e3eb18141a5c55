"""Durable, searchable collections."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

from . import _native
from ._arrays import is_empty
from ._recipe import Recipe, recipe_of
from .errors import CollectionError

#: A text, or a fingerprint.
Seen: TypeAlias = str | int

#: The result of storing an item.
Status: TypeAlias = Literal["added", "replaced", "present", "conflict", "near", "unfit"]

#: How similar two items are.
Level: TypeAlias = Literal["copy", "near", "similar", "part"]


class CollectionMatch(NamedTuple):
    """An item that matches a query."""

    id: str
    #: The number of bits in which the fingerprints differ, if both have one.
    distance: int | None
    #: From 0 to 1; ``None`` if only fingerprints are compared.
    similarity: float | None = None
    #: The level of the match.
    level: Level | None = None


class Added(NamedTuple):
    """The result of storing an item; true if the item was stored."""

    #: Its id; made from the content if none was given.
    id: str
    #: ``added`` or ``replaced``; ``present`` if the same item exists, ``conflict`` if another item
    #: has its id, ``near`` if a similar item exists, ``unfit`` if it cannot be stored, for example
    #: because it has no fingerprint.
    status: Status
    #: The similar items, if the status is ``near``.
    matches: list[CollectionMatch]
    #: Why it was not stored, if the status is ``conflict`` or ``unfit``.
    reason: str | None

    def __bool__(self) -> bool:
        return self.status in ("added", "replaced")


class StoredItem(NamedTuple):
    """A stored item."""

    id: str
    #: ``None`` if it has none, such as a text without words.
    fingerprint: int | None
    #: The data stored with it.
    payload: Any
    inserted: datetime


class Collection:
    """A durable folder of digests with exact search.

    An existing collection is opened; otherwise a new one is created: for texts with a ``recipe``
    (``words`` by default), or for your own fingerprints with ``recipe=None`` and ``bits``. Texts are
    compared as in ``pairs``. ``distance`` is the maximum distance of a search where fingerprints
    decide. Stored items survive a crash of the process.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/seen"
    >>> with Collection(folder) as seen:
    ...     seen.insert("a", "The ferry to the island leaves at nine.", payload={"page": 7}).status
    ...     [match.id for match in seen.search("The ferry to the island leaves at NINE!")]
    'added'
    ['a']
    >>> seen = Collection(folder, read_only=True)
    >>> "a" in seen, len(seen), seen["a"].payload
    (True, 1, {'page': 7})
    >>> seen.close()

    One process can open it for writing, or several for reading. Close it, or use ``with``.
    """

    __slots__ = ("_native", "bits", "distance", "maker", "path")

    def __init__(
        self,
        path: str | os.PathLike[str],
        recipe: str | Recipe | None = "words",
        *,
        bits: int | None = None,
        distance: int | None = None,
        read_only: bool = False,
        **changes: Any,
    ) -> None:
        made = None
        if recipe is not None:
            made = recipe_of(recipe, changes | ({} if bits is None else {"bits": bits}))
            if made._own:
                raise ValueError("a collection stores its recipe, but functions cannot be stored")
        if read_only or _native.Collection.is_at(path):
            self._native = _native.Collection.open(path, read_only)
            is_asked = recipe != "words" or changes or bits is not None
            if made is not None and is_asked:
                self._native.check_recipe(made._native)
        else:
            self._native = _native.Collection.create(
                path,
                None if made is None else made._native,
                64 if bits is None else bits,
                distance,
            )
        #: The bits of a fingerprint, the maximum distance if there is one, and the recipe.
        self.bits, self.distance, self.maker = self._native.about()
        self.path = os.fspath(path)
        if bits is not None and bits != self.bits:
            self._refuse(f"has {self.bits}-bit fingerprints, not {bits}")
        if distance is not None and self.distance is not None and distance > self.distance:
            self._refuse(f"supports distances up to {self.distance}, not {distance}")

    def _refuse(self, why: str) -> NoReturn:
        self.close()
        raise CollectionError(f"{self.path} {why}; omit the argument or create another collection")

    def insert(self, id: str | None, item: Seen | None, payload: Any = None) -> Added:
        """Store an item, unless its id exists, and return the result.

        If the id is ``None``, it is made from the content, so equal content is stored once. ``payload``
        is any JSON value. A text without features has no fingerprint and is not stored:

        >>> import tempfile
        >>> with Collection(tempfile.mkdtemp() + "/seen") as seen:
        ...     texts = [("a", "one text"), ("a", "one text"), ("a", "two"), ("b", " ")]
        ...     [added.status for added in seen.insert_many(texts)]
        ['added', 'present', 'conflict', 'unfit']
        """
        return self.insert_many([(id, item, payload)])[0]

    def insert_many(self, items: Iterable[tuple[Any, ...]]) -> list[Added]:
        """Store items ``(id, item)`` or ``(id, item, payload)`` atomically.

        An item that cannot be stored does not stop the others.
        """
        return _added(self._native.insert(_given(items)))

    def upsert(self, id: str | None, item: Seen | None, payload: Any = None) -> Added:
        """Store an item, replacing the one with its id."""
        return self.upsert_many([(id, item, payload)])[0]

    def upsert_many(self, items: Iterable[tuple[Any, ...]]) -> list[Added]:
        """Like :meth:`upsert` for many items, atomically."""
        return _added(self._native.upsert(_given(items)))

    def check_and_insert(
        self,
        id: str | None,
        item: Seen | None,
        payload: Any = None,
        *,
        distance: int | None = None,
        similarity: float | None = None,
        level: Level | None = None,
    ) -> list[CollectionMatch]:
        """Store an item if no similar item exists; otherwise return the matches. Check and insertion
        are atomic.

        An empty list means that the item was stored. If the same item exists under its id, that item
        is the match. If another item has the id, or the item has no fingerprint, a
        :class:`~lookalike.errors.CollectionError` is raised.
        """
        added = self.check_and_insert_many(
            [(id, item, payload)], distance=distance, similarity=similarity, level=level
        )[0]
        if added.reason is not None:
            raise CollectionError(f"{added.id}: not stored: {added.reason}")
        if added.status == "present":
            return [CollectionMatch(added.id, 0)]
        return added.matches

    def check_and_insert_many(
        self,
        items: Iterable[tuple[Any, ...]],
        *,
        distance: int | None = None,
        similarity: float | None = None,
        level: Level | None = None,
    ) -> list[Added]:
        """Like :meth:`check_and_insert` for many items in order, atomically; returns each result."""
        within = (distance, similarity, level)
        return _added(self._native.check_and_insert(_given(items), within))

    def remove(self, id: str) -> bool:
        """Remove an item and return whether it existed."""
        return self._native.remove([id])[0]

    def search(
        self,
        item: Seen | None,
        distance: int | None = None,
        limit: int = 100,
        *,
        similarity: float | None = None,
        level: Level | None = None,
    ) -> list[CollectionMatch]:
        """Up to ``limit`` items that match a text or fingerprint, closest first."""
        found = self.search_many([item], distance, limit, similarity=similarity, level=level)
        return found[0]

    def search_many(
        self,
        items: Iterable[Seen | None],
        distance: int | None = None,
        limit: int = 100,
        *,
        similarity: float | None = None,
        level: Level | None = None,
        threads: int | None = None,
    ) -> list[list[CollectionMatch]]:
        """Like :meth:`search` for many items, in parallel."""
        within = (distance, similarity, level)
        queries = [None if is_empty(item) else item for item in items]
        found = self._native.search(queries, within, limit, threads)
        return [[CollectionMatch(*match) for match in matches] for matches in found]

    def __getitem__(self, id: str) -> StoredItem:
        stored = self._native.get(id)
        if stored is None:
            raise KeyError(id)
        fingerprint, payload, inserted = stored
        when = datetime.fromtimestamp(inserted / 1000, UTC)
        return StoredItem(id, fingerprint, None if payload is None else json.loads(payload), when)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._native.contains(id)

    def __iter__(self) -> Iterator[str]:
        """All ids, in order of insertion."""
        return iter(self._native.ids())

    def __len__(self) -> int:
        return self._native.count()

    def __bool__(self) -> bool:
        return True

    def compact(self) -> None:
        """Speed up searches after many changes and release unused space."""
        self._native.compact()

    def verify(self) -> None:
        """Verify all checksums; raises an error if anything is damaged."""
        self._native.verify()

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the present state to a new folder."""
        self._native.backup(path)

    def close(self) -> None:
        """Close the collection, so that other processes can open it."""
        self._native.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        widest = "" if self.distance is None else f", distance up to {self.distance}"
        return f"<Collection {self.path}: {self.maker}{widest}>"


_Close: TypeAlias = tuple[str, int | None, float | None, Level | None]


def _added(stored: Iterable[tuple[str, Status, list[_Close], str | None]]) -> list[Added]:
    return [
        Added(id, status, [CollectionMatch(*found) for found in near], reason)
        for id, status, near, reason in stored
    ]


def _given(items: Iterable[tuple[Any, ...]]) -> list[tuple[str | None, Any, str | None]]:
    given = []
    for id, item, *rest in items:
        payload = rest[0] if rest else None
        text = None if payload is None else json.dumps(payload, ensure_ascii=False)
        given.append((id, None if is_empty(item) else item, text))
    return given
