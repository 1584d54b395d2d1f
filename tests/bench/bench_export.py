#!/usr/bin/env python3
"""Cost per byte of pages of other namespaces, which a build skips, relative to pages that it keeps.

    tests/bench/bench_export.py [--bin build/release] [--bytes 100M] [--runs 5]

In:  an export with all namespaces, as MediaWiki writes them today, made by scripts/make_dump.py or given as a folder
     with --from.
Out: CPU time of `dsdata build --threads 1`, both lengths, in ns per byte of XML: of a dump with only the kept pages of
     the export, and of one with only its pages of other namespaces, plain and as bzip2; their ratio. The runs
     alternate and the least time counts; the time for a dump of one page is subtracted.
"""

import argparse
import bz2
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def read_export(folder):
    """Returns (head, kept pages, pages of other namespaces), each as bytes."""
    head, kept, others = b"", [], []
    for part in sorted(Path(folder).glob("*.xml.bz2")):
        xml = bz2.decompress(part.read_bytes())
        first, last = xml.index(b"  <page>"), xml.rindex(b"</mediawiki>")
        head = head or xml[:first]
        for page in re.findall(rb"  <page>.*?</page>\n", xml[first:last], re.S):
            space = re.search(rb"<ns>(-?\d+)</ns>", page)
            if space and space[1] != b"0":
                others.append(page)
            elif b"<redirect " not in page:
                kept.append(page)
    return head, b"".join(kept), b"".join(others)


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=str(ROOT / "build/release"), help="the build folder (default build/release)")
    parser.add_argument("--bytes", default="100M", help="XML of the export that is made (default 100M)")
    parser.add_argument("--from", dest="folder", help="an export that is there")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="bench_export.") as scratch:
        folder = options.folder
        if not folder:
            folder = f"{scratch}/export"
            make = [sys.executable, str(ROOT / "scripts/make_dump.py"), "--bytes", options.bytes, "--export", folder]
            subprocess.run(make, check=True)
        head, kept, others = read_export(folder)
        one = re.search(rb"  <page>.*?</page>\n", kept, re.S)[0]
        xml = {"one page": one, "kept": kept, "other namespaces": one + others}
        files = {}
        for name, pages in xml.items():
            data = head + pages + b"</mediawiki>\n"
            for form, packed in (("plain", data), ("bzip2", bz2.compress(data))):
                files[form, name] = Path(f"{scratch}/{form}-{name.split()[0]}.xml")
                files[form, name].write_bytes(packed)
        vocab = f"{scratch}/vocab.txt"
        dsdata = f"{options.bin}/dsdata"
        subprocess.run([dsdata, "vocab", files["plain", "kept"], "--out", vocab, "-q"], check=True)

        least = {}
        for _ in range(options.runs):
            for key, path in files.items():
                out = f"{scratch}/out"
                command = [dsdata, "build", "--wiki", str(path), "--vocab", vocab, "--threads", "1", "--out", out]
                seconds = cpu_seconds(command)
                least[key] = min(seconds, least.get(key, seconds))
                subprocess.run(["rm", "-r", out], check=True)
    print(f"kept pages {len(kept) / 1e6:.1f} MB of XML, other namespaces {len(others) / 1e6:.1f} MB; {os.cpu_count()} "
          f"cores")
    for form in ("plain", "bzip2"):
        rates = {}
        for name, pages in (("kept", kept), ("other namespaces", others)):
            rates[name] = (least[form, name] - least[form, "one page"]) / len(pages) * 1e9
            print(f"{form}  {name:16}  {rates[name]:6.2f} ns a byte")
        print(f"{form}  ratio             {100 * rates['other namespaces'] / rates['kept']:6.1f} %")


if __name__ == "__main__":
    main()
