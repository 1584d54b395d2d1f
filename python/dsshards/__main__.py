"""python -m dsshards export DIR --format parquet --out FILE: samples as Parquet, for datasets, pandas, DuckDB.
python -m dsshards jsonl SOURCE: texts from Parquet, Arrow, web archives and the hub, for dsdata build --jsonl -.
python -m dsshards parquet TEXTS.jsonl --out FILE: texts of dsdata extract as Parquet.
python -m dsshards watch RUN... --to mlflow|wandb: the metrics of runs of dstrain, while they are written."""

import argparse
import os
import sys

from .need import need
from .table import check_out, write_table
from .texts import write
from .watch import PEERS, Refused, watch


def _batches(data, first, end, size=1024):
    for at in range(first, end, size):
        samples = [data[i] for i in range(at, min(at + size, end))]
        yield {name: [sample[name] for sample in samples] for name in samples[0]}


def _write(data, path, first, end, pyarrow, parquet):
    lists = [(name, pyarrow.list_(kind)) for name, kind in (
        ("input_ids", pyarrow.int32()), ("token_type_ids", pyarrow.int8()), ("attention_mask", pyarrow.int8()),
        ("labels", pyarrow.int32()))]
    if data.shards.pairs != "none":
        lists.append(("next_sentence_label", pyarrow.int8()))
    schema = pyarrow.schema(lists)
    with parquet.ParquetWriter(path + ".tmp", schema, compression="zstd") as writer:
        for batch in _batches(data, first, end):
            writer.write_table(pyarrow.table(batch, schema=schema))
    os.replace(path + ".tmp", path)


def _export(options):
    need("numpy", "export")
    from .dataset import Dataset
    from .names import shard_first
    pyarrow, parquet = need("pyarrow", "Parquet"), need("pyarrow.parquet", "Parquet")
    data = Dataset(options.directory, options.seq, options.split, "stored" if options.epoch is None else "auto",
                   options.epoch or 0, options.seed)
    check_out(options.out)
    stem, end = os.path.splitext(options.out)
    for i in range(options.files):
        path = options.out if options.files == 1 else f"{stem}-{i:05}-of-{options.files:05}{end}"
        _write(data, path, shard_first(len(data), options.files, i), shard_first(len(data), options.files, i + 1),
               pyarrow, parquet)
    print(f"{len(data)} samples of length {data.shards.seq} in {options.out}, {options.files} "
          f"file{'' if options.files == 1 else 's'}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(prog="python -m dsshards")
    verbs = parser.add_subparsers(required=True)
    export = verbs.add_parser("export", help="write samples as Parquet (dsdata export has other formats)")
    export.add_argument("directory", help="dataset made by dsdata build")
    export.add_argument("--format", choices=["parquet"], default="parquet", help="format of the output")
    export.add_argument("--out", required=True, help="file to write")
    export.add_argument("--files", type=int, default=1, help="number of files: OUT-00000-of-00004.parquet [1]")
    export.add_argument("--seq", type=int, help="sequence length of the samples [the shortest]")
    export.add_argument("--split", default="train", choices=["train", "valid"], help="samples to write [train]")
    export.add_argument("--epoch", type=int, help="write the masks of this epoch of a training [the stored masks]")
    export.add_argument("--seed", type=int, default=42, help="with --epoch: the --seed of dstrain [42]")
    export.set_defaults(run=_export)
    jsonl = verbs.add_parser("jsonl", help="print texts as JSON lines, for dsdata build --jsonl -")
    jsonl.add_argument("source", help="Parquet, Arrow or WARC file, a folder of them, or a data set of the hub")
    jsonl.add_argument("--columns", help="names of columns, separated by commas [all but binary ones]")
    jsonl.add_argument("--config", help="of a data set of the hub: its configuration, such as a language")
    jsonl.add_argument("--split", default="train", help="of a data set of the hub [train]")
    jsonl.add_argument("--limit", type=int, help="stop after so many rows")
    jsonl.set_defaults(run=write)
    table = verbs.add_parser("parquet", help="write the JSON lines of dsdata extract as Parquet")
    table.add_argument("texts", help="file of dsdata extract (.jsonl, .jsonl.gz, .jsonl.zst), or - for standard input")
    table.add_argument("--out", required=True, help="file to write")
    table.set_defaults(run=write_table)
    follow = verbs.add_parser("watch", help="send the metrics of runs to MLflow or Weights & Biases")
    follow.add_argument("runs", nargs="+", metavar="RUN", help="directory of a run of dstrain")
    follow.add_argument("--to", required=True, choices=sorted(PEERS), help="where to send them, as that is configured")
    follow.add_argument("--project", default="dstrain", help="experiment of MLflow, project of wandb [dstrain]")
    follow.add_argument("--once", action="store_true", help="send what is there and end [until every run is finished]")
    follow.add_argument("--every", type=float, default=10, help="seconds between two looks [10]")
    follow.add_argument("--wait", type=float, default=600,
                        help="give a run up that has no new line for so many seconds and is not being trained [600]")
    follow.set_defaults(run=watch)
    options = parser.parse_args()
    try:
        options.run(options)
    except Refused as error:
        print(f"dsshards: {error}", file=sys.stderr)
        sys.exit(error.code)
    except (OSError, ValueError) as error:
        sys.exit(f"dsshards: {error}")


if __name__ == "__main__":
    main()
