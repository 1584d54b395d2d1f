#!/usr/bin/env python3
"""Packs the files that scripts/wheel.sh collected into a wheel, and prints its name:

    scripts/wheel.py dsdata TREE VERSION ARCHITECTURE OUT              the static programs, installed to TREE
    scripts/wheel.py dsdata_cuda PACK VERSION ARCHITECTURE OUT N       those of scripts/gpu_pack.sh, for glibc 2.N

The format is that of packaging.python.org/specifications/binary-distribution-format, with licences (PEP 639) and a bill
of materials (PEP 770) in .dist-info. SOURCE_DATE_EPOCH is the time of all files. Needs Python 3.11."""
import base64
import hashlib
import os
import pathlib
import sys
import time
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CUDA = ["nvidia-cublas>=13,<14", "nvidia-nccl-cu13>=2.18"]  # what the modules load


def needs(name, version):
    """Requirements of a wheel, and of its extras."""
    if name == "dsdata_cuda":
        return [f"dsdata=={version}", *CUDA], {}
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    numpy = project["dependencies"]
    extras = {extra: numpy + packages for extra, packages in project["optional-dependencies"].items()}
    return [], {"numpy": numpy, "cuda": [f"dsdata-cuda=={version}"]} | extras


def metadata(name, version):
    required, extras = needs(name, version)
    lines = ["Metadata-Version: 2.4", "Name: " + name.replace("_", "-"), f"Version: {version}",
             "Summary: BERT pre-training in C, from a Wikipedia dump or any text to a model",
             "License-Expression: MIT", "License-File: LICENSE", "Requires-Python: >=3.9",
             "Classifier: Operating System :: POSIX :: Linux", "Classifier: Programming Language :: C",
             "Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence",
             "Description-Content-Type: text/markdown"]
    lines += [f"Requires-Dist: {package}" for package in required]
    for extra, packages in extras.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {package}; extra == "{extra}"' for package in packages]
    return "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text()


def place(path, name):
    """Where a file of the tree belongs in the wheel of this name; None: in no place."""
    documents = "share/doc/dsdata/"
    if name.startswith("dsdata_cuda-"):
        return f"{name}.dist-info/licenses/{path}" if path.startswith("LICEN") else f"dsdata_cuda/{path}"
    if path.startswith("bin/"):
        return f"{name}.data/scripts/" + path.removeprefix("bin/")
    if path == documents + "libraries.cdx.json":
        return f"{name}.dist-info/sboms/dsdata.cdx.json"
    if path.startswith(documents + "licences/") or path == documents + "LICENSE":
        return f"{name}.dist-info/licenses/" + path.removeprefix(documents)
    return None if path.startswith(documents) else f"{name}.data/data/{path}"


def contents(tree, name, version, tags):
    """{path in the wheel: (bytes, whether it is a program)}"""
    files = {}
    for path in tree.rglob("*"):
        to = path.is_file() and place(path.relative_to(tree).as_posix(), name)
        if to:
            data = path.read_bytes()
            if data.startswith(b"#!/usr/bin/env python3\n"):  # pip writes the path of its own
                data = b"#!python\n" + data.split(b"\n", 1)[1]
            files[to] = data, os.access(path, os.X_OK)
    for path in [] if name.startswith("dsdata_cuda-") else (ROOT / "python/dsshards").glob("*.py"):
        files["dsshards/" + path.name] = path.read_bytes(), False
    heads = ["Wheel-Version: 1.0", "Generator: dsdata", "Root-Is-Purelib: false"]
    heads += [f"Tag: py3-none-{tag}" for tag in tags.split(".")]
    files[f"{name}.dist-info/WHEEL"] = ("\n".join(heads) + "\n").encode(), False
    files[f"{name}.dist-info/METADATA"] = metadata(*name.split("-")).encode(), False
    return files


def record(files, at):
    def hashed(data):
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    rows = [f"{path},sha256={hashed(data)},{len(data)}" for path, (data, _) in sorted(files.items())]
    return "\n".join([*rows, at + ",,"]).encode() + b"\n"


def write(files, to):
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # zip's first year is 1980
    with zipfile.ZipFile(to, "w") as archive:
        for path, (data, program) in files.items():
            entry = zipfile.ZipInfo(path, moment)
            entry.create_system = 3  # Unix
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)


def main():
    project, tree, version, arch, out, *glibc = sys.argv[1:]
    name = f"{project}-{version}"
    static = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]  # the second is the first one's name in old pips
    tags = ".".join(f"{tag}_{arch}" for tag in ([f"manylinux_2_{glibc[0]}"] if glibc else static))
    files = dict(sorted(contents(pathlib.Path(tree), name, version, tags).items()))
    at = f"{name}.dist-info/RECORD"
    files[at] = record(files, at), False
    wheel = f"{name}-py3-none-{tags}.whl"
    write(files, os.path.join(out, "." + wheel))
    os.replace(os.path.join(out, "." + wheel), os.path.join(out, wheel))
    print(wheel)


main()
