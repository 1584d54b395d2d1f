"""Writes the first inputs of every fuzz target into DIR/TARGET/, in our own words or from the project's own samples
and cases: fuzz.sh starts from them and from corpus/. What the leading bytes of an input choose, its target says."""

import argparse
import bz2
import gzip
import io
import json
import pathlib
import struct
import tarfile
import zipfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SEED_BYTES_MAX = 3000

PAGE = (
    '<page><title>Tea &amp; milk</title><ns>0</ns><id>7</id><revision><id>9</id>'
    '<timestamp>2026-02-03T04:05:06Z</timestamp><model>wikitext</model>'
    '<text bytes="3">Tea is \'\'hot\'\' &lt;ref&gt;x&lt;/ref&gt;.</text></revision></page>\n'
)
HEAD = (
    '<mediawiki version="0.11" xml:lang="de"><siteinfo><sitename>Probe</sitename><dbname>dewiki</dbname>'
    '<case>first-letter</case><namespaces><namespace key="0" /><namespace key="6">Datei</namespace></namespaces>'
    '</siteinfo>\n'
)
DUMP = (HEAD + PAGE + "<page><title>B</title><redirect title=\"C\"/></page>" + PAGE * 2 + "</mediawiki>\n").encode()
TEXT = "A first line.\nA second one, behind it.\n\n\nAnother document\r\n\n  the last\n".encode()
JSONL = (
    b'{"id": 1, "title": "A", "text": "One.\\nTwo."}\n\n{"text": "\\u00e9 & \\ud83d\\ude00", "id": "x"}\n{"no": 1}\n'
)


def cases(name):
    """The inputs of a .cases file."""
    for case in next((PROJECT / "tests" / "pipeline").rglob(name)).read_text(encoding="utf-8").split("\n=== ")[1:]:
        lines = case.split("\n")
        yield "\n".join(lines[1 : lines.index("---")]) if "---" in lines else "\n".join(lines[1:])


def samples():
    for path in sorted((PROJECT / "samples" / "wiki").glob("*.wiki")):
        yield path.read_bytes()[:SEED_BYTES_MAX]


def block_body(text, level=1):
    """The bits of a block after its CRC, moved to the beginning of a byte."""
    bits = "".join(f"{byte:08b}" for byte in bz2.compress(text, level))[32 + 80 :]
    return bytes(int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))


def bzip2():
    texts = [
        b"a",
        b"tea and milk " * 9,
        bytes(range(200)) * 2,
        b"a" * 700 + b"b" * 5,
        b"abcabcabd" * 200,
        bytes(range(256)) * 3,
    ]
    for text in texts:
        yield b"\x01" + block_body(text)
        yield b"\x10" + bz2.compress(text, 9)


def chain():
    text = b"tea and milk, milk and tea, the hot and the cold: a text of seventy bytes."
    stream = lambda order, part: bytes([order, len(part)]) + part
    yield b"\x20" + stream(1, text)
    yield b"\x03" + stream(1, text) + stream(7, b"") + stream(48, text) + b"\x02\x05"
    yield b"\x08" + stream(0, text) + stream(3, b"BZh") + stream(1, text)
    yield b"\x08" + stream(1, text) + b"\x04\x20"
    yield b"\x08" + stream(1, text) + b"\x05\x10\x90" + stream(6, text)


def dump():
    damaged = bytes([0x60, 0x40])  # place, mask
    for payload in (DUMP, TEXT, JSONL, b"\xef\xbb\xbf" + TEXT):
        yield bytes([0, 20, 90, 0, 1, 30, 0, 0]) + payload
        yield bytes([2, 30, 100, 0, 2, 20, 0, 0]) + payload
        yield bytes([3, 25, 60, 30, 2, 10]) + damaged + payload
        yield bytes([1, 40, 60, 20, 2, 10]) + damaged + payload
    yield bytes(8) + b"<html><head><title>404</title>"
    yield bytes(8) + b"\x1f\x8b\x08"


def xml():
    yield PAGE.encode()
    yield PAGE.encode() + b"\0" + HEAD.encode()
    yield b"<page>\0<mediawiki><!DOCTYPE a [<!ENTITY b 'c'>]><siteinfo>"
    yield b"<page><title>&#x41;&unknown;</title></page>"
    yield b"<page><id>18446744073709551615</id><ns>-2147483648</ns><revision><text><![CDATA[<b>]]></text></revision>"
    yield b"<page><ns>-1</ns><revision><text><![CDATA[<b>]]></text></revision></page>"
    yield b"<page>" + b"<a>" * 20


