"""Makes simhash.tsv and presets.tsv, and the lines of `mix` in hash.tsv, from docs/algorithm.md alone.

A second implementation, in exact integers, that shares no code with the first: slow, and short enough
to be checked by eye. Run it in this folder with PyPI xxhash, mmh3 and jieba at hand.
"""

import functools
import hashlib
import json
import re
import unicodedata
from collections import Counter

import jieba
import mmh3
import xxhash

MASK = (1 << 64) - 1
P = [0x243F6A8885A308D3, 0x452821E638D01377, 0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917]
BASE = 0x9216D5D98979FB1B


# -- 1.2 tokens --------------------------------------------------------------------------------------

ALONE = [
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3040, 0x30FF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
]
SPACES = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\u200b") | {
    chr(code) for code in range(0x2000, 0x200B)
}


def simple_fold(character):
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


def kind(character):
    category = unicodedata.category(character)
    if character in SPACES:
        return "space"
    if category == "Cf":
        return "ignored"
    if category[0] == "M":
        return "mark"
    if category[0] in "LN":
        return "alone" if any(a <= ord(character) <= b for a, b in ALONE) else "letter"
    return "other"


def normal(text):
    """Characters of the normal form, each with its kind; ignored ones are gone."""
    pairs = [(simple_fold(c), kind(c)) for c in unicodedata.normalize("NFKC", text)]
    return [(character, kind) for character, kind in pairs if kind != "ignored"]


def words(text):
    tokens, word, alone = [], "", False
    for character, kind in normal(text) + [(" ", "space")]:
        if kind in ("space", "other", "alone") or (kind == "letter" and alone):
            if word:
                tokens.append(word)
            word, alone = "", False
        if kind in ("letter", "alone") or (kind == "mark" and word):
            word += character
            alone = alone or kind == "alone"
    return tokens


def chars(text):
    return list(re.sub(" +", " ", "".join(" " if k == "space" else c for c, k in normal(text))).strip(" "))


def code(text, blind=False):
    tokens, name = [], ""
    for character, kind in normal(text) + [(" ", "space")]:
        if kind in ("letter", "alone", "mark") or character == "_":
            name += character
            continue
        if name:
            tokens.append("_" if blind and name[0] not in "0123456789" else name)
        name = ""
        if kind == "other":
            tokens.append(character)
    return tokens


CHINESE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


def dictionary(text):
    form = "".join(simple_fold(c) for c in unicodedata.normalize("NFKC", text))
    tokens = []
    for run in re.findall(f"[{CHINESE}]+|[^{CHINESE}]+", form):
        tokens += jieba.cut(run, HMM=True) if re.match(f"[{CHINESE}]", run) else words(run)
    return tokens


UNITS = {
    "words": words,
    "chars": chars,
    "code": code,
    "blind": lambda text: code(text, True),
    "dictionary": dictionary,
}


def token_bytes(unit, text):
    if unit == "bytes":
        return [bytes([byte]) for byte in text.encode()]
    return [token.encode() for token in UNITS[unit](text)]


# -- 1.4 hashes --------------------------------------------------------------------------------------


def fold(a, b):
    product = a * b
    return product & MASK ^ product >> 64


@functools.cache
def mix(data):
    h = 0
    for start in range(0, len(data), 16):
        block = data[start : start + 16].ljust(16, b"\0")
        low, high = int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")
        h = fold(h ^ low ^ P[0], high ^ P[1])
    return fold(h ^ P[2], len(data) ^ P[3])


def splitmix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def spread(h, words):
    return [h] + [splitmix(h + i * 0x9E3779B97F4A7C15 & MASK) for i in range(1, words)]


def seeded(h, seed):
    return splitmix(h ^ seed) if seed else h


def mix_run(tokens, seed):
    hashes = [mix(token) for token in tokens]
    if len(hashes) == 1:
        return seeded(hashes[0], seed)
    s = 0
    for h in hashes:
        s = s * BASE + h & MASK
    return seeded(fold(s ^ P[0], P[2]), seed)


