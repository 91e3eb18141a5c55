"""Deduplication: ``lookalike dedup`` for Python."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from . import _native
from ._arrays import installed
from ._images import image_recipes
from ._recipe import Model, Recipe, is_all_null, objects_of, recipe_of, refuse_unknown
from .errors import OptionError, RemovalError

#: The id of an item: from the data, the path of its file, or the number of its row.
Id: TypeAlias = int | str

#: A file or folder.
AnyPath: TypeAlias = str | os.PathLike[str]

#: The formats of tables and archives.
Format: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "warc", "lines", "text"]

#: Text fields to try if none is named, in this order.
TEXT_FIELDS = ("text", "content", "body")

#: Numeric options. ``True`` is a number in Python, but not a valid value here.
NUMBERS = ("blocks", "distance", "max_remove", "memory", "recall", "similarity", "threads")


class Member(NamedTuple):
    """A removed item."""

    id: Id
    #: The item it was compared with: the kept one, or with ``group="connected"`` a neighbour.
    alike: Id
    distance: int | None
    #: From 0 to 1; ``None`` if only the distance decided.
    similarity: float | None


class Group(NamedTuple):
    """A kept item and its duplicates."""

    #: The kept item.
    keep: Id
    members: list[Member]


class AlikePair(NamedTuple):
    """Two matching items."""

    a: Id
    b: Id
    distance: int | None
    similarity: float | None


class Dedup:
    """The result of :func:`dedup`."""

    def __init__(self, answer: _native.Answer, data: Any) -> None:
        self._answer = answer
        self._data = data
        #: The figures of the run, as printed by the command line with ``--json``.
        self.summary: dict[str, Any] = json.loads(answer.summary)
        #: A message for each record that could not be read: the first 20, and the number of others.
        self.skipped: list[str] = answer.skipped

    @cached_property
    def groups(self) -> list[Group]:
        """The groups, in the order of their kept items."""
        return [
            Group(keep, [Member(*member) for member in members])
            for keep, members in self._answer.groups()
        ]

    @cached_property
    def pairs(self) -> list[AlikePair]:
        """All pairs of every level, sorted, also those too dissimilar for removal."""
        return [AlikePair(*pair) for pair in self._answer.pairs()]

    @cached_property
    def kept(self) -> list[Any]:
        """The kept items: row numbers from 0, or ids for files.

        Rows that are not items, such as rows without a text, are also kept. They count as skipped.
        """
        if self._data is None:
            return self._answer.kept()
        removed = set(self.removed)
        return [row for row in range(len(self._data)) if row not in removed]

    @cached_property
    def removed(self) -> list[Any]:
        """The removed items: row numbers from 0, or ids for files."""
        return self._answer.removed()

    @property
    def rows(self) -> Any:
        """The kept rows, as a list or table of the same type as the data."""
        if self._data is None:
            raise TypeError("rows= is not available for files; use output= to write what is kept")
        return _taken(self._data, self.kept)

    @property
    def exact(self) -> bool:
        """Whether every pair was found; if not, ``summary["recall"]`` is the estimated recall."""
        return bool(self.summary["exact"])

    def __repr__(self) -> str:
        items, removed = self._answer.items, self.summary["removed"]
        groups = f"{len(self.groups)} group{'s' * (len(self.groups) != 1)}"
        return f"<Dedup of {items} items: {removed} removed in {groups}>"


def dedup(
    data: Any,
    *,
    against: Any = None,
    recipe: str | Recipe = "words",
    distance: int | None = None,
    level: Literal["copy", "near", "similar", "part"] | None = None,
    similarity: float | None = None,
    measure: Literal["jaccard", "containment", "similarity"] | None = None,
    verify: bool = True,
    exact: bool = False,
    recall: float | None = None,
    keep: str | None = None,
    group: Literal["star", "connected"] = "star",
    max_remove: float = 0.9,
    blocks: int | None = None,
    field: str | None = None,
    id: str | None = None,
    html: bool = False,
    markup: bool = False,
    strict: bool = False,
    lines: bool = False,
    format: Format | None = None,
    follow_links: bool = False,
    kind: str | None = None,
    orientations: bool = False,
    match: Literal["whole", "partial"] = "whole",
    cache: AnyPath | None = None,
    output: AnyPath | None = None,
    pairs: AnyPath | None = None,
    equal: Literal["all", "first"] = "all",
    groups: AnyPath | None = None,
    removed: AnyPath | None = None,
    skipped: AnyPath | None = None,
    report: AnyPath | None = None,
    force: bool = False,
    dry_run: bool = False,
    move: AnyPath | None = None,
    link: bool = False,
    trash: bool = False,
    delete: bool = False,
    journal: AnyPath | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    temp: AnyPath | None = None,
    **changes: Any,
) -> Dedup:
    """Find near-duplicates, and keep one item of each group.

    ``data`` is a list of texts, dicts or features; a table of pandas, polars or Arrow; or files: a
    path or a list of :class:`pathlib.Path`. (In a list, a ``str`` is a text.)

    >>> texts = [
    ...     "The ferry to the island leaves at nine in the morning from the north end.",
    ...     "Boil the potatoes in their skins, let them cool, and slice them thin.",
    ...     "The ferry to the island leaves at ten in the morning, from the north end!",
    ... ]
    >>> result = dedup(texts)
    >>> result
    <Dedup of 3 items: 1 removed in 1 group>
    >>> result.kept, result.removed
    ([0, 1], [2])
    >>> result.groups[0].keep, result.groups[0].members[0].id
    (0, 2)

    The options and defaults are those of ``lookalike dedup``. ``field`` and ``id`` name columns.
    ``keep`` is ``longest`` (the default for texts), ``best`` (for images), ``first``, ``last``,
    ``largest``, ``newest``, ``oldest``, ``path:PATTERN``, ``FIELD:asc`` or ``FIELD:desc``, or several
    of them separated by commas. By default, texts of level ``near`` and images of level ``copy`` are
    removed; ``level``, ``similarity`` or ``distance`` change that. ``.pairs`` has every level.
    ``verify=False`` compares only fingerprints. ``exact`` finds every pair, however many texts there
    are; ``recall`` sets the minimum share of pairs to find. With ``against``, only items that match
    these other data are removed. ``report`` writes a page for review, ``output`` writes the kept items
    of files, and ``skipped`` lists everything that could not be read. ``changes`` are the arguments of
    :class:`Recipe`, including custom functions.

    For image files, ``recipe`` is ``pdq``, ``phash``, ``colour`` or ``hsv``. ``orientations`` also
    finds rotated and mirrored images, and ``match="partial"`` cropped and framed ones. ``cache`` is
    the file that caches their fingerprints, or ``"none"``.

    For files, ``pairs``, ``groups`` and ``removed`` write tables. ``move``, ``link``, ``trash`` and
    ``delete`` act on the removed files, and ``journal`` is the journal for ``lookalike undo``.

    If more than the fraction ``max_remove`` would be removed, nothing is, and
    :class:`~lookalike.errors.RemovalError` names the group responsible.
    """
    options = {
        "distance": distance,
        "level": level,
        "similarity": similarity,
        "measure": measure,
        "no_verify": not verify,
        "exact": exact,
        "recall": recall,
        "keep": keep,
        "group": group,
        "max_remove": max_remove,
        "blocks": blocks,
        "field": field,
        "id": id,
        "html": html,
        "markup": markup,
        "strict": strict,
        "lines": lines,
        "format": format,
        "follow_links": follow_links,
        "kind": kind,
        "orientations": orientations,
        "match": match,
        "cache": cache,
        "output": output,
        "pairs": pairs,
        # Only valid if pairs are written.
        "equal": None if pairs is None else equal,
        "groups": groups,
        "removed": removed,
        "skipped": skipped,
        "report": report,
        "force": force,
        "dry_run": dry_run,
        "move": move,
        "link": link,
        "trash": trash,
        "delete": delete,
        "journal": journal,
        "threads": threads,
        "memory": memory,
        "temp": temp,
    }
    for name in NUMBERS:
        if isinstance(options[name], bool):
            raise TypeError(f"{name} must be a number, not {options[name]}")
    refuse_unknown(changes, [*options, *Recipe()._choices], "dedup has no option")
    images = not changes and recipe in [preset.name for preset in image_recipes()]
    chosen = recipe_of("words" if images else recipe, changes)
    chosen._native.check()
    wanted = _Wanted(field, id, _fields_of(keep), bool(chosen._own))
    rows = wanted.given(data, "rows")
    others = _NOTHING if against is None else wanted.given(against, "against")
    if len(others.inputs) > 1:
        raise OptionError("against= takes one path; put several files in a folder")
    if output is not None and rows.data is not None:
        raise OptionError("output= is only for files; the kept rows are .rows of the result")
    own = chosen._own
    custom = None if own is None else (chosen._native, own, rows.values, others.values)
    with ExitStack() as stack:
        asked = {"recipe": recipe} if images else _recipe_options(chosen, stack)
        held = {"against": others.inputs[0]} if others.inputs else {}
        given = options | asked | held | {"quiet": True}
        answer = _native.dedup(rows.inputs, given, rows.columns, others.columns, custom)
    if answer.refused is not None:
        raise RemovalError(answer.refused)
    return Dedup(answer, rows.data)


def report(data: Any, path: str | os.PathLike[str], **options: Any) -> Dedup:
    """Run :func:`dedup` and write a page that shows the groups and their differences.

    The page is one self-contained file that opens in any browser.

    >>> import tempfile
    >>> page = tempfile.mkdtemp() + "/report.html"
    >>> texts = ["The ferry leaves at nine.", "Boil the potatoes.", "The ferry leaves at NINE!"]
    >>> report(texts, page).removed
    [2]
    >>> "The ferry leaves at NINE!" in open(page, encoding="utf-8").read()
    True
    """
    return dedup(data, report=path, **options)


def _recipe_options(recipe: Recipe, stack: ExitStack) -> dict[str, Any]:
    """A recipe as options. Values that the command line reads from files are written to files."""
    choices = dict(recipe._choices)
    # Functions are passed separately.
    del choices["tokenizer"], choices["extractor"]
    if callable(choices["hash"]):
        del choices["hash"]
    name = choices.pop("name")
    # Omit the default, because images have another one.
    choices["recipe"] = None if name == "words" else name
    model, words = choices["model"], choices["stop_words"]
    if model is not None or isinstance(words, list):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if isinstance(model, Model):
            choices["model"] = folder / "model"
            model.save(choices["model"])
        if isinstance(words, list):
            choices["stop_words"] = folder / "words"
            choices["stop_words"].write_text("\n".join(words), encoding="utf-8")
    return choices


def _fields_of(keep: str | None) -> list[str]:
    """The fields of keep rules: score and date for ``score:desc,date:asc``."""
    rules = [rule.strip().rpartition(":") for rule in (keep or "").split(",")]
    return [field for field, _, order in rules if order in ("asc", "desc")]


def _paths(data: Any) -> list[str] | None:
    """The paths of files; ``None`` for rows."""
    if isinstance(data, str | os.PathLike):
        return [os.fsdecode(data)]
    listed = data if isinstance(data, list | tuple) else ()
    if listed and all(isinstance(one, os.PathLike) for one in listed):
        return [os.fsdecode(one) for one in listed]
    return None


def _is_table(data: Any) -> bool:
    if type(data).__name__ == "LazyFrame":
        raise TypeError("a LazyFrame has no rows yet; pass the result of collect()")
    return hasattr(data, "columns") or hasattr(data, "column_names")


class _Given(NamedTuple):
    """Data in the form of the native module."""

    #: The paths of files, or one name for the rows.
    inputs: list[str]
    #: The original rows; ``None`` for files.
    data: Any = None
    #: Their columns: Arrow data, or names and lists.
    columns: Any = None
    #: The arguments of custom functions, row by row; ``None`` if that is the text.
    values: list[Any] | None = None


_NOTHING = _Given([])


class _Table(NamedTuple):
    """The columns of :class:`_Given`, and the values."""

    columns: Any
    values: list[Any] | None = None


class _Wanted:
    """Chooses the columns to pass on."""

    def __init__(self, field: str | None, id: str | None, keys: list[str], own: bool) -> None:
        self.field, self.id, self.keys = field, id or "id", keys
        #: Whether custom functions receive the values of the field.
        self.own = own

    def given(self, data: Any, name: str) -> _Given:
        """Files, or rows with this name for messages."""
        paths = _paths(data)
        if paths is not None:
            return _Given(paths)
        if isinstance(data, Mapping):
            raise TypeError("a dict is one row; pass a list of dicts or a table")
        if _is_table(data):
            return _Given([name], data, *self._of_table(data))
        rows = data if isinstance(data, list) else list(objects_of(data))
        return _Given([name], rows, *self._of_list(rows))

    def _of_list(self, rows: list[Any]) -> _Table:
        if not self.own:
            _refuse_images(rows)
        first = next((row for row in rows if row is not None), None)
        if isinstance(first, Mapping):
            return self._of_dicts(rows)
        field = self.field or TEXT_FIELDS[0]
        return self._shown([(field, rows)], field)

    def _of_table(self, data: Any) -> _Table:
        names = [str(name) for name in getattr(data, "column_names", getattr(data, "columns", ()))]
        field = self._field_among(names)
        ours = [name for name in names if self._is_wanted(name, field)]
        if not any(field == name or field.startswith(name + ".") for name in names):
            # The native module reports which columns exist.
            ours = names
        if self.own:
            return self._shown([(name, list(objects_of(data[name]))) for name in ours], field)
        if _is_listed(data, ours):
            return _Table([(name, list(objects_of(data[name]))) for name in ours])
        return _Table(data.select(ours) if hasattr(data, "column_names") else data[ours])

    def _of_dicts(self, rows: list[Any]) -> _Table:
        names = {name: None for row in rows[:1000] if row is not None for name in row}
        field = self._field_among(list(names))
        paths = [field, self.id, *self.keys]
        columns = {path: [_value(row, path) for row in rows] for path in paths}
        if self.own and self.field is None and field not in names:
            # Custom functions accept rows of any type.
            columns[field] = rows
        elif field not in names and all(value is None for value in columns[field]):
            return _Table([(name, [None] * len(rows)) for name in names or [field]])
        used = {p: v for p, v in columns.items() if p == field or any(x is not None for x in v)}
        return self._shown(list(used.items()), field)

    def _shown(self, columns: list[tuple[str, list[Any]]], field: str) -> _Table:
        """The columns. If custom functions receive the values of the field, the column has their text."""
        if not self.own:
            return _Table(columns)
        values = next((values for name, values in columns if name == field), None)
        shown = [(n, [_text(value) for value in v] if n == field else v) for n, v in columns]
        return _Table(shown, values)

    def _field_among(self, names: list[str]) -> str:
        return self.field or next((name for name in TEXT_FIELDS if name in names), TEXT_FIELDS[0])

    def _is_wanted(self, name: str, field: str) -> bool:
        paths = [field, self.id, *self.keys]
        return any(path == name or path.startswith(name + ".") for path in paths)


def _value(row: Any, path: str) -> Any:
    """A field of a row; ``a.b`` is field b of the field a."""
    if not isinstance(row, Mapping):
        return None
    if path in row:
        return row[path]
    name, _, rest = path.partition(".")
    return _value(row[name], rest) if rest and name in row else None


def _is_listed(table: Any, columns: list[str]) -> bool:
    """Whether a table is passed value by value, because it cannot export these columns as Arrow."""
    library = type(table).__module__.partition(".")[0]
    if len(table) == 0 or (library == "pandas" and installed("pyarrow") is None):
        return True
    return library == "polars" and any(is_all_null(table[column]) for column in columns)


def _text(value: Any) -> str | None:
    """A value as text; ``None`` if it is missing."""
    if isinstance(value, str):
        return value
    return None if _native.is_missing(value) else str(value)


def _refuse_images(rows: list[Any]) -> None:
    if any(isinstance(row, bytes) or hasattr(row, "getexif") for row in rows):
        raise TypeError(
            "images in memory are not supported; pass files, or use images() and find_all()"
        )


def _taken(data: Any, rows: list[int]) -> Any:
    """These rows, in the type of the data."""
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if hasattr(data, "column_names"):
        return data.take(rows) if rows else data.slice(0, 0)
    return data[rows] if _is_table(data) else [data[row] for row in rows]
