"""Lists, generators and columns of every library give the same fingerprints."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import lookalike
import numpy
import pandas
import polars
import pyarrow
import pytest
from lookalike import Model, Recipe, distance, fingerprints, simhash

TEXTS = [
    "The ferry to the island leaves at nine in the morning.",
    "",
    "去岛上的渡船每天早上九点从港口北端出发。",
    None,
    "x",
    "Паром на остров отходит каждое утро. " * 50,
]

COLUMNS: dict[str, Callable[[list[str | None]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda texts: (text for text in texts),
    "numpy": lambda texts: numpy.array(texts, dtype=object),
    "pandas": pandas.Series,
    "pandas object": lambda texts: pandas.Series(texts, dtype=object),
    "pandas category": lambda texts: pandas.Series(texts).astype("category"),
    "polars": polars.Series,
    "polars category": lambda texts: polars.Series(texts, dtype=polars.Categorical),
    "arrow": pyarrow.array,
    "arrow large": lambda texts: pyarrow.array(texts, pyarrow.large_string()),
    "arrow view": lambda texts: pyarrow.array(texts, pyarrow.string_view()),
    "arrow dictionary": lambda texts: pyarrow.array(texts).dictionary_encode(),
    "arrow chunks": lambda texts: pyarrow.chunked_array([texts[:2], texts[2:]]),
    "arrow slice": lambda texts: pyarrow.array(["before", *texts])[1:],
}


def as_int(print: Any) -> int | None:
    if print is numpy.ma.masked:
        return None
    words = numpy.ma.atleast_1d(print)
    if numpy.ma.getmaskarray(words).any():
        return None
    return sum(int(word) << 64 * at for at, word in enumerate(words.data))


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_kind_has_the_fingerprints_of_its_texts(kind: str, bits: int) -> None:
    prints = fingerprints(COLUMNS[kind](TEXTS), bits=bits)
    assert prints.dtype == numpy.uint64
    assert prints.shape == ((6,) if bits <= 64 else (6, bits // 64))
    expected = [None if text is None else simhash(text, bits=bits) for text in TEXTS]
    assert [as_int(print) for print in prints] == expected
    assert [print is None for print in expected] == [False, True, False, True, False, False]


def test_many_batches_keep_their_order() -> None:
    texts = [f"number {n} of many texts" if n % 7 else "" for n in range(40_000)]
    prints = fingerprints(texts, recipe="simhash64", threads=2)
    for at in [0, 1, 16_383, 16_384, 39_999]:
        assert as_int(prints[at]) == simhash(texts[at], recipe="simhash64")
    assert prints.mask.sum() == len(range(0, 40_000, 7))
    assert (prints == fingerprints(pyarrow.array(texts), recipe="simhash64")).all()


def test_accepts_no_items() -> None:
    assert fingerprints([]).shape == (0, 2)
    assert fingerprints([], bits=64).shape == (0,)
    assert fingerprints(pyarrow.array([], pyarrow.string())).shape == (0, 2)


def test_columns_of_nothing_but_nulls_are_masked() -> None:
    for column in [[None], pandas.Series([None]), polars.Series([None]), pyarrow.array([None])]:
        assert fingerprints(column, bits=64).tolist() == [None]


def test_a_recipe_is_a_name_or_a_recipe() -> None:
    with pytest.raises(TypeError, match="a recipe must be a name or a Recipe, not int"):
        simhash("text", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a recipe has no bit; did you mean bits?"):
        simhash("text", bit=64)


def test_text_that_is_not_unicode_is_replaced() -> None:
    assert simhash("broken \ud800 text") == simhash("broken \ufffd text")
    assert as_int(fingerprints(["broken \ud800 text"])[0]) == simhash("broken \ufffd text")


def test_features_stand_beside_texts() -> None:
    items = [{"water": 5, "salt": 0.5}, "water salt", [("salt", 0.5), ("water", 5)], ["water"], []]
    prints = [as_int(print) for print in fingerprints(items)]
    assert prints[0] == prints[2] != prints[1]
    assert prints[3] == simhash(["water"])
    assert prints[4] is None


def test_a_hash_of_yours_decides_the_bits() -> None:
    def fnv(data: bytes) -> int:
        hash = 0xCBF29CE484222325
        for byte in data:
            hash = (hash ^ byte) * 0x100000001B3 % 2**64
        return hash

    own = Recipe("simhash64", hash=fnv)
    assert own.simhash("one") == fnv(b"one")
    assert own.simhash(["one"]) == fnv(b"one")
    assert own.simhash([b"one"]) == fnv(b"one")
    big = Recipe("simhash64", hash=lambda data: (1 << 70) + fnv(data))
    assert big.simhash("one") == fnv(b"one")
    negative = Recipe("simhash64", hash=lambda data: -1)
    assert negative.simhash("one") == 2**64 - 1
    assert [as_int(p) for p in fingerprints(["one", None, ""], own)] == [fnv(b"one"), None, None]


def test_a_tokenizer_of_yours_makes_the_tokens() -> None:
    text = "to be or not to be"
    for name in ["words", "bare", "simhash64"]:
        for hash in ["mix", "xxh3"]:
            recipe = Recipe(name, hash=hash)
            assert recipe.replace(tokenizer=str.split).simhash(text) == recipe.simhash(text)
    commas = Recipe("words", tokenizer=lambda text: text.split(","))
    assert commas.simhash("a b,c") == Recipe("words").simhash(["a b", "c"])
    stopped = Recipe("bare", tokenizer=str.split, stop_words=["or", "not"])
    assert stopped.simhash(text) == simhash("to be to be", recipe="bare")


def test_an_extractor_of_yours_takes_any_item() -> None:
    recipe = Recipe(
        bits=64, extractor=lambda number: {f"bit {n}": 1 for n in range(8) if number >> n & 1}
    )
    prints = fingerprints([0b1111_0000, 0b1111_0001, 0b0000_1110, 0], recipe)
    assert distance(int(prints[0]), int(prints[1])) < distance(int(prints[0]), int(prints[2]))
    assert prints[3] is numpy.ma.masked


@pytest.mark.parametrize("choice", ["hash", "tokenizer", "extractor"])
def test_passes_on_exceptions_of_custom_functions(choice: str) -> None:
    def fail(_: Any) -> Any:
        raise LookupError("mine")

    recipe = Recipe(**{choice: fail})  # type: ignore[arg-type]
    with pytest.raises(LookupError, match="mine"):
        recipe.simhash("some text")
    with pytest.raises(LookupError, match="mine") as raised:
        fingerprints([None, "some text"], recipe)
    assert raised.value.__notes__ == ["raised for row 1"]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"hash": str}, "a hash must be an int, not str"),
        ({"tokenizer": str.lower}, "a tokenizer must return a list of tokens, not str"),
        ({"tokenizer": len}, "a tokenizer must return a list of tokens, not int"),
        ({"tokenizer": lambda text: [1.5]}, "a feature must be a str, bytes or an int"),
        (
            {"extractor": str.lower},
            "an extractor must return a dict or a list of features, not str",
        ),
        ({"extractor": len}, "an item must be a text or features"),
        ({"extractor": lambda text: {"a": "b"}}, "a weight must be a number, not str"),
    ],
)
def test_refuses_wrong_results_of_custom_functions_with_their_row(
    choice: dict[str, Any], message: str
) -> None:
    recipe = Recipe(**choice)
    with pytest.raises(TypeError, match=message):
        recipe.simhash("some text")
    with pytest.raises(TypeError, match="row 2: " + message):
        fingerprints([None, float("nan"), "some text"], recipe)
    with pytest.raises(TypeError, match="expected a list of texts"):
        fingerprints("some text", recipe)


def test_custom_functions_accept_columns_of_every_type() -> None:
    recipe = Recipe("bare", tokenizer=lambda text: text.split())
    expected = fingerprints(TEXTS, recipe).tolist()
    assert expected[0] is not None
    for kind in COLUMNS:
        assert fingerprints(COLUMNS[kind](TEXTS), recipe).tolist() == expected, kind


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("one text", "expected a list of texts"),
        (pyarrow.array([1, 2]), "expected a column of texts, not of Int64"),
        (pyarrow.table({"text": ["a"]}), "pass one of its columns"),
        (pandas.DataFrame({"text": ["a"]}), "pass one of its columns"),
        (polars.DataFrame({"text": ["a"]}), "pass one of its columns"),
        ({"water": 5}, "for one dict, use"),
        ([b"water"], "row 0: an item must be a text or features.* not bytes"),
        (["a", 3], "row 1: an item must be a text or features"),
        ([["a", 2.5]], "a feature must be a str, bytes or an int"),
        ([[("a", 1, 2)]], "is not a .feature, weight. pair"),
    ],
)
def test_refuses_items_that_are_not_texts(items: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        fingerprints(items)


def test_recipes_compare_and_pickle() -> None:
    recipe = Recipe("bare", bits=64, stop_words=["the", "a"], top=10)
    assert pickle.loads(pickle.dumps(recipe)) == recipe
    assert recipe != recipe.replace(stop_words=["the"])
    assert hash(recipe) == hash(recipe.replace())
    assert str(Recipe()) == "words: words:1, log, mix, 128 bits, version 1"
    assert Recipe("bare").distance == 33 and Recipe("bare", bits=256).distance == 66
    assert Recipe(tokenizer=str.split).name == "own"
    with pytest.raises(TypeError, match="a recipe has no bitz"):
        recipe.replace(bitz=3)


def test_a_model_weighs_by_rarity_and_travels(tmp_path: Any) -> None:
    texts = ["the cat sat", "the dog sat", "the end of the cat"] * 3
    model = Model.learn(texts, recipe="words")
    assert (model.texts, model.features) == (9, "words:1, mix")
    for column in [
        pyarrow.array([None, *texts]),
        polars.Series(texts),
        pandas.Series([*texts, None]),
    ]:
        assert Model.learn(column, recipe="words") == model
    with pytest.raises(lookalike.errors.RecipeError, match="not custom functions"):
        Model.learn(texts, recipe="words", tokenizer=str.split)
    recipe = Recipe("words", weights="tfidf", model=model)
    plain = Recipe("words")
    assert recipe.simhash("the zebra") != plain.simhash("the zebra")
    model.save(tmp_path / "common.model")
    assert Model.open(tmp_path / "common.model") == model
    assert pickle.loads(pickle.dumps(recipe)) == recipe
    with pytest.raises(
        lookalike.errors.RecipeError, match="needs a corpus model; create one with Model"
    ):
        simhash("text", recipe="keywords")
    with pytest.raises(lookalike.errors.RecipeError, match="the corpus model is of"):
        simhash("text", weights="tfidf", features="words:2", model=model)


def test_missing_fingerprint_is_never_used_as_one() -> None:
    texts = ["to be or not to be", "...", "", "to be or not to be"]
    for bits in [32, 64, 128, 256]:
        prints = fingerprints(texts, bits=bits)
        empty, one = prints[1], prints[0]
        assert distance(empty, one) is None and distance(one, empty) is None
        assert distance(empty, prints[2]) is None and distance(None, 7) is None
        assert lookalike.find_all(prints, 0, bits=bits).tolist() == [[0, 3, 0]]
        index = lookalike.Index(bits=bits, distance=3, prints=prints)
        assert len(index) == 2 and empty not in index and index.search(empty) == []
        for nothing in [empty, None, float("nan"), pandas.NA]:
            with pytest.raises(ValueError, match="fingerprint is missing"):
                index.insert(nothing)
        assert len(index) == 2
        # Code that drops the mask, such as np.save, still gets no matching items.
        saved = io.BytesIO()
        numpy.save(saved, prints)
        saved.seek(0)
        pairs = lookalike.find_all(numpy.load(saved), 3)
        assert pairs.tolist() == [[0, 3, 0]]
    many = distance(fingerprints(texts, bits=128), simhash(texts[0], bits=128))
    assert many.mask.tolist() == [False, True, True, False] and many[0] == many[3] == 0
    assert distance(fingerprints(texts, bits=128), None).mask.all()
    assert distance(fingerprints(texts[::3], bits=128), None).shape == (2,)
    listed = [7, None, numpy.ma.masked, float("nan"), 7]
    assert lookalike.find_all(listed).tolist() == [[0, 4, 0]]


def test_strings_of_arrow_data_that_are_not_utf_8_are_refused() -> None:
    offsets = pyarrow.py_buffer(numpy.array([0, 3, 7, 9], dtype=numpy.int32).tobytes())
    bad = pyarrow.StringArray.from_buffers(3, offsets, pyarrow.py_buffer(b"one\xff\xfe\xfdxok"))
    refused = pytest.raises(ValueError, match="this Arrow data cannot be read: .*UTF")
    with refused:
        fingerprints(bad)
    with refused:
        fingerprints(pyarrow.chunked_array([bad]))
    with refused:
        lookalike.dedup(pyarrow.table({"text": bad}))