def lookup3(data, seed):
    """hashlittle2 of Bob Jenkins' lookup3.c: (c, b), with pc and pb the halves of the seed."""
    def rot(x, k):
        return (x << k | x >> 32 - k) & 0xFFFFFFFF

    m = 0xFFFFFFFF
    a = b = c = 0xDEADBEEF + len(data) + (seed & m) & m
    c = c + (seed >> 32) & m
    while len(data) > 12:
        x, y, z = (int.from_bytes(data[i : i + 4], "little") for i in (0, 4, 8))
        a, b, c = a + x & m, b + y & m, c + z & m
        a = a - c & m ^ rot(c, 4); c = c + b & m
        b = b - a & m ^ rot(a, 6); a = a + c & m
        c = c - b & m ^ rot(b, 8); b = b + a & m
        a = a - c & m ^ rot(c, 16); c = c + b & m
        b = b - a & m ^ rot(a, 19); a = a + c & m
        c = c - b & m ^ rot(b, 4); b = b + a & m
        data = data[12:]
    if data:
        x, y, z = (int.from_bytes(data[i : i + 4], "little") for i in (0, 4, 8))
        a, b, c = a + x & m, b + y & m, c + z & m
        c = (c ^ b) - rot(b, 14) & m
        a = (a ^ c) - rot(c, 11) & m
        b = (b ^ a) - rot(a, 25) & m
        c = (c ^ b) - rot(b, 16) & m
        a = (a ^ c) - rot(c, 4) & m
        b = (b ^ a) - rot(a, 14) & m
        c = (c ^ b) - rot(b, 24) & m
    return c | b << 32


def byte_hash(name, seed, data, words):
    if name == "murmur3-128":
        h1, h2 = mmh3.hash64(data, seed, x64arch=True, signed=False)
        return ([h1, h2] + spread(h1, words)[2:])[:words]
    first = {
        "xxh3": lambda: xxhash.xxh3_64_intdigest(data, seed),
        "murmur3-64": lambda: mmh3.hash64(data, seed, x64arch=True, signed=False)[0],
        "jenkins": lambda: lookup3(data, seed),
        "md5-first8": lambda: int.from_bytes(hashlib.md5(data).digest()[:8], "big"),
        "md5-last8": lambda: int.from_bytes(hashlib.md5(data).digest()[8:], "big"),
    }[name]()
    return spread(first, words)


# -- 1.3, 1.5 features and weights -------------------------------------------------------------------


def log2(x):
    whole = x.bit_length() - 1
    m, log = x << (31 - whole), whole
    for _ in range(8):
        m = m * m >> 31
        d = m >> 32
        m >>= d
        log = 2 * log + d
    return log


def feature_hashes(features, stop_words, hash, seed, words, text):
    """The hash of every feature, as many words as asked for, in the order of the text."""
    unit, size = features.split(":")
    tokens = [token for token in token_bytes(unit, text) if token.decode("latin-1") not in stop_words]
    size = min(int(size), len(tokens))
    gap = b"" if unit in ("chars", "bytes") else b" "
    for start in range(len(tokens) - size + 1 if tokens else 0):
        run = tokens[start : start + size]
        if hash == "mix":
            yield tuple(spread(mix_run(run, seed), words))
        else:
            yield tuple(byte_hash(hash, seed, gap.join(run), words))


