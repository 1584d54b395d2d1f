"""Texts from Parquet, Arrow, web archives and the hub, as JSON lines for dsdata build --jsonl -."""

import itertools
import json
import os
import sys

from .need import need


def _parquet(path, columns):
    with need("pyarrow.parquet", "Parquet").ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1024, columns=columns):
            yield from batch.to_pylist()


def _arrow(path, columns):
    """An Arrow file, Feather, or a stream, as datasets keeps them."""
    pyarrow = need("pyarrow", "Arrow")
    with pyarrow.OSFile(path) as file:
        whole = file.read(6) == b"ARROW1"
        file.seek(0)
        reader = (pyarrow.ipc.open_file if whole else pyarrow.ipc.open_stream)(file)
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches)) if whole else reader
        for batch in batches:
            yield from (batch.select(columns) if columns else batch).to_pylist()


def _warc(path, _columns):
    """The main text of each page, as trafilatura finds it."""
    archive, trafilatura = need("warcio.archiveiterator", "WARC"), need("trafilatura", "HTML")
    with open(path, "rb") as file:
        for record in archive.ArchiveIterator(file):
            kind = record.http_headers and record.http_headers.get_header("Content-Type", "")
            if record.rec_type != "response" or "html" not in (kind or ""):
                continue
            text = trafilatura.extract(record.content_stream().read())
            if text:
                yield {"url": record.rec_headers.get_header("WARC-Target-URI"),
                       "timestamp": record.rec_headers.get_header("WARC-Date"), "text": text}


def _reader(path):
    """How to read a file, by its first bytes; None: it is no such file."""
    with open(path, "rb") as file:
        start = file.read(8)
    if start[:4] == b"PAR1":
        return _parquet
    if start[:6] == b"ARROW1" or start[:4] == b"\xff\xff\xff\xff":
        return _arrow
    return _warc if start[:6] == b"WARC/1" or (start[:2] == b"\x1f\x8b" and ".warc" in path) else None


def _files(folder):
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if _reader(os.path.join(parent, name)):
                yield os.path.join(parent, name)


def rows(source, columns=None, config=None, split="train"):
    """The rows of a file, of the files in a folder, or of a data set of the hub, which is streamed; as dicts."""
    if os.path.isdir(source):
        paths = list(_files(source))
        if not paths:
            raise ValueError(f"{source}: holds no Parquet, Arrow or WARC file")
        for path in paths:
            yield from _reader(path)(path, columns)
    elif os.path.exists(source):
        reader = _reader(source)
        if not reader:
            raise ValueError(f"{source}: is no Parquet, Arrow or WARC file")
        yield from reader(source, columns)
    else:
        data = need("datasets", "a data set of the hub").load_dataset(source, config, split=split, streaming=True)
        yield from data.select_columns(columns) if columns else data


def write(options):
    """The verb jsonl."""
    columns = options.columns.split(",") if options.columns else None
    found = rows(options.source, columns, options.config, options.split)
    try:
        for row in itertools.islice(found, options.limit):
            kept = {name: value for name, value in row.items() if value is not None and not isinstance(value, bytes)}
            sys.stdout.write(json.dumps(kept, ensure_ascii=False, default=str) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has what it wants
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
