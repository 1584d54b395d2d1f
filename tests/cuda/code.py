#!/usr/bin/env python3
"""Checks the code that nvcc generates for the kernels, without a GPU: code.py [--write] NVCC FLAG...

In: every .cu file of trainer/cuda, compiled for Hopper as the module is. An unintended load of one byte from global
memory is an error: a vector of 16 bytes has become 16 loads (pack.cuh explains why). Registers, bytes spilled,
stack, static shared memory and loads from global memory (PTX instructions) of each kernel must be those of the table
in tests/golden/cuda-code.txt; --write makes the table. They differ between versions of nvcc, so they are compared
only with the version that made the table. A kernel has either static or dynamic shared memory, because launch.cuh
compares only the dynamic one with the limit."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/golden/cuda-code.txt"
# Intended byte loads of each kernel: `decay`, a bool of struct param_chunk; in onebit.cu also eight signs in a byte,
# which neighbouring threads read together, several times in a loop that nvcc unrolls.
MEANT = {("update.cu", kernel): 1 for kernel in
         ("adam_kernel", "moments_kernel", "shares_kernel", "apply_kernel<false>", "apply_kernel<true>")}
MEANT |= {("onebit.cu", "serve_kernel"): 7, ("onebit.cu", "decompress_kernel"): 6}
BYTE_LOAD = re.compile(r"^\s*(?:@\S+\s+)?ld\.(?!param)[a-z0-9.:]*\b[usb]8\b", re.MULTILINE)
GLOBAL_LOAD = re.compile(r"^\s*(?:@\S+\s+)?ld\.(?:\w+\.)*global\b", re.MULTILINE)
DYNAMIC = re.compile(r"^\.extern \.shared\b.* (\w+)\[\];", re.MULTILINE)
FUNCTION = re.compile(r"^(?:\.\w+ )*\.(?:entry|func)\b[^(]*?(?:\([^)]*\)\s*)?(\w+)\s*\(", re.MULTILINE)
PROPERTIES = re.compile(r"Function properties for (\w+)\n\s+(\d+) bytes stack frame, (\d+) bytes spill stores, "
                        r"(\d+) bytes spill loads\nptxas info\s+: Used (\d+) registers(.*)")
HEADER = ("# file kernel: registers, bytes of spill stores and loads, stack, static shared memory, "
          "loads from global memory")


def compile_kernels(nvcc, flags, source):
    """{(file, mangled name): (byte loads, row of the table)} for every kernel of the file."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([nvcc, "-cubin", "-arch=sm_90", *flags, "-I", ROOT, "--keep", "--keep-dir", folder,
                              "-Xptxas", "-v", "-o", f"{folder}/out", source], stderr=subprocess.PIPE, text=True)
        if run.returncode:
            sys.exit(f"{source.name} does not compile:\n{run.stderr}")
        ptx = (pathlib.Path(folder) / (source.stem + ".ptx")).read_text()
    parts = FUNCTION.split(ptx)
    bodies = dict(zip(parts[1::2], parts[2::2]))
    kernels = {}
    for name, stack, stores, reloads, registers, rest in PROPERTIES.findall(run.stderr):
        shared = re.search(r"(\d+) bytes smem", rest)
        body = bodies.pop(name)
        if shared and any(re.search(rf"\b{room}\b", body) for room in DYNAMIC.findall(ptx)):
            sys.exit(f"{source.name}: {name} has static and dynamic shared memory")
        kernels[source.name, name] = len(BYTE_LOAD.findall(body)), (
            f"{registers} {stores} {reloads} {stack} {shared.group(1) if shared else 0} "
            f"{len(GLOBAL_LOAD.findall(body))}")
    left = [name for name, body in bodies.items() if BYTE_LOAD.search(body)]
    if not kernels or left:
        sys.exit(f"{source.name}: the output of nvcc is not understood: {len(kernels)} kernels, others are {left}")
    return kernels


def readable(kernels):
    """The same with the names in the source."""
    names = subprocess.run(["c++filt"], input="\n".join(name for _, name in kernels), stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    names = [re.sub(r"\(.*", "", name).removeprefix("void ") for name in names]
    result = {(file, name): value for ((file, _), value), name in zip(kernels.items(), names)}
    assert len(result) == len(kernels), "two kernels have one name"
    return result


def byte_loads(kernels):
    wrong = 0
    for (file, name), (loads, _) in kernels.items():
        if loads != MEANT.get((file, name), 0):
            print(f"{file}: {name}: {loads} loads of a single byte, {MEANT.get((file, name), 0)} are meant")
            wrong += 1
    return wrong


def differences(version, kernels):
    """The number of kernels that differ from the table; 0 if another nvcc made it."""
    head, _, *lines = TABLE.read_text().splitlines()
    if head != f"# nvcc {version}":
        print(f"registers and spills are not compared: the table is of {head[2:]}, this is nvcc {version}")
        return 0
    recorded = dict(line.rsplit(": ", 1) for line in lines)
    found = {f"{file} {name}": row for (file, name), (_, row) in kernels.items()}
    wrong = 0
    for kernel in sorted(recorded.keys() | found.keys()):
        if recorded.get(kernel) != found.get(kernel):
            print(f"{kernel}: {found.get(kernel, 'missing')}; the table has {recorded.get(kernel, 'no such kernel')}")
            wrong += 1
    if wrong:
        print(f"({HEADER[2:]})\nwhere that is meant: code.py --write, and the commit says why")
    return wrong


def main():
    write = sys.argv[1:2] == ["--write"]
    nvcc, *flags = sys.argv[2 if write else 1:]
    version = re.search(r"V([\d.]+)", subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True,
                                                     check=True).stdout).group(1)
    kernels = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sources = sorted((ROOT / "trainer/cuda").glob("*.cu"), key=lambda path: -path.stat().st_size)
        for made in pool.map(lambda source: compile_kernels(nvcc, flags, source), sources):
            kernels |= made
    kernels = readable(kernels)
    if write:
        lines = sorted(f"{file} {name}: {row}" for (file, name), (_, row) in kernels.items())
        TABLE.write_text("\n".join([f"# nvcc {version}", HEADER, *lines]) + "\n")
    wrong = byte_loads(kernels) + differences(version, kernels)
    print(f"{len(kernels)} kernels, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
