"""Durable collections: have I seen this before?"""

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

#: What may become of an item that is to be stored.
Status: TypeAlias = Literal["added", "replaced", "present", "conflict", "near", "unfit"]

#: How alike two items are, in words.
Level: TypeAlias = Literal["copy", "near", "similar", "part"]


class CollectionMatch(NamedTuple):
    """An item that is alike a query."""

    id: str
    #: The bits in which the fingerprints of the two differ, where both have one.
    distance: int | None
    #: How similar the two are, from 0 to 1; ``None`` where only fingerprints are compared.
    similarity: float | None = None
    #: How alike the two are, in words.
    level: Level | None = None


class Added(NamedTuple):
    """What became of an item that was to be stored; true if it is stored now."""

    #: Its id; one that came without has an id made of its content.
    id: str
    #: ``added``, ``replaced``; ``present`` if the same item is there already, ``conflict`` if its id
    #: is taken by another one, ``near`` if something alike is there, ``unfit`` if it cannot be
    #: stored: it has no fingerprint, say.
    status: Status
    #: What is near, if that is why it was not stored.
    matches: list[CollectionMatch]
    #: Why it was not stored, if it is ``conflict`` or ``unfit``.
    reason: str | None

    def __bool__(self) -> bool:
        return self.status in ("added", "replaced")


class StoredItem(NamedTuple):
    """An item as it is stored."""

    id: str
    #: ``None`` if it has none: a text without words, say.
    fingerprint: int | None
    #: What was to be remembered with it.
    payload: Any
    inserted: datetime


class Collection:
    """A folder that remembers items by their digests: durable, searchable, exact.

    It is opened if it is there, and made if not: of texts by a ``recipe`` (``words``, if nothing is
    said), or with ``recipe=None`` and ``bits`` of fingerprints that you make. Texts are compared as
    ``pairs`` compares them. ``distance`` is the widest that can be searched, where fingerprints
    decide. What was stored survives whatever happens to the process.

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

    One process can have it open to change it, several to read it. Close it, or use ``with``.
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
                raise ValueError(
                    "a collection remembers its recipe; functions cannot be remembered"
                )
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
        #: The bits of a fingerprint, the widest distance if there is one, how items are taken apart.
        self.bits, self.distance, self.maker = self._native.about()
        self.path = os.fspath(path)
        if bits is not None and bits != self.bits:
            self._refuse(f"holds fingerprints of {self.bits} bits, not {bits}")
        if distance is not None and self.distance is not None and distance > self.distance:
            self._refuse(f"can be searched up to a distance of {self.distance}, not {distance}")

    def _refuse(self, why: str) -> NoReturn:
        self.close()
        raise CollectionError(f"{self.path} {why}; leave it out, or make another collection")

    def insert(self, id: str | None, item: Seen | None, payload: Any = None) -> Added:
        """Store an item, unless one of its id is there; say what became of it.

        With ``None`` for an id it goes by its content: equal content is stored once. ``payload`` is
        anything JSON can hold. A text without features has no fingerprint, and is not stored:

        >>> import tempfile
        >>> with Collection(tempfile.mkdtemp() + "/seen") as seen:
        ...     texts = [("a", "one text"), ("a", "one text"), ("a", "two"), ("b", " ")]
        ...     [added.status for added in seen.insert_many(texts)]
        ['added', 'present', 'conflict', 'unfit']
        """
        return self.insert_many([(id, item, payload)])[0]

    def insert_many(self, items: Iterable[tuple[Any, ...]]) -> list[Added]:
        """Store items ``(id, item)`` or ``(id, item, payload)``, in one step.

        An item that cannot be stored does not stop the others.
        """
        return _added(self._native.insert(_given(items)))

    def upsert(self, id: str | None, item: Seen | None, payload: Any = None) -> Added:
        """Store an item, in place of the one of its id if there is any."""
        return self.upsert_many([(id, item, payload)])[0]

    def upsert_many(self, items: Iterable[tuple[Any, ...]]) -> list[Added]:
        """The same for many, in one step."""
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
        """Store an item if nothing is alike it; else say what is. The check and the insertion are atomic.

        An empty list means that it is stored. If the same item is there under its id, it is the
        match. If the id is taken by another item, or the item has no fingerprint,
        :class:`~lookalike.errors.CollectionError` says so.
        """
        added = self.check_and_insert_many(
            [(id, item, payload)], distance=distance, similarity=similarity, level=level
        )[0]
        if added.reason is not None:
            raise CollectionError(f"{added.id}: {added.reason}; it is not stored")
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
        """The same for many, one after the other, in one step; say of each what became of it."""
        within = (distance, similarity, level)
        return _added(self._native.check_and_insert(_given(items), within))

    def remove(self, id: str) -> bool:
        """Remove an item; say whether it was there."""
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
        """What is alike a text or a fingerprint: closest first, at most ``limit``."""
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
        """The same for many, in parallel."""
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
        """Make searches faster after many changes, and give free space back."""
        self._native.compact()

    def verify(self) -> None:
        """Compare everything with its checksum; raises if anything is damaged."""
        self._native.verify()

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy it, as it is now, to a folder that is not there."""
        self._native.backup(path)

    def close(self) -> None:
        """Let others open it."""
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
