"""What of all this can go, because something alike stays? The command line's ``dedup``."""

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

#: What an item is called: the id it came with, the name of its file, or the number of its row.
Id: TypeAlias = int | str

#: A file or folder.
AnyPath: TypeAlias = str | os.PathLike[str]

#: The formats of tables and archives.
Format: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "warc", "lines", "text"]

#: The names of a text field, if none is given.
USUAL = ("text", "content", "body")

#: Options that are numbers. ``True`` is one in Python, but turns on an option here.
NUMBERS = ("blocks", "distance", "max_remove", "memory", "recall", "similarity", "threads")


class Member(NamedTuple):
    """An item that goes."""

    id: Id
    #: The item it was compared with: what is kept, or with ``group="connected"`` a neighbour.
    alike: Id
    distance: int | None
    #: From 0 to 1; ``None`` if nothing was verified.
    similarity: float | None


class Group(NamedTuple):
    """Items that go together."""

    #: The one that stays.
    keep: Id
    members: list[Member]


class AlikePair(NamedTuple):
    """Two items that are alike."""

    a: Id
    b: Id
    distance: int | None
    similarity: float | None


class Dedup:
    """What :func:`dedup` decided. Nothing was changed."""

    def __init__(self, answer: _native.Answer, data: Any) -> None:
        self._answer = answer
        self._data = data
        #: The figures of the run, as the command line prints them with ``--json``.
        self.summary: dict[str, Any] = json.loads(answer.summary)
        #: What could not be read, a line each: the first 20, and how many more there are.
        self.skipped: list[str] = answer.skipped

    @cached_property
    def groups(self) -> list[Group]:
        """Who goes, and for whom; in the order of what is kept."""
        return [
            Group(keep, [Member(*member) for member in members])
            for keep, members in self._answer.groups()
        ]

    @cached_property
    def pairs(self) -> list[AlikePair]:
        """All pairs of every level, in order: also of items that are not alike enough to go."""
        return [AlikePair(*pair) for pair in self._answer.pairs()]

    @cached_property
    def kept(self) -> list[Any]:
        """What stays: the numbers of rows, from 0; of files, the ids.

        Rows that are no items, such as those without a text, stay, too; they are counted as skipped.
        """
        if self._data is None:
            return self._answer.kept()
        gone = set(self.removed)
        return [row for row in range(len(self._data)) if row not in gone]

    @cached_property
    def removed(self) -> list[Any]:
        """What goes: the numbers of rows, from 0; of files, the ids."""
        return self._answer.removed()

    @property
    def rows(self) -> Any:
        """The rows that stay, in the kind they came in: a list, or a table."""
        if self._data is None:
            raise TypeError("files have no rows here; output= writes what is kept")
        return _taken(self._data, self.kept)

    @property
    def exact(self) -> bool:
        """Whether every alike pair was found; if not, ``summary["recall"]`` of them are expected."""
        return bool(self.summary["exact"])

    def __repr__(self) -> str:
        items, removed = self._answer.items, self.summary["removed"]
        return f"<Dedup of {items} items: {removed} can go, in {len(self.groups)} groups>"


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
    """Find near-duplicates: of each group of alike items, one is kept.

    ``data`` is a list of texts, of dicts, or of features; a table of pandas, polars or Arrow; or
    files: a path, or a list of :class:`pathlib.Path`. (In a list, a ``str`` is a text.)

    >>> texts = [
    ...     "The ferry to the island leaves at nine in the morning from the north end.",
    ...     "Boil the potatoes in their skins, let them cool, and slice them thin.",
    ...     "The ferry to the island leaves at ten in the morning, from the north end!",
    ... ]
    >>> result = dedup(texts)
    >>> result
    <Dedup of 3 items: 1 can go, in 1 groups>
    >>> result.kept, result.removed
    ([0, 1], [2])
    >>> result.groups[0].keep, result.groups[0].members[0].id
    (0, 2)

    Options are those of ``lookalike dedup``, with the same defaults: ``field`` and ``id`` name
    columns, ``keep`` is ``longest`` (the default for texts), ``best`` (for images), ``first``,
    ``last``, ``largest``, ``newest``, ``oldest``, ``path:PATTERN``, ``FIELD:asc`` or ``FIELD:desc``, or
    several with commas between. Texts of level ``near`` and images of level ``copy`` go, unless
    ``level``, ``similarity`` or ``distance`` says otherwise; ``.pairs`` has every level;
    ``verify=False`` compares fingerprints only; ``exact`` finds every alike pair, however
    many texts there are, and ``recall`` at least a share of them; ``against`` is other data: what is alike
    something in it goes, and nothing else. ``report`` writes a page to look at; ``output`` writes
    what is kept of files; ``skipped`` lists all that could not be read. ``changes`` are what
    :class:`Recipe` takes, functions of your own included.

    Images are files, too, and ``recipe`` is then ``pdq``, ``phash``, ``colour`` or ``hsv``;
    ``orientations`` also finds turned and mirrored ones, ``match="partial"`` cropped and framed ones;
    ``cache`` is the file that remembers their fingerprints, or ``"none"``.

    With files, ``pairs``, ``groups`` and ``removed`` write tables; ``move``, ``link``, ``trash`` and
    ``delete`` act on the files that are removed, and ``journal`` is where that is noted for
    ``lookalike undo``.

    More than ``max_remove`` of all items are not removed: :class:`~lookalike.errors.RemovalError`
    says which group did it.
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
        # It says how pairs are written, and is refused where they are not.
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
            raise TypeError(f"{name} is a number, not {options[name]}")
    refuse_unknown(changes, [*options, *Recipe()._choices], "dedup has no option")
    images = not changes and recipe in [preset.name for preset in image_recipes()]
    chosen = recipe_of("words" if images else recipe, changes)
    chosen._native.check()
    wanted = _Wanted(field, id, _fields_of(keep), bool(chosen._own))
    rows = wanted.given(data, "rows")
    others = _NOTHING if against is None else wanted.given(against, "against")
    if len(others.inputs) > 1:
        raise OptionError("against: give one path, a folder if there are several files")
    if output is not None and rows.data is not None:
        raise OptionError("output= is for files; .rows of the result is what is kept of rows")
    own = chosen._own
    making = None if own is None else (chosen._native, own, rows.values, others.values)
    with ExitStack() as stack:
        asked = {"recipe": recipe} if images else _recipe_options(chosen, stack)
        held = {"against": others.inputs[0]} if others.inputs else {}
        given = options | asked | held | {"quiet": True}
        answer = _native.dedup(rows.inputs, given, rows.columns, others.columns, making)
    if answer.refused is not None:
        raise RemovalError(answer.refused)
    return Dedup(answer, rows.data)


def report(data: Any, path: str | os.PathLike[str], **options: Any) -> Dedup:
    """Run :func:`dedup`, and write a page that shows the groups and what differs.

    The page is one file that needs nothing else: open it in a browser, or send it to somebody.

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
    """A recipe as options; what the command line reads from files is written to some."""
    choices = dict(recipe._choices)
    # Functions are called, not told.
    del choices["tokenizer"], choices["extractor"]
    if callable(choices["hash"]):
        del choices["hash"]
    name = choices.pop("name")
    # The default is left to who sees what the data are: images have another one.
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
    """The fields that rules look at: of ``score:desc,date:asc``, score and date."""
    rules = [rule.strip().rpartition(":") for rule in (keep or "").split(",")]
    return [field for field, _, order in rules if order in ("asc", "desc")]