def wikitext():
    for text in cases("wikitext.cases"):
        yield b"\0\x04" + text.encode()
    for text in samples():
        yield b"\0\x1f" + text
    for lang, text in enumerate(
        ("[[Datei:A|mini|b]]", "-{zh-cn:甲;zh-tw:乙}-", "[[ファイル:A]]", "{{date|1|mai|2020}}")
    ):
        yield bytes([lang + 1, 4]) + text.encode()


def encodings():
    codecs = ["utf-16", "utf-16le", "utf-16be", "utf-32", "utf-32be", "cp1252", "cp1255", "koi8-r", "gb18030", "sjis"]
    for number, codec in enumerate(codecs + ["cp949", "big5"]):
        for text in ("A boat, \u00e9, \u05d0, \u0436.\n", "\u8239 \u306e\u3001\ud55c\U0001f600\n", "1\tA boat.\n" * 6):
            for step in (0, 1, 40):
                yield bytes([number, step, 6 * step]) + text.encode(codec, "ignore")
    texts = [
        "WEBVTT\n\n00:01.000 --> 00:02.000\nA boat.\n", '"A\\n"\n"B"\n', "# c\n{}\n", "WARC/1.0\nWARC-Type: x\n",
        "From a Mon 2026\nFrom: a\n", "Date: x\nReceived: y\nSubject: z\n\n", "__label__a b\n" * 4, "a O\nb B-X\n" * 5,
    ]
    for text in texts:
        yield b"\5\3\3" + text.encode()


def utf8():
    yield "aé€😀\u0000\uffff".encode() + b"\xc0\x80\xe0\x9f\xbf\xed\xa0\x80\xf4\x90\x80\x80\xf0\x9f\x98 \xff"


def entities():
    yield b"&amp; &ndash;&#8211;&#x2013; &#xD800; &#0; &#145; &#1114112; &notin; &thetasym; &; &# &#x; &amp"


def expr():
    yield from (b"2+3*(4-1)^2 round -1", b"not (1 < 2 and pi &gt;= e) or 7 mod 3 != 1", b"sin(pi/6)/-1.5e-3",
                b"((", b"1,0")


def sentences():
    for i, text in enumerate(cases("sentences.cases")):
        yield bytes([i % 28]) + text.encode()
    for i, text in enumerate(cases("sentences_languages.cases")):
        yield bytes([i % 28]) + text.encode()
    yield b"\0" + b"word " * 500 + b"\n" + b"x" * 2500


def bpe():
    texts = [
        "It's the thing,  IT'S in 1234567 aaaaaaaaa!?\r\n\r\n the",
        "<s> a <m>ab abc xab <m><m>    xy   ",
        "e\u0301e\u0301\u0327 \u00e9\u0323\u4e2d \u1100\u1161\u11a8\uac00\u11a8 \u0958\u0344",
        "'\u017f 'LL \u00b2\u2167 \u00a0\u3000 \u0085\t\tx",
        "\0\0 \0!\0\0 \1\2\1",
        "abcdefghcdefgh" * 5 + "aaaa" * 20,
        " \n  \n\n x \n",
    ]
    for i, text in enumerate(texts):
        for choice in {i, i + 8, (3 * i + 5) % 16}:
            yield bytes([choice]) + text.encode() + b" \xe4\xb8 x"[:i]


def tokenizer():
    texts = [
        "The unwanted café, the ÉCOLE.",
        "東京 ab豈c",
        "ΑΣ. ΑΣ́Β Σ",
        "İi̇ 가각 x\u0301\u0327y",
        "a\u200db \u00a0\u3000 [MASK] \u00ad",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " * 6,
        "≠ \u037e \u1fef 𝅗𝅥",
        "ABC123, 12abc-the" * 5,
        "a" * 100 + " " + "a" * 101,
        "a" * 200 + " " + "a" * 201,
        "\uac00\u302e\U0001d165\u302f\U0001d16d\u0301",
    ]
    for i, text in enumerate(texts):
        for choice in {2, 6, i % 12}:  # accents stripped as by either profile, and any other way
            yield bytes([choice]) + text.encode() + b" \xe4\xb8 x"[:i]


