"""Durable collections: have I seen this before?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, TypeAlias

from . import _native
from ._recipe import Recipe, recipe_of
from .errors import CollectionError

#: A text, or a fingerprint.
Seen: TypeAlias = str | int


class CollectionMatch(NamedTuple):
    """An item near a query."""

    id: str
    #: The bits in which it differs from the query.
    distance: int


class StoredItem(NamedTuple):
    """An item as it is stored."""

    id: str
    fingerprint: int
    #: What was to be remembered with it.
    payload: Any
    inserted: datetime


class Collection:
    """A folder that remembers items by their fingerprints: durable, searchable, exact.

    It is opened if it is there, and made if not: of texts by a ``recipe`` (``words``, if nothing is
    said), or with ``recipe=None`` and ``bits`` of fingerprints that you make. ``distance`` is the
    widest that can be searched. What was stored survives whatever happens to the process.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/seen"
    >>> with Collection(folder) as seen:
    ...     seen.insert("a", "The ferry to the island leaves at nine.", payload={"page": 7})
    ...     [match.id for match in seen.search("The ferry to the island leaves at NINE!")]
    True
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
            usual = 3 if made is None else made.distance
            self._native = _native.Collection.create(
                path,
                None if made is None else made._native,
                64 if bits is None else bits,
                usual if distance is None else distance,
            )
        #: The bits of a fingerprint, the widest distance, how fingerprints are made.
        self.bits, self.distance, self.maker = self._native.about()
        self.path = os.fspath(path)
        if bits is not None and bits != self.bits:
            self._refuse(f"holds fingerprints of {self.bits} bits, not {bits}")
        if distance is not None and distance > self.distance:
            self._refuse(f"can be searched up to a distance of {self.distance}, not {distance}")

    def _refuse(self, why: str) -> NoReturn:
        self.close()
        raise CollectionError(f"{self.path} {why}; leave it out, or make another collection")

    def insert(self, id: str, item: Seen, payload: Any = None) -> bool:
        """Store an item, unless one of its id is there; say whether it was stored.

        ``payload`` is anything JSON can hold. A text without features has no fingerprint, and is
        not stored.
        """
        return self.insert_many([(id, item, payload)])[0]

    def insert_many(self, items: Iterable[tuple[Any, ...]]) -> list[bool]:
        """Store items ``(id, item)`` or ``(id, item, payload)``, all in one step, or none."""
        return [stored for stored, _ in self._native.insert(_given(items))]

    def upsert(self, id: str, item: Seen, payload: Any = None) -> bool:
        """Store an item, in place of the one of its id if there is any."""
        return self.upsert_many([(id, item, payload)])[0]

    def upsert_many(self, items: Iterable[tuple[Any, ...]]) -> list[bool]:
        """The same for many, all in one step, or none."""
        return [stored for stored, _ in self._native.upsert(_given(items))]

    def check_and_insert(
        self, id: str, item: Seen, payload: Any = None, *, distance: int | None = None
    ) -> list[CollectionMatch]:
        """Store an item if nothing is near it; else say what is. Nobody can come between."""
        within = self.distance if distance is None else distance
        ((_, near),) = self._native.check_and_insert(_given([(id, item, payload)]), within)
        return [CollectionMatch(*found) for found in near]

    def remove(self, id: str) -> bool:
        """Remove an item; say whether it was there."""
        return self._native.remove([id])[0]

    def search(
        self, item: Seen, distance: int | None = None, limit: int = 100
    ) -> list[CollectionMatch]:
        """What is near a text or a fingerprint: nearest first, at most ``limit``."""
        return self.search_many([item], distance, limit)[0]

    def search_many(
        self,
        items: Iterable[Seen | None],
        distance: int | None = None,
        limit: int = 100,
        *,
        threads: int | None = None,
    ) -> list[list[CollectionMatch]]:
        """The same for many, in parallel."""
        within = self.distance if distance is None else distance
        found = self._native.search(list(items), within, limit, threads)
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
        return f"<Collection {self.path}: {self.maker}, distance up to {self.distance}>"


def _given(items: Iterable[tuple[Any, ...]]) -> list[tuple[str, Any, str | None]]:
    given = []
    for id, item, *rest in items:
        payload = rest[0] if rest else None
        text = None if payload is None else json.dumps(payload, ensure_ascii=False)
        given.append((id, item, text))
    return given
