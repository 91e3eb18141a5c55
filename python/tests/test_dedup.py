"""Rows, tables and files: the same answer as the command line gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import ROOT
from lookalike import Dedup, Recipe, dedup, errors, report

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
def test_a_field_that_is_not_there_is_said(kind: str) -> None:
    with pytest.raises(errors.InputError, match="no field body; name one with --field"):
        dedup(TABLES[kind](), field="body")


def test_texts_go_by_their_number() -> None:
    for texts in [
        [NINE, OTHER, TEN],
        (t for t in [NINE, OTHER, TEN]),
        pandas.Series([NINE, OTHER, TEN]),
    ]:
        result = dedup(texts)
        assert decided(result) == [(2, 0)]
        assert list(result.rows) == [NINE, OTHER]
    assert repr(result) == "<Dedup of 3 items: 1 can go, in 1 groups>"
    assert result.exact and result.summary["items"] == 3


def test_rows_without_text_are_skipped_and_counted() -> None:
    result = dedup([None, NINE, None, TEN, float("nan")])
    assert decided(result) == [(3, 1)]
    assert result.kept == [1]
    assert len(result.skipped) == 3 and result.summary["skipped"] == 3
    with pytest.raises(errors.InputError, match="--strict stops at the first"):
        dedup([None, NINE], strict=True)


def test_other_data_are_held_against() -> None:
    for other in [[TEN], [{"text": TEN}], polars.DataFrame({"text": [TEN]})]:
        result = dedup([OTHER, NINE, NINE], against=other)
        assert result.kept == [0]
        assert decided(result) == [(1, 0), (2, 0)]


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
        ({"level": "close"}, errors.OptionError, "invalid value 'close' for '--level <NAME>'"),
        ({"similarity": 2}, errors.OptionError, "write a number from 0 to 1"),
        ({"keep": "bets"}, errors.OptionError, "--keep <RULE>"),
        ({"distance": 129}, errors.OptionError, "--distance 129 is more than the 128 bits"),
        ({"hash": len}, errors.OptionError, "cannot call a hash"),
        ({"max_remove": 0.1}, errors.RemovalError, "1 of 2 items would be removed"),
        ({"output": "kept.jsonl"}, errors.OptionError, "output= is for files"),
    ],
)
def test_wrong_options_are_said_as_on_the_command_line(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        dedup([NINE, TEN], **options)
    assert message in str(raised.value)
    assert isinstance(raised.value, errors.LookalikeError)


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


def test_a_file_that_is_not_there_is_said() -> None:
    with pytest.raises(errors.InputError, match="no-such-file: no such file"):
        dedup("no-such-file")
    with pytest.raises(errors.OptionError, match="give one path"):
        dedup([NINE], against=[Path("a"), Path("b")])
