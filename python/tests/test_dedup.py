"""Rows, tables and files give the same results as the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import ROOT
from lookalike import Dedup, Recipe, dedup, distance, errors, report

NINE = "The ferry to the island leaves at nine in the morning from the north end."
TEN = "The ferry to the island leaves at ten in the morning, from the north end!"
OTHER = "Boil the potatoes in their skins, let them cool, and slice them thin."

ROWS = [
    {"id": "nine", "text": NINE, "score": 1},
    {"id": "other", "text": OTHER, "score": 5},
    {"id": "ten", "text": TEN, "score": 3},
]

TABLES: dict[str, Callable[[], Any]] = {
    "dicts": lambda: ROWS,
    "pandas": lambda: pandas.DataFrame(ROWS, index=[10, 20, 30]),
    "polars": lambda: polars.DataFrame(ROWS),
    "arrow": lambda: pyarrow.Table.from_pylist(ROWS),
    "arrow batch": lambda: pyarrow.RecordBatch.from_pylist(ROWS),
}


def decided(result: Dedup) -> list[tuple[Any, Any]]:
    return [(member.id, group.keep) for group in result.groups for member in group.members]


def command(*args: str | Path) -> str:
    run = [sys.executable, "-m", "lookalike", *map(str, args)]
    return subprocess.run(run, capture_output=True, text=True, check=True, encoding="utf-8").stdout


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind_are_rows(kind: str) -> None:
    result = dedup(TABLES[kind]())
    assert decided(result) == [("ten", "nine")]
    assert (result.kept, result.removed) == ([0, 1], [2])
    assert result.pairs == [("nine", "ten", result.pairs[0].distance, result.pairs[0].similarity)]
    result = dedup(TABLES[kind](), keep="score:desc")
    assert decided(result) == [("nine", "ten")]
    kept = result.rows
    assert type(kept) is type(TABLES[kind]())
    if kind == "pandas":
        assert kept.index.tolist() == [20, 30]
        kept = kept.to_dict("records")
    elif kind != "dicts":
        kept = kept.to_pylist() if kind.startswith("arrow") else kept.to_dicts()
    assert kept == ROWS[1:]


@pytest.mark.parametrize("kind", TABLES)
def test_names_a_missing_field(kind: str) -> None:
    with pytest.raises(errors.InputError, match="no field body; choose one with field="):
        dedup(TABLES[kind](), field="body")


def test_ids_of_texts_are_their_positions() -> None:
    for texts in [
        [NINE, OTHER, TEN],
        (t for t in [NINE, OTHER, TEN]),
        pandas.Series([NINE, OTHER, TEN]),
    ]:
        result = dedup(texts)
        assert decided(result) == [(2, 0)]
        assert list(result.rows) == [NINE, OTHER]
    assert repr(result) == "<Dedup of 3 items: 1 removed in 1 group>"
    assert result.exact and result.summary["items"] == 3


def test_rows_without_text_are_skipped_and_counted() -> None:
    result = dedup([None, NINE, None, TEN, float("nan")])
    assert decided(result) == [(3, 1)]
    assert result.kept == [0, 1, 2, 4] and result.rows[:3] == [None, NINE, None]
    assert len(result.skipped) == 3 and result.summary["skipped"] == 3
    with pytest.raises(errors.InputError, match="strict=True stops here"):
        dedup([None, NINE], strict=True)


def test_rows_without_text_stay_in_every_kind_of_table() -> None:
    texts = ["a b c d", None, "e f g h", "a b c d"]
    pandas_table = pandas.DataFrame({"text": texts})
    for table in [pandas_table, polars.DataFrame({"text": texts}), pyarrow.table({"text": texts})]:
        result = dedup(table)
        assert (result.kept, result.removed, len(result.rows)) == ([0, 1, 2], [3], 3)
        assert (result.summary["items"], result.summary["skipped"]) == (3, 1)
    assert dedup(pandas_table).rows["text"].isna().tolist() == [False, True, False]


def test_accepts_no_rows() -> None:
    for empty in [
        [],
        (),
        pandas.DataFrame({"text": []}),
        polars.DataFrame({"text": []}),
        polars.DataFrame({"text": []}, schema={"text": polars.String}),
        pyarrow.table({"text": pyarrow.array([], pyarrow.string())}),
    ]:
        result = dedup(empty)
        assert (result.summary["items"], result.kept, len(result.rows)) == (0, [], 0)
    for nothing in [[None], [{}], polars.DataFrame({"text": [None]})]:
        assert dedup(nothing).summary["skipped"] == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "expected a list, a column or a table, not NoneType"),
        (7, "expected a list, a column or a table, not int"),
        ({"text": [NINE, TEN]}, "a dict is one row; pass a list of dicts or a table"),
        (polars.LazyFrame({"text": [NINE]}), "a LazyFrame has no rows yet"),
        ([b"\x89PNG"], "images in memory are not supported"),
    ],
)
def test_refuses_data_of_other_types(data: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        dedup(data)


def test_unknown_option_suggests_a_similar_one() -> None:
    with pytest.raises(TypeError, match="dedup has no option levle; did you mean level?"):
        dedup([NINE], levle="copy")


def test_other_data_are_held_against() -> None:
    for other in [[TEN], [{"text": TEN}], polars.DataFrame({"text": [TEN]})]:
        result = dedup([OTHER, NINE, NINE], against=other)
        assert result.kept == [0]
        assert decided(result) == [(1, 0), (2, 0)]


def test_keeps_similar_items_lists_their_pairs_and_keeps_the_longest() -> None:
    words = [f"word{number}" for number in range(10, 80)]
    one, two, other = (" ".join(words[start : start + 50]) for start in (0, 2, 15))
    result = dedup([one, two + " more", other])
    assert (result.kept, decided(result)) == ([1, 2], [(0, 1)])
    assert len(result.pairs) == 3
    assert result.summary["looser"] is None
    assert dedup([one, other]).removed == []
    assert dedup([one, other], level="similar").removed == [1]
    assert dedup([one, two + " more"], keep="first").removed == [1]


def test_nested_fields_are_found() -> None:
    rows = [{"page": {"text": NINE}}, {"page": {"text": TEN}}, {"page": None}]
    for data in [rows, pyarrow.Table.from_pylist(rows)]:
        assert decided(dedup(data, field="page.text")) == [(1, 0)]


def test_features_are_rows() -> None:
    soup = [("water", 5.0), ("carrot", 3.0), ("leek", 3.0), ("celery", 2.0)]
    more = [*soup, ("salt", 0.5)]
    cake = [("flour", 5.0), ("sugar", 3.0), ("butter", 3.0)]
    assert decided(dedup([soup, cake, more])) == [(2, 0)]
    texts = [NINE, OTHER, TEN]
    own = Recipe(extractor=lambda text: text.lower().replace(",", "").strip(".!").split())
    assert decided(dedup(texts, recipe=own)) == [(2, 0)]
    assert decided(dedup(pandas.DataFrame({"text": texts}), recipe=own)) == [(2, 0)]


def test_functions_of_yours_make_the_fingerprints_that_are_compared() -> None:
    texts = [NINE, OTHER, TEN]
    choices: list[dict[str, Any]] = [
        {"hash": zlib.crc32},
        {"tokenizer": str.split},
        {"tokenizer": str.split, "hash": zlib.crc32, "features": "words:2"},
        {"extractor": str.split},
        {"extractor": lambda text: {word: len(word) for word in text.split()}, "hash": zlib.crc32},
    ]
    for choice in choices:
        recipe = Recipe(**choice)
        for data in [texts, pandas.DataFrame({"text": texts}), pyarrow.table({"text": texts})]:
            result = dedup(data, recipe=recipe, similarity=0.3)
            assert decided(result) == [(2, 0)], choice
            assert result.pairs[0].distance == distance(recipe.simhash(NINE), recipe.simhash(TEN))
    # Split at commas, the texts have nothing in common.
    assert dedup(texts, tokenizer=lambda text: text.split(",")).removed == []
    against = dedup([NINE, OTHER], against=[TEN], tokenizer=str.split, level="similar")
    assert against.removed == [0]


def test_functions_of_yours_take_rows_of_any_kind(tmp_path: Path) -> None:
    pages = [{"id": n, "links": links} for n, links in enumerate(["abc", "xyz", "cab"])]
    result = dedup(pages, extractor=lambda page: list(page["links"]))
    assert decided(result) == [(2, 0)]
    assert dedup(pages, field="links", extractor=list).removed == [2]
    soups = [{"soup": 2, "salt": 1}, None, {"soup": 2, "salt": 1}]
    assert dedup(soups, hash=zlib.crc32).kept == [0, 1]
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join([NINE, OTHER, TEN]))
    page = tmp_path / "page.html"
    result = dedup(lines, lines=True, tokenizer=str.split, level="similar", report=page)
    assert decided(result) == [(3, 1)]
    assert NINE in page.read_text("utf-8")


def test_errors_of_custom_functions_name_the_row(tmp_path: Path) -> None:
    def fail(text: str) -> list[str]:
        if text == TEN:
            raise LookupError("mine")
        return text.split()

    with pytest.raises(LookupError, match="mine") as raised:
        dedup([NINE, OTHER, TEN], tokenizer=fail)
    assert raised.value.__notes__ == ["raised for row 2"]
    with pytest.raises(TypeError, match="row 0: a hash must be an int, not str"):
        dedup([NINE], hash=lambda data: "text")
    with pytest.raises(TypeError, match="row 1: a tokenizer must return a list of tokens, not int"):
        dedup([None, NINE], tokenizer=len)
    with pytest.raises(TypeError, match="row 0: an extractor must return .*, not str"):
        dedup([NINE], against=[TEN], extractor=str.lower)
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"id": "nine", "text": NINE}))
    with pytest.raises(TypeError, match="nine: a feature must be a str, bytes or an int"):
        dedup(file, extractor=lambda text: [2.5])
    file.write_text(json.dumps({"id": "soup", "text": [["water", 5]]}))
    with pytest.raises(errors.InputError, match="soup: has features, but custom functions accept"):
        dedup(file, hash=zlib.crc32)


def test_options_are_the_command_lines() -> None:
    assert dedup([NINE, TEN], level="copy").groups == dedup([NINE, TEN], similarity=0.8).groups
    assert dedup([NINE, TEN], similarity=0.99).removed == []
    assert dedup([NINE, TEN], verify=False).groups[0].members[0].similarity is None
    assert dedup([NINE, TEN], recipe="bare", bits=256).removed == [1]
    assert dedup([NINE, TEN], stop_words=["nine", "ten"], similarity=0.9).removed == []
    assert dedup([NINE, TEN], keep="last").removed == [0]
    assert dedup([NINE, TEN], threads=1, memory="1M", exact=True, group="connected").removed == [1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"recipe": "wrods"}, errors.RecipeError, 'no recipe "wrods"; did you mean words?'),
        ({"features": "wrods:2"}, errors.ExtractError, "did you mean words:2?"),
        ({"hash": "xxh"}, errors.HashError, "did you mean xxh3?"),
        ({"seed": 7, "hash": "md5-last8"}, errors.HashError, "takes a seed of 0 bits"),
        ({"stop_words": "klingon"}, errors.StopWordsError, "klingon"),
        ({"bits": 65}, errors.FingerprintError, "not 65"),
        ({"weights": "tfidf"}, errors.RecipeError, "needs a corpus model"),
        ({"level": "close"}, errors.OptionError, "invalid value 'close' for 'level='"),
        ({"similarity": 2}, errors.OptionError, "expected a number from 0 to 1"),
        ({"keep": "bets"}, errors.OptionError, "for 'keep='"),
        ({"distance": -1}, errors.OptionError, "'-1' for 'distance=': expected a number"),
        ({"threads": -2}, errors.OptionError, "'-2' for 'threads=': expected a number"),
        ({"threads": 0}, errors.OptionError, "threads=0: use at least 1"),
        ({"memory": -2}, errors.OptionError, "'-2' for 'memory=': expected a size"),
        ({"distance": 129}, errors.OptionError, "distance=129 is more than the 128 bits"),
        ({"max_remove": 0.1}, errors.RemovalError, "1 of 2 items would be removed"),
        ({"output": "kept.jsonl"}, errors.OptionError, "output= is only for files"),
    ],
)
def test_errors_name_options_as_in_python(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        dedup([NINE, TEN], **options)
    assert message in str(raised.value)
    assert isinstance(raised.value, errors.LookalikeError)


@pytest.mark.parametrize("name", ["distance", "max_remove", "memory", "similarity", "threads"])
@pytest.mark.parametrize("switch", [True, False])
def test_refuses_booleans_for_numbers(name: str, switch: bool) -> None:
    options: dict[str, Any] = {name: switch}
    with pytest.raises(TypeError, match=f"{name} must be a number, not {switch}"):
        dedup([NINE, TEN], **options)


def test_files_are_read_and_written_as_by_the_command_line(tmp_path: Path) -> None:
    news = ROOT / "examples" / "news.jsonl"
    groups = tmp_path / "groups.jsonl"
    command("dedup", news, "--quiet", "--groups", groups, "-o", tmp_path / "kept.jsonl")
    result = dedup(news, output=tmp_path / "ours.jsonl", report=tmp_path / "page.html")
    listed = [json.loads(line) for line in groups.read_text("utf-8").splitlines()]
    assert listed
    assert [(group["keep"], [m["id"] for m in group["members"]]) for group in listed] == [
        (group.keep, [member.id for member in group.members]) for group in result.groups
    ]
    assert (tmp_path / "ours.jsonl").read_bytes() == (tmp_path / "kept.jsonl").read_bytes()
    assert "<html" in (tmp_path / "page.html").read_text("utf-8")
    assert len(result.kept) + len(result.removed) == result.summary["items"]
    with pytest.raises(TypeError, match="output="):
        _ = result.rows


def test_rows_in_memory_and_in_files_get_the_same_answer(tmp_path: Path) -> None:
    news = ROOT / "examples" / "news.jsonl"
    rows = [json.loads(line) for line in news.read_text("utf-8").splitlines()]
    file = dedup(str(news))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "news.parquet")
    for same in [dedup(rows), dedup([tmp_path / "news.parquet"]), dedup(polars.DataFrame(rows))]:
        assert same.groups == file.groups
        assert same.pairs == file.pairs


def test_a_report_is_one_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = report([NINE, OTHER, TEN], page)
    assert result.removed == [2]
    text = page.read_text("utf-8")
    assert NINE in text and TEN in text and OTHER not in text
    with pytest.raises(errors.InputError, match="page.html"):
        report([NINE], page)
    report([NINE, OTHER], page, force=True)


def test_names_a_missing_file() -> None:
    with pytest.raises(errors.InputError, match="no-such-file: no such file"):
        dedup("no-such-file")
    with pytest.raises(errors.OptionError, match="takes one path"):
        dedup([NINE], against=[Path("a"), Path("b")])
