"""PyPI ``simhash``: published and computed values, and the whole public interface."""

from __future__ import annotations

import hashlib
import logging
import random
import re
from collections.abc import Iterable
from typing import Any

import numpy
import pytest
from lookalike.compat.simhash import Simhash, SimhashIndex, bytes_to_int, int_to_bytes


def naive(features: Iterable[tuple[str, float]], f: int = 64) -> int:
    """A bit is set if the digests with this bit have more than half of the total weight."""
    weighted = list(features)
    total = sum(weight for _, weight in weighted)
    digests = [(int.from_bytes(hashlib.md5(t.encode()).digest(), "big"), w) for t, w in weighted]
    ones = [sum(w for digest, w in digests if digest >> bit & 1) for bit in range(f)]
    return sum(1 << bit for bit in range(f) if ones[bit] > total / 2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", 16825458760271544958),
        ("a", 3585878926028121697),
        ("hello world", 10747039046998140950),
        ("My name is John", 13179842956922262407),
        (["aaa", "bbb"], 57087923692560392),
        ([str(n) for n in range(500)], 7984652473404407437),
        ([(str(n), 50 * n) for n in range(500)], 3372825719632739723),
        (0, 0),
        (4390059585430954713, 4390059585430954713),
        (1 << 63, 1 << 63),
        (1 << 70, 1 << 70),
        ([], 0),
    ],
)
def test_values_are_those_of_the_original(value: Any, expected: int) -> None:
    assert Simhash(value).value == expected


def test_other_widths() -> None:
    assert Simhash("hello world", f=128).value == 100413962189157868070162016004274890774
    assert Simhash("hello world", f=32).value == 2945689622
    wide = Simhash("hello world", f=256, hashfunc=lambda x: hashlib.sha256(x).digest())
    assert wide.value.bit_length() > 200
    for f in [8, 40, 64, 96, 128]:
        tokens = ["hell", "ello", "llow", "lowo", "owor", "worl", "orld"]
        assert Simhash("Hello, World", f=f).value == naive([(t, 1) for t in tokens], f)
    with pytest.raises(ValueError, match="f must be a multiple of 8"):
        Simhash("a", f=63)
    with pytest.raises(ValueError, match="hashfunc returns 16 bytes, but f=256 needs 32"):
        Simhash(["a"], f=256)


@pytest.mark.parametrize("seed", range(20))
def test_text_equals_its_slides(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = ["ab_ C9.,-", "äßİ ſΩ-é", "你好世界 ab。", "x"][seed % 4]
    text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(300)))
    letters = "".join(re.findall(r"[\w\u4e00-\u9fcc]+", text.lower()))
    slides = [letters[at : at + 4] for at in range(max(1, len(letters) - 3))]
    assert Simhash(text).value == naive([(slide, 1) for slide in slides])


def test_punctuation_does_not_count_in_chinese_either() -> None:
    one, two = Simhash("你好　世界！　　呼噜。"), Simhash("你好，世界　呼噜")
    assert one.value == two.value == 15820109506574984036
    assert one.distance(two) == 0


def test_weights() -> None:
    expected = naive([("a", 3), ("b", 1), ("c", 1)])
    for features in [
        [("a", 3), ("b", 1), ("c", 1)],
        {"a": 3, "b": 1, "c": 1},
        zip("abc", [3, 1, 1]),
        (pair for pair in [("a", 3.0), ("b", 1.0), ("c", 1.0)]),
    ]:
        assert Simhash(features).value == expected
    assert Simhash([("a", 3), "b"]).value == Simhash([("a", 3), ("b", 3)]).value
    assert Simhash([("a", 300), ("b", 299)]).value == naive([("a", 300), ("b", 299)])
    assert Simhash([("a", 0.3), ("b", 0.2), ("c", 0.2)]).value == naive(
        [("a", 0.3), ("b", 0.2), ("c", 0.2)]
    )
    text = "abcd" * 300 + "efgh"
    assert Simhash(text).value == naive([(text[at : at + 4], 1) for at in range(len(text) - 3)])


def test_negative_weights_lower_the_threshold() -> None:
    # Whole ones have no bits of their own: two of three would not do, two of one and a half do.
    digests = [int.from_bytes(hashlib.md5(x).digest()[-8:], "big") for x in (b"a", b"b")]
    assert Simhash([("a", 2), ("b", 2), ("c", -2)]).value == digests[0] | digests[1]
    # NumPy's speak for themselves, but not for the bare tokens that follow.
    one = numpy.int64(-1)
    assert (
        Simhash([("a", 2), ("c", one), "b"]).value
        == Simhash([("a", 2), ("c", one), ("b", -1)]).value
    )
    assert Simhash([("a", 1), ("c", -1)]).value == digests[0]
    assert Simhash([("a", 1), ("c", one)]).value not in (0, digests[0])


def test_helpers_are_there() -> None:
    assert int_to_bytes(258, 4) == b"\0\0\1\2"
    assert bytes_to_int(b"\1\2") == 258


def test_an_index_asks_the_query_for_the_distance() -> None:
    class Far(Simhash):
        def distance(self, another: Simhash) -> int:
            return super().distance(another) + 10

    index = SimhashIndex([("a", Simhash("text"))], k=3)
    assert index.get_near_dups(Simhash("text")) == ["a"]
    assert index.get_near_dups(Far("text")) == []


