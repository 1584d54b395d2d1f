#!/usr/bin/env python3
"""python -m dsshards jsonl: Parquet, Arrow, folders, data sets and web archives give their texts to dsdata extract, by
the commands that dsdata prints, where the packages are installed."""

import gzip
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

project = pathlib.Path(__file__).resolve().parents[2]
dsdata = pathlib.Path(sys.argv[1]).resolve() / "dsdata"
if not dsdata.exists():
    print(f"{dsdata} is not built: skipped")
    sys.exit(77)
try:
    import numpy  # noqa: F401
    import pyarrow
    from pyarrow import feather, parquet
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)
os.environ["PYTHONPATH"] = str(project / "python")
os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
os.environ["HF_DATASETS_OFFLINE"] = "1"
TEXTS = [f'The boat number {n} left.\n"Nobody" saw it, é.' for n in range(3000)]
ROWS = {"text": TEXTS, "id": list(range(3000)), "none": [None] * 3000, "raw": [b"\xff"] * 3000}


def shell(command, code=0):
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert done.returncode == code, (command, done.returncode, done.stderr[-1000:])
    return done.stdout.decode()


def printed(path):
    """The command in dsdata's refusal of a file, without the build at its end."""
    done = subprocess.run([dsdata, "build", path], capture_output=True, text=True, check=False)
    assert done.returncode == 6, done
    return re.search(r"^  (?:unpack it, then: )?(.*) \| dsdata build --out D --jsonl -", done.stderr, re.M)[1]


def texts(command):
    lines = shell(f"{command} | '{dsdata}' extract --jsonl -").splitlines()
    return [json.loads(line)["text"].rstrip("\n") for line in lines]


def files(folder):
    table = pyarrow.table(ROWS)
    parquet.write_table(table, folder / "it's a.parquet", row_group_size=700)
    feather.write_feather(table, folder / "b.arrow")
    with pyarrow.OSFile(str(folder / "c.stream"), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, 1000)
    for path in sorted(folder.iterdir()):
        command = printed(path)
        assert texts(command) == TEXTS, path
        first = json.loads(shell(f"{command} --columns id,text --limit 1"))
        assert first == {"id": 0, "text": TEXTS[0]}, first
    assert texts(f"python3 -m dsshards jsonl '{folder}'") == 3 * TEXTS
    shell(f"python3 -m dsshards jsonl '{folder}' | head -1 >/dev/null", 0)


def refused(folder):
    (folder / "x").write_text("a text")
    shell(f"python3 -m dsshards jsonl '{folder / 'x'}'", 1)
    shell(f"python3 -m dsshards jsonl '{folder}'", 1)
    hub = importlib.util.find_spec("datasets") is not None
    shell(f"python3 -m dsshards jsonl '{folder}/nowhere'", 1 if hub else 2)  # not a data set of the hub either


def data_set(folder):
    try:
        import datasets
    except ImportError:
        print("no datasets: not tested")
        return
    datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(str(folder / "saved"))
    assert texts(f"python3 -m dsshards jsonl '{folder / 'saved'}'") == TEXTS


def web(folder):
    try:
        import trafilatura  # noqa: F401
        import warcio  # noqa: F401
    except ImportError:
        print("no trafilatura or warcio: not tested")
        return
    text = " ".join(f"The ferry left the harbour at {n} in the morning, and nobody knew why." for n in range(20))
    page = f"<html><head><title>x</title></head><body><nav>Menu</nav><article><p>{text}</p></article></body></html>"
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}"
    record = ("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/\r\n"
              "WARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
              "Content-Type: application/http; msgtype=response\r\n"
              f"Content-Length: {len(http)}\r\n\r\n{http}\r\n\r\n").encode()
    (folder / "a.warc").write_bytes(record + record)
    assert texts(printed(folder / "a.warc")) == [text, text]
    (folder / "b.warc.gz").write_bytes(gzip.compress(record))
    assert texts(f"python3 -m dsshards jsonl '{folder / 'b.warc.gz'}'") == [text]
    (folder / "page.html").write_text(page)
    done = subprocess.run([dsdata, "build", folder / "page.html"], capture_output=True, text=True, check=False)
    command = re.search(r"its text: (.*) \| dsdata", done.stderr)[1]
    assert text in shell(command), command


def table(folder):
    """What dsdata extract writes, as Parquet and back."""
    lines = (json.dumps({"text": text, "id": n}) + "\n" for n, text in enumerate(TEXTS))
    (folder / "in.jsonl").write_text("".join(lines))
    for ending in ("", ".gz"):
        out = folder / f"out.jsonl{ending}"
        subprocess.run([dsdata, "extract", folder / "in.jsonl", "-q", "--out", out], check=True)
        done = shell(f"python3 -m dsshards parquet '{out}' --out '{folder / 'out.parquet'}'")
        rows = parquet.read_table(folder / "out.parquet").to_pylist()
        assert [row["text"] for row in rows] == [text + "\n" for text in TEXTS], done
        assert {row["source"] for row in rows} == {"in.jsonl"} and rows[0]["url"] is None
    shell(f"python3 -m dsshards parquet '{folder / 'nowhere'}' --out '{folder / 'x.parquet'}'", 1)
    (folder / "other.jsonl").write_text('{"text": "a", "score": 1}\n')
    shell(f"python3 -m dsshards parquet '{folder / 'other.jsonl'}' --out '{folder / 'x.parquet'}'", 1)
    shell(f"python3 -m dsshards parquet '{out}' --out '{out}'", 1)  # the input stays
    shell(f"python3 -m dsshards parquet '{out}' --out '{folder / 'out.parquet'}'")
    assert not list(folder.glob("x.parquet*"))


for test in (files, refused, data_set, web, table):
    with tempfile.TemporaryDirectory() as name:
        test(pathlib.Path(name))