def fingerprint(features, weights, hash, seed, bits, text, stop_words=(), top=None, model=None):
    words = max(bits // 64, 1)
    counts = Counter(feature_hashes(features, stop_words, hash, seed, words, text))
    weighted = []
    for words_of_hash, count in counts.items():
        weight = {"set": 1, "tf": count, "log": log2(count + 1), "tfidf": log2(count + 1)}[weights]
        if weights == "tfidf":
            texts, having = model
            rarity = log2(texts + 1) - log2(max(having[words_of_hash[0]], 1) + 1)
            weight = weight * rarity >> 8
        weighted.append((weight, words_of_hash))
    weighted = [(weight, h) for weight, h in weighted if weight]
    if top:
        weighted = sorted(weighted, key=lambda pair: (-pair[0], pair[1]))[:top]
    if not weighted:
        return "-"
    value = 0
    for bit in range(bits):
        vote = sum(weight if h[bit // 64] >> bit % 64 & 1 else -weight for weight, h in weighted)
        value |= (vote > 0) << bit
    return f"0x{value:0{bits // 4}x}"


# -- the files ---------------------------------------------------------------------------------------

HAMLET = (
    "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer the slings "
    "and arrows of outrageous fortune, or to take arms against a sea of troubles"
)
SMALL = [
    "The quick brown fox jumps over the lazy dog",
    HAMLET,
    "Straße, CAFÉ, naïve coöperation: 42 ΑΒΓ Привет",
    "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。寒來暑往，秋收冬藏。",
    "Rust 1.89は速い！ とても速いです。",
    "a a a a a a a b b b c",
    "hello",
    " ... ",
]
HASHES = ["mix", "xxh3", "murmur3-64", "murmur3-128", "jenkins", "md5-first8", "md5-last8"]


def simhash_lines():
    for features, weights, bits in [
        ("words:3", "tf", 64), ("words:2", "log", 128), ("chars:1", "tf", 32), ("code:2", "log", 64),
    ]:
        for text in SMALL:
            yield features, weights, "mix", 0, bits, text
            yield features, weights, "xxh3", 0, bits, text
    for hash in HASHES:
        for bits in (32, 64, 128, 256):
            yield "words:1", "tf", hash, 0, bits, HAMLET
        yield "chars:3", "log", hash, 0, 256, SMALL[3]
    for features in ("words:1", "chars:4", "bytes:5", "blind:4"):
        for weights in ("set", "tf", "log"):
            for hash in ("mix", "xxh3"):
                for text in (HAMLET, SMALL[5]):
                    yield features, weights, hash, 0, 64, text
    for hash, seed in [
        ("mix", 0x9E3779B185EBCA8D), ("xxh3", 0x9E3779B185EBCA8D), ("jenkins", 0x123456789ABCDEF),
        ("murmur3-128", 0xDEADBEEF),
    ]:
        yield "words:2", "log", hash, seed, 128, HAMLET


#: (times, text)
TEXTS = [
    (1, "The ferry to the island leaves at nine in the morning from the north end of the harbour. "
        "Tickets are sold on board; dogs travel free of charge, bicycles do not."),
    (1, "去岛上的渡船每天早上九点从港口北端出发。船票在船上出售，狗可以免费乘船，自行车不可以。"),
    (1, "去島上的渡船每天早上九點從港口北端出發。船票在船上出售，狗可以免費乘船，自行車不可以。"),
    (1, "島へのフェリーは毎朝九時に港の北端から出ます。切符は船内で売られ、犬は無料、自転車は有料です。"),
    (1, "تغادر العبّارة إلى الجزيرة كل صباح في الساعة التاسعة من الطرف الشمالي للميناء."),
    (1, "เรือข้ามฟากไปเกาะออกทุกเช้าเวลาเก้าโมงจากปลายท่าเรือด้านเหนือ ตั๋วขายบนเรือ"),
    (1, "द्वीप के लिए नौका हर सुबह नौ बजे बंदरगाह के उत्तरी छोर से निकलती है।"),
    (1, "섬으로 가는 배는 매일 아침 아홉 시에 항구 북쪽 끝에서 떠납니다."),
    (1, "Паром на остров отходит каждое утро в девять часов с северного конца гавани."),
    (1, "great 👍🏽 trip 🚢❤️ to the island 👨‍👩‍👧 5️⃣ stars 🇳🇴"),
    (1, "❤️🚢👍"),
    (1, "Ca\u0301fe\u0301 re\u0301sume\u0301 q\u0307\u0323 n\u0303 A\u030a \u1112\u1161\u11ab \u0915\u093c x\u0304y"),
    (1, "Ｆｕｌｌ－ｗｉｄｔｈ　ｆｏｒｍｓ １２３ ｶﾞｷﾞｸﾞ ﬁne ²³ Ⅷ ℃ ㈱"),
    (1, "soft\u00adhyphen, zero\u200bwidth, می\u200cخواهم, \ufeffmark"),
    (1, "fn main() { let x_1 = compute(0x1F, \"text\"); println!(\"{}\", x_1 + 2); } // the end"),
    (1, "a_word_that_is_longer_than_sixteen_bytes antidisestablishmentarianism "
        "Donaudampfschifffahrtsgesellschaftskapitän exactly16bytes16 seventeen17bytes7"),
    (1, "one two"),
    (1, "!"),
    (1, ""),
    (100_000, "again "),
    (100_000, "東"),
    (1_000, "to be or not to be, that is question {} of many; "),
]

PRESETS = {
    "words": dict(features="words:1", weights="log", bits=128),
    "bare": dict(features="words:2", weights="log", bits=128),
    "simhash64": dict(features="words:3", weights="tf", bits=64),
    "code": dict(features="blind:3", weights="log", bits=128),
    "chars": dict(features="chars:5", weights="log", bits=128),
    "keywords": dict(features="dictionary:1", weights="tfidf", bits=64, top=30),
}


def repeated(times, text):
    return "".join(text.replace("{}", str(number)) for number in range(times))


def stop_words(*languages):
    folder = "../crates/lookalike/src/stop_words"
    listed = " ".join(open(f"{folder}/{language}.txt", encoding="utf-8").read() for language in languages)
    return {"".join(simple_fold(c) for c in word).encode().decode("latin-1") for word in listed.split()}


def preset_lines():
    common = stop_words("en", "zh")
    having = Counter()
    for times, text in TEXTS:
        text = repeated(times, text)
        having.update({h[0] for h in feature_hashes("dictionary:1", common, "mix", 0, 1, text)})
    for name, recipe in PRESETS.items():
        extra = dict(stop_words=common, model=(len(TEXTS), having)) if name == "keywords" else {}
        for times, text in TEXTS:
            print_ = fingerprint(**recipe, **extra, hash="mix", seed=0, text=repeated(times, text))
            yield name, str(times), json.dumps(text, ensure_ascii=False), print_


def mix_lines():
    for seed in (0, 0x9E3779B185EBCA8D):
        for data in [b"", b"a", b"to", b"harbour", b"exactly8", b"exactly16bytes16", b"seventeen17bytes7",
                     "東".encode(), bytes(range(64))]:
            value = seeded(mix(data), seed)
            yield f"mix\t{seed:#x}\t{data.hex() or '-'}\t{value:016x}\tmake.py"


def main():
    jieba.setLogLevel(60)
    with open("simhash.tsv", "w", encoding="utf-8") as file:
        print("# features\tweights\thash\tseed\tbits\ttext\tfingerprint (- for none)", file=file)
        for features, weights, hash, seed, bits, text in simhash_lines():
            value = fingerprint(features, weights, hash, seed, bits, text)
            print(features, weights, hash, f"{seed:#x}", bits, text, value, sep="\t", file=file)
    with open("presets.tsv", "w", encoding="utf-8") as file:
        print("# preset\ttimes\ttext (JSON; {} is 0, 1, 2, ... at each time)\tfingerprint (- for none)", file=file)
        for line in preset_lines():
            print(*line, sep="\t", file=file)
    others = [line for line in open("hash.tsv", encoding="utf-8") if not line.startswith("mix\t")]
    with open("hash.tsv", "w", encoding="utf-8") as file:
        file.writelines(others)
        file.writelines(line + "\n" for line in mix_lines())


if __name__ == "__main__":
    main()