def _paths(data: Any) -> list[str] | None:
    """The paths of files; ``None`` if the data are here."""
    if isinstance(data, str | os.PathLike):
        return [os.fsdecode(data)]
    listed = data if isinstance(data, list | tuple) else ()
    if listed and all(isinstance(one, os.PathLike) for one in listed):
        return [os.fsdecode(one) for one in listed]
    return None


def _is_table(data: Any) -> bool:
    if type(data).__name__ == "LazyFrame":
        raise TypeError("a LazyFrame has no rows yet; give what collect() returns")
    return hasattr(data, "columns") or hasattr(data, "column_names")


class _Given(NamedTuple):
    """Data as the native half reads them."""

    #: The names of files, or one for the rows.
    inputs: list[str]
    #: The rows as they came; ``None`` for files.
    data: Any = None
    #: Their columns: Arrow data, or names and lists.
    columns: Any = None
    #: What functions of the user's are called with, row by row; ``None`` if that is the text.
    values: list[Any] | None = None


_NOTHING = _Given([])


class _Table(NamedTuple):
    """The columns of :class:`_Given`, and the values."""

    columns: Any
    values: list[Any] | None = None


class _Wanted:
    """Which columns are handed over."""

    def __init__(self, field: str | None, id: str | None, keys: list[str], own: bool) -> None:
        self.field, self.id, self.keys = field, id or "id", keys
        #: Whether functions of the user's are called with what is in the field.
        self.own = own

    def given(self, data: Any, name: str) -> _Given:
        """Files, or rows of that name."""
        paths = _paths(data)
        if paths is not None:
            return _Given(paths)
        if isinstance(data, Mapping):
            raise TypeError("one dict is one row; give a list of them, or a table")
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
        field = self.field or USUAL[0]
        return self._shown([(field, rows)], field)

    def _of_table(self, data: Any) -> _Table:
        names = [str(name) for name in getattr(data, "column_names", getattr(data, "columns", ()))]
        field = self._field_among(names)
        ours = [name for name in names if self._is_wanted(name, field)]
        if not any(field == name or field.startswith(name + ".") for name in names):
            # What there is instead is told by who looks for it.
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
            # Functions take rows of any kind.
            columns[field] = rows
        elif field not in names and all(value is None for value in columns[field]):
            return _Table([(name, [None] * len(rows)) for name in names or [field]])
        used = {p: v for p, v in columns.items() if p == field or any(x is not None for x in v)}
        return self._shown(list(used.items()), field)

    def _shown(self, columns: list[tuple[str, list[Any]]], field: str) -> _Table:
        """The columns; if functions are called with the values of the field, it is handed over as
        people read it."""
        if not self.own:
            return _Table(columns)
        values = next((values for name, values in columns if name == field), None)
        shown = [(n, [_text(value) for value in v] if n == field else v) for n, v in columns]
        return _Table(shown, values)

    def _field_among(self, names: list[str]) -> str:
        return self.field or next((name for name in USUAL if name in names), USUAL[0])

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
    """Whether a table is handed over value by value: not all make Arrow data with these columns."""
    library = type(table).__module__.partition(".")[0]
    if len(table) == 0 or (library == "pandas" and installed("pyarrow") is None):
        return True
    return library == "polars" and any(is_all_null(table[column]) for column in columns)


def _text(value: Any) -> str | None:
    """A value as people read it; ``None`` if there is none."""
    if isinstance(value, str):
        return value
    return None if _native.is_missing(value) else str(value)


def _refuse_images(rows: list[Any]) -> None:
    if any(isinstance(row, bytes) or hasattr(row, "getexif") for row in rows):
        raise TypeError("images in memory are no rows; give files, or use images() and find_all()")


def _taken(data: Any, rows: list[int]) -> Any:
    """These rows, in the kind they came in."""
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if hasattr(data, "column_names"):
        return data.take(rows) if rows else data.slice(0, 0)
    return data[rows] if _is_table(data) else [data[row] for row in rows]
