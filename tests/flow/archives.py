#!/usr/bin/env python3
"""zip and tar files as inputs: they give what the same files give as a folder, in every compression, for any number of
threads and processes and after interruptions; what is damaged, hostile or no archive of texts is refused by name."""
import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

TEXTS = [f"The boat number {n} left the harbour. Nobody saw it again.\n\nThe lamp {n} was lit. It burned all night.\n"
         for n in range(12)]
SMALL = ["--vocab-size", "300", "--seq", "32", "--valid", "0"]

build = pathlib.Path(sys.argv[1]).resolve()
dsdata = build / "dsdata"
if not (build / "dsdata_archive.so").exists():
    print("dsdata was built without libarchive: skipped")
    sys.exit(77)
failures = []


def check(condition, *what):
    if not condition:
        failures.append(what)
        print("FAILED", *what)


def run(*arguments, **more):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, check=False, **more)


def said(done):
    return done.stderr.decode(errors="replace")


def refused(code, *words, arguments):
    done = run(dsdata, *arguments)
    check(done.returncode == code and all(word in said(done) for word in words), words, done.returncode, said(done))
    check(b"Sanitizer" not in done.stderr and b"Assertion" not in done.stderr, said(done))


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def tar_of(members, form=tarfile.PAX_FORMAT):
    """Members that are no bytes are a TarInfo."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.name = name
            info.size = len(content) if isinstance(content, bytes) else info.size
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def zstandard(data):
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


def the_files():
    members = {f"a/{n:02}.txt": text.encode() for n, text in enumerate(TEXTS[:6])}
    members |= {"b.jsonl": "".join(json.dumps({"text": text}) + "\n" for text in TEXTS[6:8]).encode(),
                "c.csv.gz": gzip.compress(b"id,text\n" + "".join(f'{n},"{text}"\n' for n, text in
                                                                enumerate(TEXTS[8:10])).encode()),
                "d" * 120 + "/é.txt": TEXTS[10].encode()}
    clutter = {".hidden": b"x", "a/.git/x": b"x", "e/empty": b"", "e/image.png": b"\x89PNG\r\n\x1a\n\0\0",
               "e/page.html": b"<!DOCTYPE html><p>6</p>", "e/inner.zip": zip_of({"x.txt": TEXTS[0]})}
    return members, dict(sorted((members | clutter).items(), key=lambda member: member[0].encode()))


def root(dataset):
    return json.loads((dataset / "manifest.json").read_text())["root_hash"]


def as_a_folder(folder):
    texts, members = the_files()
    for name, content in members.items():
        (folder / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "texts" / name).write_bytes(content)
    wanted = run(dsdata, "extract", folder / "texts")
    check(wanted.returncode == 0 and len(wanted.stdout.splitlines()) == 11, said(wanted))
    run(dsdata, "build", folder / "texts", *SMALL, "--out", folder / "of-folder")
    tar = tar_of(members)
    archives = {"a.zip": zip_of(members), "stored.zip": zip_of(members, zipfile.ZIP_STORED),
                "b.zip": zip_of(members, zipfile.ZIP_BZIP2), "a.tar": tar,
                "gnu.tar": tar_of(members, tarfile.GNU_FORMAT), "a.tar.gz": gzip.compress(tar),
                "a.tgz": gzip.compress(tar[:9999]) + gzip.compress(tar[9999:]), "a.tar.bz2": bz2.compress(tar),
                "a.tar.xz": lzma.compress(tar), "a.tar.zst": zstandard(tar), "without extension": tar}
    for name, data in archives.items():
        (folder / name).write_bytes(data)
        for options in ([], ["--threads", "1", "-v"], ["--text"]):
            done = run(dsdata, "extract", *options, folder / name)
            lines = wanted.stdout if options != ["--text"] else run(dsdata, "extract", "--text",
                                                                   folder / "texts").stdout
            check(done.returncode == 0 and done.stdout == lines, name, options, said(done))
        check("left out   of " + name + ": 1 blank, 3 of other kinds, " in said(run(dsdata, "extract", folder / name)),
              name, said(done))
        done = run(dsdata, "build", folder / name, *SMALL, "--out", folder / "out" / name)
        check(done.returncode == 0 and root(folder / "out" / name) == root(folder / "of-folder"), name, said(done))
    done = run(dsdata, "extract", "-v", folder / "a.zip")
    check(all(words in said(done) for words in (
        "a.zip/e/inner.zip is a zip file", "a.zip/e/empty is empty", "a.zip/.hidden is hidden",
        "a.zip/e/image.png is neither", "\né.txt   text")), said(done))
    done = run(dsdata, "build", "a.tar.gz", *SMALL, cwd=folder)
    check("dstrain --shards a" in said(done) or "--shards a\n" in said(done), said(done))
    check(root(folder / "a") == root(folder / "of-folder"), "name")
    check(run(dsdata, "verify", folder / "a").returncode == 0 and
          run(dsdata, "report", folder / "a", "--card").returncode == 0, "verify, report")
    learned = [run(dsdata, "vocab", "--out", folder / f"v-{name}", folder / name, *SMALL[:2]).returncode
               for name in ("a.tar.zst", "texts")]
    check(learned == [0, 0] and (folder / "v-texts").read_bytes() == (folder / "v-a.tar.zst").read_bytes(), "vocab")
    done = run(dsdata, "build", "--dry-run", folder / "a.zip", *SMALL, "--out", folder / "dry")
    check(done.returncode == 0, said(done))
    done = run(dsdata, "extract", "--jsonl", folder / "a.zip", folder / "a.tar", f"fi={folder / 'a.tar.gz'}")
    check(len(done.stdout.splitlines()) == 3 * 4, "several", said(done))


def interrupted(folder):
    """Ended before the n-th change of a file, and continued; split over processes."""
    if b"DS_FAIL_FILE" in dsdata.read_bytes():
        for n in (2, 5, 9, 14, 20):
            killed = folder / f"killed{n}"
            command = (dsdata, "build", folder / "a.tar.zst", *SMALL, "--out", killed)
            run(*command, env=os.environ | {"DS_FAIL_FILE": f"{n}:kill"})
            done = run(*command)
            check(done.returncode == 0 and root(killed) == root(folder / "of-folder"), "killed", n, said(done))
        many = tar_of({f"{n}.txt": (TEXTS[n % 12] * 3000).encode() for n in range(8)})
        (folder / "many.tgz").write_bytes(gzip.compress(many, 1))
        command = (dsdata, "build", folder / "many.tgz", *SMALL, "--out")
        run(*command, folder / "whole")
        for seconds in ("0.2", "0.5", "0.9"):
            with subprocess.Popen([*command, folder / f"stopped{seconds}"], stderr=subprocess.PIPE) as process:
                time.sleep(float(seconds))
                process.terminate()
                process.communicate()
            done = run(*command, folder / f"stopped{seconds}")
            check(done.returncode == 0 and root(folder / f"stopped{seconds}") == root(folder / "whole"), said(done))
    if shutil.which("mpirun") and b"__tsan_init" not in dsdata.read_bytes():
        for processes in "23":
            done = run("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", processes, dsdata, "build",
                       folder / "a.tar.gz", *SMALL, "--out", folder / f"mpi{processes}",
                       env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
            if "built without MPI" not in said(done):
                check(done.returncode == 0 and root(folder / f"mpi{processes}") == root(folder / "of-folder"),
                      "mpirun", said(done))


def a_wiki(folder):
    page = "<page><title>T</title><ns>0</ns><id>{0}</id><revision><id>9</id><text>Tea {0} is hot. It is good.</text>" \
           "</revision></page>\n"
    wiki = ("<mediawiki xml:lang=\"en\"><siteinfo><dbname>enwiki</dbname></siteinfo>\n" +
            "".join(page.format(n) for n in range(1, 40)) + "</mediawiki>\n").encode()
    (folder / "wiki.zip").write_bytes(zip_of({"wiki.xml": wiki, "wiki.xml.bz2": bz2.compress(wiki)}))
    done = run(dsdata, "extract", folder / "wiki.zip")
    check(len(done.stdout.splitlines()) == 78, said(done))


def links_and_names(folder):
    link, hard, device = tarfile.TarInfo(), tarfile.TarInfo(), tarfile.TarInfo()
    link.type, link.linkname = tarfile.SYMTYPE, "1.txt"
    hard.type, hard.linkname = tarfile.LNKTYPE, "1.txt"
    device.type = tarfile.CHRTYPE
    members = {"./1.txt": TEXTS[0].encode(), "2.txt": link, "3.txt": hard, "4.txt": device,
               "/5.txt": TEXTS[1].encode()}
    (folder / "links.tar").write_bytes(tar_of(members))
    done = run(dsdata, "extract", folder / "links.tar", "-v")
    check(len(done.stdout.splitlines()) == 2 and "3 not a file" in said(done) and "3.txt is no file" in said(done),
          said(done))
    old = zip_of({"XXX.txt": TEXTS[0].encode()}).replace(b"XXX.txt", "Žü¡.txt".encode("cp852", "replace")[:3] + b".txt")
    (folder / "old.zip").write_bytes(old)
    for locale in ("C", "C.UTF-8"):
        done = run(dsdata, "extract", folder / "old.zip", env=os.environ | {"LC_ALL": locale})
        check(done.returncode == 0 and len(done.stdout.splitlines()) == 1, said(done))
        done = run(dsdata, "extract", folder / "a.zip", "-v", env=os.environ | {"LC_ALL": locale})
        check("\né.txt   text" in said(done), said(done))


def damaged(folder):
    members = {f"{n}.txt": (TEXTS[n] * 999 + os.urandom(3000).hex()).encode() for n in range(6)}
    whole_zip, whole_tar = zip_of(members), tar_of(members)
    at = whole_zip.index(b"3.txt") + 900
    broken = whole_zip[:at] + bytes([whole_zip[at] ^ 0x5a]) + whole_zip[at + 1:]
    encrypted = bytearray(whole_zip)
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(head) + flags] |= 1
    bad_tar = bytearray(whole_tar)
    bad_tar[bad_tar.index(b"4.txt")] = ord("X")
    huge = tarfile.TarInfo("huge.txt")
    huge.size = 1 << 43
    cases = {"cut.zip": (whole_zip[:len(whole_zip) // 2], 3, ("cut.zip", "damaged", "at its end, is missing")),
             "broken.zip": (broken, 3, ("broken.zip/3.txt", "damaged", "checksum")),
             "encrypted.zip": (bytes(encrypted), 6, ("encrypted.zip/0.txt", "is encrypted", "7z x")),
             "lzma.zip": (zip_of(members, zipfile.ZIP_LZMA), 6, ("lzma.zip/0.txt", "memory", "7z x")),
             "cut.tar": (whole_tar[:len(whole_tar) // 2], 3, ("cut.tar", "runcated")),
             "bad.tar": (bytes(bad_tar), 3, ("bad.tar", "amaged")),
             "cut.tar.gz": (gzip.compress(whole_tar)[:-4000], 3, ("cut.tar.gz", "truncated", "byte")),
             "cut.tar.zst": (zstandard(whole_tar)[:-4000], 3, ("cut.tar.zst", "truncated")),
             "up.tar": (tar_of({"a.txt": TEXTS[0].encode(), "a/../../up.txt": TEXTS[1].encode()}), 6, ("up.tar", "..")),
             "up.zip": (zip_of({"../up.txt": TEXTS[1]}), 6, ("up.zip", "../up.txt")),
             "huge.tar": (huge.tobuf() + bytes(10240), 6, ("huge.tar", "--max-ratio")),
             "empty.tar.gz": (gzip.compress(tar_of({"a/.x": b"x"})), 3, ("no file below it is an input: 1 hidden",)),
             "nested.zip": (zip_of({"x.tar": whole_tar}), 3, ("no file below it is an input: 1 of other kinds",)),
             "late.zip": (zip_of({"customXml/a.xml": os.urandom(6000), "word/document.xml": "<w/>"}), 6,
                          ("is a Word document", "pandoc --from docx ")),
             "latin.zip": (zip_of({"a.txt": "Die reën en die leër, sê môre is dit weer koud.".encode("latin1")}), 6,
                           ("latin.zip/a.txt", "--encoding windows-1252"))}
    for name, (data, code, words) in cases.items():
        (folder / name).write_bytes(data)
        refused(code, *words, arguments=("build", folder / name, *SMALL, "--out", folder / "refused"))
        check(not (folder / "refused" / "manifest.json").exists(), name)
        shutil.rmtree(folder / "refused", ignore_errors=True)
    refused(2, "--salvage", arguments=("extract", "--salvage", folder / "cut.tar.gz"))
    done = run(dsdata, "extract", "-", input=whole_zip)
    check(done.returncode == 6 and "is a zip file" in said(done), said(done))
    for data in (whole_zip, whole_tar, gzip.compress(whole_tar)):
        for n in range(40):
            (folder / "noise").write_bytes(data[:n * 97] + os.urandom(1) + data[n * 97 + 1:])
            done = run(dsdata, "extract", folder / "noise")
            check(done.returncode in (0, 3, 6), n, done.returncode, said(done))


def without_the_module(folder):
    (folder / "alone").mkdir()
    shutil.copy(dsdata, folder / "alone")
    for name, words in (("a.zip", "unzip -q"), ("a.tar.gz", "tar -xf")):
        done = run(folder / "alone" / "dsdata", "extract", folder / name)
        check(done.returncode == 2 and words in said(done) and "dsdata build TEXTS" in said(done), said(done))


with tempfile.TemporaryDirectory() as scratch:
    for test in (as_a_folder, interrupted, a_wiki, links_and_names, damaged, without_the_module):
        test(pathlib.Path(scratch))
sys.exit(len(failures) > 0)