def test_other_values() -> None:
    one = Simhash("hello world")
    assert Simhash(one).value == one.value
    assert Simhash(Simhash("hello world", f=32)).f == 64
    with pytest.raises(Exception, match="Bad parameter with type <class 'float'>") as raised:
        Simhash(1.5)
    assert type(raised.value) is Exception
    with pytest.raises(TypeError):
        Simhash(b"bytes")
    with pytest.raises(AttributeError):
        _ = one == "hello"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert one == Simhash("hello, WORLD!") and one != Simhash("hello")
    with pytest.raises(AssertionError):
        one.distance(Simhash("hello", f=32))
    assert one.distance(Simhash(one.value ^ 0b111)) == 3


def test_attributes() -> None:
    log = logging.getLogger("mine")
    one = Simhash("a b c", f=32, reg=r"\w", log=log)
    assert (one.f, one.f_bytes, one.reg, one.log) == (32, 4, r"\w", log)
    assert one.hashfunc(b"") == hashlib.md5(b"").digest() and not one.hashfunc_returns_int
    assert (Simhash.large_weight_cutoff, Simhash.batch_size) == (50, 200)
    assert Simhash("a").log.name == "simhash"


def test_a_pattern_may_be_compiled() -> None:
    assert Simhash("a1b2c3", reg=re.compile("[a-z]")).value == Simhash("abc").value
    assert Simhash("A B", reg=".").value == naive([("a b", 1)])


def test_a_hash_may_be_a_number() -> None:
    def number(x: bytes) -> int:
        return int(hashlib.md5(x).hexdigest(), 16)

    def sha(x: bytes) -> bytes:
        return hashlib.sha256(x).digest()

    for value in ["hello world", ["aaa", ("bbb", 2.5)]]:
        assert Simhash(value, hashfunc=number).value == Simhash(value).value
        assert Simhash(value, hashfunc=sha).value != Simhash(value).value
    assert Simhash("a", hashfunc=number).hashfunc_returns_int
    heard: list[bytes] = []
    Simhash(7, hashfunc=lambda x: heard.append(x) or b"12345678")  # type: ignore[func-returns-value]
    assert heard == [b"test"]


def test_subclasses_cut_as_they_like() -> None:
    class Words(Simhash):
        def _tokenize(self, content: str) -> list[str]:
            return content.split()

    class Pairs(Simhash):
        def _slide(self, content: str, width: int = 2) -> list[str]:
            return super()._slide(content, width)

    assert Words("b a b").value == naive([("a", 1), ("b", 2)])
    assert Pairs("abcd").value == naive([("ab", 1), ("bc", 1), ("cd", 1)])


TEXTS = {
    1: "How are you? I Am fine. blar blar blar blar blar Thanks.",
    2: "How are you i am fine. blar blar blar blar blar than",
    3: "This is simhash test.",
    4: "How are you i am fine. blar blar blar blar blar thank1",
}


def test_an_index_finds_all_within_k() -> None:
    index = SimhashIndex([(str(key), Simhash(text)) for key, text in TEXTS.items()], k=10)
    query = Simhash("How are you i am fine.ablar ablar xyz blar blar blar blar blar thank")
    near = {str(k) for k, text in TEXTS.items() if Simhash(text).distance(query) <= 10}
    assert len(near) == 3 and set(index.get_near_dups(query)) == near
    index.delete("1", Simhash(TEXTS[1]))
    assert set(index.get_near_dups(query)) == near - {"1"}
    index.delete("1", Simhash(TEXTS[1]))
    assert set(index.get_near_dups(query)) == near - {"1"}
    index.add("1", Simhash(TEXTS[1]))
    index.add("1", Simhash(TEXTS[1]))
    assert set(index.get_near_dups(query)) == near


@pytest.mark.parametrize("k", [0, 2, 3, 7])
def test_an_index_equals_comparing_with_each(k: int) -> None:
    rng = random.Random(k)
    values = [rng.getrandbits(64) for _ in range(50)]
    values += [v ^ sum(1 << b for b in rng.sample(range(64), rng.randrange(k + 3))) for v in values]
    index = SimhashIndex([(at, Simhash(value)) for at, value in enumerate(values)], k=k)
    for query in values:
        near = {str(at) for at, value in enumerate(values) if (value ^ query).bit_count() <= k}
        assert set(index.get_near_dups(Simhash(query))) == near


def test_an_index_shows_its_buckets() -> None:
    index = SimhashIndex([("a,b", Simhash(0xFF))])
    assert (index.k, index.f, index.offsets) == (2, 64, [0, 21, 42])
    assert list(index.get_keys(Simhash(0xFF))) == ["ff:0", "0:1", "0:2"]
    assert index.bucket["ff:0"] == {"ff,a,b"}
    assert index.get_near_dups(Simhash(0xFF)) == ["a,b"]
    assert index.bucket_size() == 3
    assert index.get_near_dups(Simhash(0xFF00)) == []
    assert index.bucket_size() == 4, "a question makes buckets"
    with pytest.raises(AssertionError):
        index.add("x", Simhash("a", f=32))
    with pytest.raises(TypeError):
        SimhashIndex(iter([]))


def test_warns_about_big_buckets(caplog: pytest.LogCaptureFixture) -> None:
    index = SimhashIndex([(at, Simhash(at)) for at in range(201)])
    with caplog.at_level(logging.WARNING, "simhash"):
        index.get_near_dups(Simhash(0))
    assert "Big bucket found. key:0:1, len:201" in caplog.text
