#!/usr/bin/env bash
# scripts/wheel.sh: the same files give the same wheel; its records are right, and pip takes it for glibc and musl. In
# an empty environment, and as root in a bare Debian and in a root with no other file than the wheel's: build, train,
# fine-tune, export. What a static program cannot do is said with the way to get it.
# labels: long
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

cp -L /usr/share/doc/libjansson-dev/copyright "$scratch/" 2>/dev/null ||
    { echo "not a Debian with libjansson-dev: skipped"; exit 77; }
python3 -c 'import tomllib, ensurepip, venv' 2>/dev/null ||
    { echo "no Python 3.11 with venv and pip: skipped"; exit 77; }
export SOURCE_DATE_EPOCH=1700000000
cd "$scratch"

case_begin "twice"
expect_exit 2 "$project/scripts/wheel.sh" --arch riscv64
expect_words "usage: scripts/wheel.sh"
expect_exit 0 "$project/scripts/wheel.sh" one
wheel=$(cd one && echo dsdata-*.whl)
machine=$(uname -m)
version=$("$dsdata" --version | sed -n 's/^dsdata //p')
tags=manylinux_2_17_$machine.manylinux2014_$machine.musllinux_1_1_$machine
expect_equal "name" "$wheel" "dsdata-$version-py3-none-$tags.whl"
size=$(sed -n 's/.*makes (\([0-9]*\) MB).*/\1/p' "$project/README.md")
expect_equal "megabytes in the README" "$(((($(stat -c %s "one/$wheel") + 500000) / 1000000)))" "$size"
for copy in a b; do # release.sh compares two builds; here, two packings
    mkdir -p "$copy/bin" "$copy/share/doc/dsdata" "packed-$copy"
    cp "$dsdata" "$copy/bin/"
    cp "$project/LICENSE" "$copy/share/doc/dsdata/"
done
touch -d 2001-01-01 b/bin/dsdata
expect_exit 0 "$project/scripts/wheel.py" dsdata a "$version" "$machine" packed-a
(umask 077 && TZ=Asia/Tokyo "$project/scripts/wheel.py" dsdata b "$version" "$machine" packed-b) >stdout 2>stderr ||
    complain "the second one"
