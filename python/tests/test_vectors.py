"""Golden vectors, which the tests of every front end read."""

from __future__ import annotations

import json
from functools import cache

import pytest
from conftest import vectors
from lookalike import Model, Recipe, fingerprints, simhash


def print_of(text: str) -> int | None:
    return None if text == "-" else int(text, 16)


@pytest.mark.parametrize("line", vectors("simhash.tsv"))
def test_texts_have_the_fingerprints_of_simhash_tsv(line: list[str]) -> None:
    features, weights, hash, seed, bits, text, expected = line
    recipe = Recipe(
        features=features, weights=weights, hash=hash, seed=int(seed, 0), bits=int(bits)
    )
    assert recipe.simhash(text) == print_of(expected)
    (print,) = fingerprints([text], recipe).tolist()
    words = print if isinstance(print, list) else [print]
    whole = None if None in words else sum(word << 64 * at for at, word in enumerate(words))
    assert whole == print_of(expected)


@cache
def keywords() -> Model:
    return Model.learn([text_of(line) for line in vectors("presets.tsv") if line[0] == "keywords"])


def text_of(line: list[str]) -> str:
    template = json.loads(line[2])
    return "".join(template.replace("{}", str(time)) for time in range(int(line[1])))


@pytest.mark.parametrize(
    "line", vectors("presets.tsv"), ids=lambda line: f"{line[0]}-{line[2][:20]}"
)
def test_presets_have_the_fingerprints_of_presets_tsv(line: list[str]) -> None:
    preset, expected = line[0], line[3]
    changes = {"model": keywords()} if preset == "keywords" else {}
    assert simhash(text_of(line), preset, **changes) == print_of(expected)


@pytest.mark.parametrize("line", vectors("votes.tsv"), ids=str)
def test_features_vote_as_in_votes_tsv(line: list[str]) -> None:
    bits, features, expected = line
    pairs = [] if features == "-" else [feature.split(":") for feature in features.split()]
    weighted = [(int(hash, 16), float(weight)) for hash, weight in pairs]
    assert simhash(weighted, bits=int(bits)) == print_of(expected)


@pytest.mark.parametrize("line", vectors("hash.tsv"), ids=lambda line: f"{line[0]}-{line[2][:16]}")
def test_a_single_feature_is_its_hash(line: list[str]) -> None:
    hash, seed, data, value, *_ = line
    feature = b"" if data == "-" else bytes.fromhex(data)
    recipe = Recipe(hash=hash, seed=int(seed, 0), bits=64)
    assert recipe.simhash([feature]) == int(value.split()[0], 16)