def shard():
    head, labels, positions = (1, 2, 16, 5, 4, 0), (7, 8, 9, 10), (1, 2, 3, 15)
    record = struct.pack("<QQ4H16H4H4H", *head, *range(2, 18), *labels, *positions)
    fields = bytes([0, 3, 95, 0, 0, 0, 150, 1])
    yield b"\x01" + fields + record * 2
    yield b"\x01" + bytes([112, 19, 95, 1, 1, 1, 1, 3]) + record * 9
    yield b"\x02\x89DSS\r\n\x1a\n" + struct.pack("<8I", 1, 1, 4096, 72, 16, 4, 2, 100) + bytes(4096 - 40)
    yield b"\0\x89DSS\r\n\x1a\n" + struct.pack("<I", 9)


def manifest():
    special = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
    lengths = [
        {"seq": 16, "predictions": 4, "split": split, "samples": samples, "tokens": samples * 9, "shards": shards}
        for split, samples, shards in (("train", 17, 2), ("valid", 0, 0))
    ]
    shards = [
        {
            "file": f"seq16/train-0000{i}-of-00002.dss",
            "samples": n,
            "bytes": 4096 + n * 72 + 8 + 48,
            "hash": "0123456789abcdef",
        }
        for i, n in enumerate((9, 8))
    ]
    facts = {
        "root_hash": "0" * 16,
        "format_version": 1,
        "text_version": 1,
        "vocab_size": 10,
        "vocab_bytes": 50,
        "vocab_hash": "f" * 16,
        "special": special,
        "cased": False,
        "accents": "strip",
        "pairs": "nsp",
        "masking": "token",
        "mask_millionths": 150000,
        "seed": "18446744073709551615",
        "documents": 3,
        "options": {"lang": "en \"\\ é"},
        "pages": {"kept": 3, "dropped": {"empty": 1}},
        "text": {"bytes": 10, "kept": 6, "markup": 3, "dropped": {"empty": 1}},
        "templates_unknown": {"count": 2, "bytes": 9, "characters": 9},
        "sources": [{"bytes": 12, "hash": "0" * 16}],
        "lengths": lengths,
        "shards": shards,
    }
    yield json.dumps(facts, indent=0, ensure_ascii=False).encode()
    yield json.dumps({**facts, "format_version": 9}, indent=0).encode()
    yield json.dumps({**facts, "lengths": [], "shards": []}, indent=0).encode()