cmp packed-[ab]/*.whl || complain "two wheels"

case_begin "its records"
python3 - "one/$wheel" <<'PYTHON' >said 2>&1 || complain "$(tail -1 said)"
import base64, csv, email, hashlib, io, json, sys, zipfile

wheel = zipfile.ZipFile(sys.argv[1])
[info] = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(wheel.read(info + "/RECORD").decode()))}
assert sorted(rows) == sorted(wheel.namelist()) and len(rows) == len(wheel.namelist()), "names"
for entry in wheel.infolist():
    data = wheel.read(entry)
    digest = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    assert entry.filename.endswith("/RECORD") or rows[entry.filename] == (digest, str(len(data))), entry.filename
    program = ".data/scripts/" in entry.filename
    assert entry.external_attr >> 16 == (0o100755 if program else 0o100644), entry.filename
    assert entry.date_time == (2023, 11, 14, 22, 13, 20), entry.filename
about = email.message_from_bytes(wheel.read(info + "/METADATA"))
assert about["Name"] == "dsdata" and about["License-Expression"] == "MIT" and "dstrain" in about.get_payload()
assert all("extra ==" in need for need in about.get_all("Requires-Dist")), "it needs nothing"
bill = json.loads(wheel.read(info + "/sboms/dsdata.cdx.json"))
parts = {part["name"]: part for part in bill["components"]}
assert parts["libexpat1-dev"]["version"] and parts["libexpat1-dev"]["licenses"], parts
assert {f"{info}/licenses/licences/{name}" for name in parts} <= set(rows), "a licence is missing"
PYTHON

case_begin "pip takes it for glibc and musl"
for platform in manylinux_2_17 manylinux2014 musllinux_1_1; do # newer systems take them too, old pips the second
    expect_exit 0 python3 -m pip download -q --no-index --find-links one --only-binary=:all: --no-deps \
        --platform "${platform}_$machine" -d "for-$platform" dsdata
done

# The tasks: a dump, and sentences of two kinds.
mkdir -p work/glue/SST-2
cp "$samples" work
for part in train dev; do
    { printf 'sentence\tlabel\n'
      for i in 1 2 3 4; do printf 'a good film %s\t1\na bad film %s\t0\n' $i $i; done; } >work/glue/SST-2/$part.tsv
done

# journey COMMAND…: with the words before a program's name.
journey() {
    expect_exit 0 "$@" dsdata --version
    expect_exit 0 "$@" dsdata build samplewiki.xml.bz2 --vocab-size 300 --seq 32
    expect_exit 0 "$@" dstrain --shards samplewiki --out run --model tiny --steps 3 --batch 8
    expect_exit 0 "$@" dstrain fill-mask run "Th[MASK] rings"
    expect_exit 0 "$@" dstrain export run --out model
    expect_exit 0 "$@" dstrain glue sst-2 --init model --data glue --out tuned --epochs 1 --batch 4 --seq 32
    expect_exit 0 "$@" dstrain export tuned --out tuned-model
    for file in model/model.safetensors tuned/scores.json tuned-model/README.md; do
        [ -s "$file" ] || complain "$file is missing"
    done
}

case_begin "an empty environment"
python3 -m venv venv
expect_exit 0 venv/bin/python -m pip install -q --no-index "one/$wheel"
expect_no_faults venv/bin/dsdata venv/bin/dstrain
for file in bin/get_dump.sh share/man/man1/dsdata.1 share/man/man1/dstrain.1 share/bash-completion/completions/dsdata \
    share/zsh/site-functions/_dstrain share/fish/vendor_completions.d/dstrain.fish share/dsdata/configs/laptop.json; do
    [ -s "venv/$file" ] || complain "$file is missing"
done
clean=(env -i "PATH=$scratch/venv/bin")
cd work
journey "${clean[@]}"
expect_exit 0 "$dsdata" build samplewiki.xml.bz2 --vocab-size 300 --seq 32 --out same
expect_equal "root hash" "$(root_hash samplewiki)" "$(root_hash same)"
expect_exit 2 "${clean[@]}" to_safetensors.py
expect_words numpy
expect_exit 1 "${clean[@]}" python -c 'from dsshards import Dataset'
expect_words "dsshards needs numpy: pip install numpy"

case_begin "what a static program cannot do"
expect_exit 2 "${clean[@]}" dstrain --shards samplewiki --model tiny --steps 2 --processes 2
expect_words static libgloo-dev "README.md, Install"
expect_exit 2 "${clean[@]}" dstrain --shards samplewiki --model tiny --steps 2 --device cuda
expect_words "built without CUDA" "pip install 'dsdata[cuda]'" cuda-toolkit
expect_exit 2 "${clean[@]}" dstrain doctor --gpu
expect_words "gpu_check.sh: is missing" "pip install 'dsdata[cuda]'"
expect_exit 6 "${clean[@]}" dsdata export samplewiki --format nvidia-hdf5 --out h5
expect_words static libhdf5-dev "--format mds"
cd ..

case_begin "the wheel with CUDA, if it is there"
mkdir pack
# shellcheck disable=SC2016  # the stub expands them
printf '#!%s\necho "handed over: $*"\n' "$(command -v bash)" >pack/dstrain
chmod +x pack/dstrain
cp "$project/LICENSE" pack
expect_exit 0 "$project/scripts/wheel.py" dsdata_cuda pack "$version" "$machine" packed-a 35
module=packed-a/dsdata_cuda-$version-py3-none-manylinux_2_35_$machine.whl
expect_exit 0 venv/bin/python -m pip install -q --no-index --no-deps "$module"
for need in "dsdata==$version" nvidia-cublas nvidia-nccl-cu13; do
    grep -q "^Requires-Dist: $need" venv/lib/python3*/site-packages/dsdata_cuda-*/METADATA || complain "no $need"
done
expect_exit 0 "${clean[@]}" dstrain doctor --gpu there
expect_equal "what it was given" "$(cat stdout)" "handed over: doctor --gpu there"

PATH=$PATH:/usr/sbin:/sbin
if [ "$(id -u)" = 0 ]; then
    case_begin "a root without a library, a shell, /proc or /dev"
    mkdir -p unpacked empty/bin
    python3 -m zipfile -e "one/$wheel" unpacked
    cp unpacked/dsdata-*.data/scripts/{dsdata,dstrain} empty/bin
    chmod +x empty/bin/*
    cp -r work/samplewiki.xml.bz2 work/glue empty
    cd empty
    journey env -i PATH=/bin "$(command -v chroot)" "$scratch/empty"
    cd ..
fi
if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null && debootstrap --variant=minbase \
    --include=python3,python3-pip,python3-venv bookworm debian >log 2>&1; then
    case_begin "a bare Debian"
    cp "one/$wheel" debian/srv
    expect_exit 0 chroot debian sh -c 'python3 -m venv /v && /v/bin/pip install -q --no-index /srv/*.whl'
    cp -r work/samplewiki.xml.bz2 work/glue debian/srv
    cd debian/srv
    # shellcheck disable=SC2016  # the inner shell expands it
    journey chroot "$scratch/debian" env -i PATH=/v/bin /bin/sh -c 'cd /srv && exec "$@"' sh
    cd "$scratch"
else
    echo "no root, or no Debian by debootstrap: the bare Debian is left out"
fi
flow_end
