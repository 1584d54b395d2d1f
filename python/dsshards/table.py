"""The JSON lines of dsdata extract as Parquet."""

import gzip
import io
import itertools
import json
import os
import sys

from .need import need

# The keys that dsdata extract writes; a document that lacks one has null there. Others are refused.
NUMBERS = ("id", "revid")
TEXTS = ("title", "text", "source_id", "url", "timestamp", "lang", "source")
ROWS = 1024  # that are in memory at a time


def check_out(out):
    """Refuses to write over a file that is no Parquet, such as the input."""
    if os.path.exists(out):
        with open(out, "rb") as file:
            if file.read(4) not in (b"PAR1", b""):
                raise ValueError(f"{out}: exists already, and is no Parquet file: choose another --out")


def _lines(path):
    if path == "-":
        return sys.stdin.buffer
    if path.endswith(".gz"):
        return gzip.open(path, "rb")
    if path.endswith(".zst"):
        zstandard = need("zstandard", ".zst")
        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(open(path, "rb"), read_across_frames=True))
    return open(path, "rb")


def _row(path, number, line):
    try:
        row = json.loads(line)
        unknown = set(row) - {*NUMBERS, *TEXTS}
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: line {number}: {error}") from error
    if unknown:
        raise ValueError(f"{path}: line {number}: {min(unknown)!r} is no key of dsdata extract")
    return row


def _write(path, out, pyarrow, parquet):
    numbers, texts = pyarrow.int64(), pyarrow.string()
    schema = pyarrow.schema([*((name, numbers) for name in NUMBERS), *((name, texts) for name in TEXTS)])
    count = 0
    with _lines(path) as lines, parquet.ParquetWriter(out + ".tmp", schema, compression="zstd") as writer:
        rows = (_row(path, number, line) for number, line in enumerate(lines, 1))
        while batch := list(itertools.islice(rows, ROWS)):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    os.replace(out + ".tmp", out)
    return count


def write_table(options):
    pyarrow, parquet = need("pyarrow", "Parquet"), need("pyarrow.parquet", "Parquet")
    check_out(options.out)
    try:
        count = _write(options.texts, options.out, pyarrow, parquet)
    finally:
        if os.path.exists(options.out + ".tmp"):
            os.remove(options.out + ".tmp")
    print(f"{count} documents in {options.out}", file=sys.stderr)