def vocab():
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
        "##s",
        "café",
        "un",
        "##want",
        "##ed",
        "##a",
        "[unused1]",
    ]
    text = "\n".join(pieces).encode()
    for choice in (0, 1, 3):
        yield bytes([choice]) + text + b"\n"
        yield bytes([choice]) + text.replace(b"\n", b"\r\n") + b"\n\nthe\n \xe3\x80\x80\n\n"
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {piece: i for i, piece in enumerate(pieces)},
    }
    whole = {
        "added_tokens": [{"id": 0, "content": "[PAD]"}, {"id": len(pieces), "content": "[X]"}],
        "model": model,
        "normalizer": {
            "type": "BertNormalizer",
            "lowercase": True,
            "strip_accents": None,
            "handle_chinese_chars": False,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
    }
    yield b"\x02" + json.dumps(whole).encode()
    yield b"\x02" + json.dumps({**whole, "model": {**model, "type": "BPE"}}).encode()


def templates():
    patterns = "# ours\nlake = $1 ({$2, }${depth|d})\nbox = ¶ \\{ $1 \\$\nnothing =\nmany = " + "$1" * 64 + "\n"
    yield patterns.encode() + b"\0A {{lake|Como|410|depth=3}} {{Box|x}} {{nothing}} {{many|{{lake|a}}}} {{many|}}"
    for text in list(cases("wikitext.cases"))[::9]:
        yield b"convert = $1$2\nlang = ${2}\n\0" + text.encode()


def bodies():
    for case in cases("bodies.cases"):
        seed = b""
        for part in ("\n" + case).split("\n@@")[1:]:
            name, _, body = part.partition("\n")
            seed += name.strip().encode() + b"\0" + body.encode() + b"\0" if name.strip() else b""
        yield seed


def report():
    yield b"lang\0<script>alert(1)</script>\0\" onmouseover=\"a\0]]></style>\0\xe2\x80\xaeevil\0&#x3c;"
    yield b"##\0##s\0\x01\0-->"
    yield "Ærøskøbing\0می‌خواهم\0\U000e0001\0'".encode() + b"\0" + b"long " * 30 + b"\xff"


def article():
    yield b"\0" + PAGE.encode()
    yield b"\0" + PAGE.replace("<ns>0</ns>", "").replace("Tea", "User: x").encode()
    yield b"\x01" + TEXT
    for line in JSONL.split(b"\n"):
        yield b"\x02" + line
    yield b"\x02" + json.dumps({"text": "a\0b", "title": "\0", "id": 4503599627370495, "revid": -1}).encode()


def convert():
    wet = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: u\r\nContent-Length: 9\r\n\r\nOne \"x\".\n\r\n\r\n"
    texts = [wet + wet, "1\tOne.\n02\tTwo.\r\n\nThree\n4", '"One."\n"T\\u0077o.\\\\"\n\n3\n',
             '[{"text": "a]}\\"", "b": [{}]},\n "Two", {"text":\n"c"}]',
             '\ufeffid,text\r\n1,"One, ""x""\r\ny"\r\n\r\n2,Two "z"\n3\n4,5,6\n7,']
    for row, text in enumerate(texts):
        for step in range(3):
            yield bytes([row, step * 5, step % 2 * 128]) + text.encode()
        yield bytes([row, 3, 129]) + text[: len(text) * 2 // 3].encode()


def archive():
    members = {"a/1.txt": TEXT, "2.jsonl": JSONL * 5, ".h": b"", "b/": b""}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as packed:
            for name, content in members.items():
                packed.writestr(zipfile.ZipInfo(name), content, method)
        yield b"\x01" + out.getvalue()
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as packed:
            for name, content in members.items():
                info = tarfile.TarInfo(name if form == tarfile.USTAR_FORMAT else name * 30)
                info.size = len(content)
                packed.addfile(info, io.BytesIO(content))
        yield b"\x03" + out.getvalue()[:4095]
        yield b"\x40" + gzip.compress(out.getvalue(), mtime=0)


def exclude():
    words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    yield words.encode() + b"\xffx " + words.encode()
    yield json.dumps({"a": [words, {"b": "\u00e9 " + words}]}).encode() + b"\n{no\n\xff" + words.upper().encode()


def json_line():
    yield from JSONL.strip().split(b"\n")
    yield b'{"text": "\\u0000\\ud83d\\ude00\\n", "id": -9223372036854775808, "a": [true, false, null, {"a": {}}]}'
    yield b'{"a": [1.5e308, 0.25, -0, 1E-5, 12e+3, 1e309], "\\u0061": 9223372036854775808}'
    yield b" {\t\"\":[[[[{}]]]] ,\"b\":{\"k1\":1,\"k2\":2,\"k3\":3,\"\\u006b2\":4}} "


def safetensors():
    tensor = lambda dtype, shape, at, to: {"dtype": dtype, "shape": shape, "data_offsets": [at, to]}
    weights = {
        "bert.embeddings.LayerNorm.gamma": tensor("F32", [2], 0, 8),
        "__metadata__": {"format": "pt"},
        "module.bert.pooler.dense_act.bias": tensor("F16", [2], 8, 12),
        "x": tensor("I64", [], 12, 20),
        "empty": tensor("BOOL", [0, 3], 20, 20),
        "cls.predictions.decoder.weight": tensor("BF16", [5, 2], 20, 40),
    }
    header = json.dumps(weights).encode()
    yield b"\x01" + header + b"\0" + bytes(range(40))
    yield b"\0" + struct.pack("<Q", len(header)) + header + bytes(40)
    yield b"\0" + struct.pack("<Q", 1 << 62) + b"{}"
    yield b"\x01" + json.dumps(
        {"a": tensor("U8", [2, 2], 0, 4), "b": tensor("F64", [1], 2, 10)}
    ).encode() + b"\0" + bytes(10)
    table, final = (f"roberta_prelayernorm.{name}.weight" for name in ("embeddings.position_embeddings", "LayerNorm"))
    weights = {table: tensor("F32", [6, 2], 0, 48), final: tensor("F32", [2], 48, 56),
               "lm_head.bias": tensor("F32", [5], 56, 76)}
    yield b"\x01" + json.dumps(weights).encode() + b"\0" + bytes(76)


def config():
    base = {
        "model_type": "bert",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 128,
        "vocab_size": 30522,
        "max_position_embeddings": 128,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "initializer_range": 0.02,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
    }
    yield json.dumps(base).encode()
    yield json.dumps(
        {**base, "hidden_act": "gelu_new", "position_embedding_type": "absolute", "is_decoder": False}
    ).encode()
    yield json.dumps({**base, "hidden_size": 2147483648, "layer_norm_eps": 0}).encode()
    yield b'{"hidden_size": 64, "hidden_size": 64}'
    yield json.dumps({**base, "model_type": "roberta-prelayernorm", "pad_token_id": 1}).encode()


def journal():
    facts = {"journal_version": 2, "identity": {"seed": 1}, "stage": 1, "bucket_bits": [1, 0]}
    yield json.dumps(facts).encode()
    yield json.dumps({**facts, "stage": 0, "bucket_bits": []}).encode()
    head = {"place": 2, "bit": 900, "blocks": 3, "level": 9, "crc": 1, "stored": 0, "guessed": False, "doubt": False}
    state = {"window": 2, "part": 0, "bit": 1000, "level": 9, "crc": 5, "padding": False, "open": True, "match": 1,
             "closed": False, "unsure": True, "lost": 0, "hash": "0" * 16, "head": head}
    extent = {"extent_version": 1, "first": 0, "file": 0, "state": state, "head": head, "pages": 12,
              "hashes": ["f" * 16], "seconds": 1.5, "counts": [7, 8],
              "templates": {"missed": 3, "rows": [["infobox", 2, 30, 0], ["", 1, 9, 3]]}, "spill_bytes": [1, 2, 3]}
    yield json.dumps(extent).encode()
    yield json.dumps({**extent, "file": 1, "head": {**head, "place": 0}, "spill_bytes": [0, 0, 0]}).encode()


def state():
    facts = {
        "state_version": 1,
        "step": 9,
        "updates": 9,
        "samples": 90,
        "tokens": 900,
        "norm_max": 1.25,
        "norm_max_step": 3,
        "files": {"config.json": "0" * 16},
        "run": {"seed": "1"},
        "hash": "0" * 16,
    }
    yield json.dumps(facts).encode()


def run():
    identity = {"dataset": "3cecad01c5a5125a", "seq": 32, "initial_weights": "random", "masks": "auto", "seed": 42,
                "batch": 4, "steps": 9, "hidden_dropout": 0.1, "optimizer": "adam", "schedule": "linear", "lr": 0.0001,
                "warmup": 0.01}
    settings = {"shards": "data/ds", "seq": "32", "model": "tiny", "batch": "4", "steps": "9", "out": "run"}
    start = {"step": 0, "time": "2026-02-03T04:05:06Z", "host": "box", "version": "0.2.0", "device": "cpu fp32",
             "micro_batch": 4, "processes": 1, "arithmetic_version": 3, "command": ["dstrain", "--shards", "ds"],
             "ranks": [{"host": "box", "device": "cpu", "share": 4}]}
    facts = {"version": "0.2.0", "identity": identity, "precision": "fp32", "finished": True, "settings": settings,
             "starts": [start], "saves": [{"step": 5, "seconds": 0.048}]}
    yield json.dumps(facts).encode()
    mixture = {key: identity[key] for key in identity if key != "dataset"}
    mixture["mixture"] = "0.7 3cecad01c5a5125a + 0.3 0123456789abcdef"
    yield json.dumps({**facts, "identity": mixture, "finished": False, "ended": {"step": 5, "why": "patience"},
                      "settings": {**settings, "shards": ["a=0.7", "b=0.3"]},
                      "starts": [start, {**start, "step": 4}]}).encode()
    yield json.dumps({"identity": {"task": "glue CoLA", "steps": -1}, "starts": [], "saves": []}).encode()


def metrics():
    train = {"step": 1, "loss": 6.69123, "mlm_loss": 6.045531, "mlm_accuracy": 0, "loss_mean": 6.7056,
             "learning_rate": 0,
             "grad_norm": 5.688785, "samples": 24, "tokens": 768, "epoch": 0.026966, "seconds": 0.048,
             "sequences_per_second": 495.41, "loss_scale": 1, "skipped": 0, "shares": [3, 1]}
    valid = {**train, "step": 5, "split": "valid", "valid_samples": 118, "loss": 6.660351, "grad_norm": None,
             "datasets": [{"valid_samples": 60, "loss": 6.5}, {"valid_samples": 58, "loss": 6.75}]}
    lines = [json.dumps(each).encode() for each in (train, {**train, "step": 4}, valid, {**train, "step": 6})]
    yield b"\n".join(lines) + b"\n"
    yield b"\n".join(lines[:2]) + b"\n[]\n"
    yield b'{"step":1,"loss":2.5}\n{"step":5,"split":"valid"}\n{"step":6}\n{"st'
    yield b"".join(b'{"step":%d,"loss":%d.5}\n' % (step, 3 + 9 * (step == 40)) for step in range(44))


def build():
    recipe = {"text_version": 3, "format_version": 1, "seq": [32], "max-predictions": [8], "mask-prob": 150000,
              "keep": 4, "drop": 1, "lang": "", "cased": False, "accents": "strip", "vocab-size": 400}
    identity = {"inputs": [{"kind": 1, "bytes": 71338, "fingerprint": "ee01ddda2c92f5b7"}], "vocabulary": "learned",
                "recipe": recipe}
    row = lambda name: {"name": name, "count": 2, "bytes": 291}
    facts = {
        "sources": [{"name": "a.xml.bz2", "wiki": "enwiki", "site": "Probe", "base": "https://probe.example.org/"}, {}],
        "command": ["dsdata", "build", "a.xml.bz2", "--out", "ds"],
        "identity": identity,
        "date": "2026-02-03T04:05:06Z",
        "host": "box",
        "threads": 2,
        "seconds": 0.0458,
        "damage": {"places": 0, "bytes": 0},
        "thread_seconds": {"read": 2.9e-5, "decode": 0.0016},
        "templates": {"rows": [row("Infobox planet"), row("Refn")], "missed": 3},
        "holes": [{"name": "Convert", "count": 4}],
        "sentences": [{"name": "<b>", "count": 4}],
    }
    yield json.dumps(facts, indent=1).encode()
    yield json.dumps({**facts, "command": [], "templates": {"rows": [row("a")] * 60}, "sources": {"name": 1}}).encode()
    yield json.dumps({"identity": {**identity, "recipe": {"lang": "en", "seq": None, "x": [1, {"y": 2}]}}}).encode()


def words(*lines):
    for line in lines:
        yield "\0".join(line.split()).encode()


def options_dsdata():
    yield from words(
        "build a.xml.bz2 --vocab-size 30522 --seq 128,512 --max-predictions=20,80 --out ds --memory 2G -q",
        "build --wiki a b --text c --mask-prob 0.15 --keep headings,lists --valid 0.005 --masking whole-word "
        "--copies 2",
        "vocab - --out vocab.txt --limit 10 --algo bpe --force", "show ds --sample 0 --seq 128 --split valid --json",
        "export ds --seq 128 --format tfrecord --files 4 --epoch 1 --masks fresh", "help build", "build --help",
        "verify ds --sha256 sums", "tokenize --vocab v -- -x", "bild", "build --vocabsize 3", "--version", "--man",
    )
    yield b"\x02\x00\0\x01\x07=9\0\x01\x15\x00--\0a"


def options_dstrain():
    yield from words(
        "--shards a=0.7 --shards b=0.3 --model base --batch 256:4096 --batch-warmup 0.1 --steps 1000 --lr 1e-4 -q",
        "train --config c.json --set optimizer.type=LANS gradient_clipping=1 --save-every 30m --time-limit 8h --fresh",
        "plan --recipe fast --epochs 2.5 --dropout 0 --schedule wsd --decay 0.2", "show run --json",
        "report a b --out -",
        "squad --train t.json --dev d.json --null-threshold -1.5 --seq 384", "glue --data g --seeds 3 --epochs 3",
        "verify run --replay --from 10 --to 20", "--stpes 9",
        "--shards a --mask-prob 0.05:0.3 --dropout 0.05 --device cpu",
        "--completion",
        "--learning_rate 1",
    )
    yield b"\x02\x00\0\x01\x20=9\0\x01\x31=0.5\0--\0a"


TARGETS = {
    function.__name__: function
    for function in (
        utf8,
        encodings,
        bzip2,
        chain,
        dump,
        xml,
        wikitext,
        entities,
        expr,
        sentences,
        bpe,
        tokenizer,
        shard,
        manifest,
        vocab,
        templates,
        bodies,
        report,
        article,
        convert,
        archive,
        exclude,
        json_line,
        safetensors,
        config,
        journal,
        state,
        run,
        metrics,
        build,
        options_dsdata,
        options_dstrain,
    )
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    directory = parser.parse_args().directory
    for name, seeds in TARGETS.items():
        (directory / name).mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(seeds()):
            (directory / name / f"seed-{i:03}").write_bytes(seed)


if __name__ == "__main__":
    main()
