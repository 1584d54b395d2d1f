#!/usr/bin/env bash
# A folder with the parts of an export, as on dumps.wikimedia.org: complete, damaged, incomplete, mixed; interrupted in
# the middle of a part; read by several processes. Its checksums are checked during reading.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

python3 "$project/scripts/make_dump.py" --bytes 1M --export "$scratch/made" --parts 3 --wiki xxwiki
cd "$scratch"
mapfile -t parts < <(printf '%s\n' made/*.bz2 | sort -V) # in the order of pages, which is not that of names
sums=(--threads 2 --seq 64 -q --vocab "$scratch/vocab.txt")
"$dsdata" vocab made/ --vocab-size 500 --out vocab.txt -q

# fresh_copy: a copy that a case may damage.
fresh_copy() {
    rm -rf spoilt out
    cp -r made spoilt
}

case_begin "a folder is its parts in page order, for any number of threads"
expect_exit 0 "$dsdata" build made/ --out one --threads 1 --seq 64 --vocab vocab.txt
expect_words "made/   wiki" "3 parts with SHA256SUMS" "sums       3 files are right"
expect_exit 0 "$dsdata" build made --out two "${sums[@]}"
expect_exit 0 "$dsdata" build "${parts[@]}" --out files "${sums[@]}"
expect_equal "root of two threads" "$(root_hash two)" "$(root_hash one)"
expect_equal "root of the files" "$(root_hash files)" "$(root_hash one)"
expect_equal sources "$(json one/manifest.json 'len(o["sources"])')" 3
expect_equal "order of the sources" "$(json one/build.json '[s["name"].rsplit("/")[-1] for s in o["sources"]]')" \
    "$(python3 -c 'import os, sys; print([os.path.basename(p) for p in sys.argv[1:]])' "${parts[@]}")"
expect_equal "sums in build.json" "$(json one/build.json 'o["sums"]')" "{'right': 3, 'wrong': 0}"
expect_equal "sums without a list" "$(json files/build.json 'o["sums"]')" "{'right': 0, 'wrong': 0}"

# Skipped without Open MPI, or if dsdata was built without it or with the thread sanitizer.
if mpirun --version 2>/dev/null | grep -q "Open MPI" && ! grep -q __tsan_init "$dsdata" &&
    ! OMPI_COMM_WORLD_SIZE=2 "$dsdata" build "$samples" --dry-run 2>&1 | grep -q "without MPI"; then
    case_begin "two processes, each with whole parts"
    ASAN_OPTIONS=detect_leaks=0 expect_exit 0 mpirun --allow-run-as-root --oversubscribe -n 2 "$dsdata" build made/ \
        --out shared --threads 1 --seq 64 --vocab vocab.txt
    expect_words "sums       3 files are right"
    expect_equal root "$(root_hash shared)" "$(root_hash one)"
else
    echo "no Open MPI: the case of two processes is skipped"
fi

case_begin "one part in a folder is that file"
mkdir single
cp "${parts[1]}" single
expect_exit 0 "$dsdata" build single/ --out single-folder "${sums[@]}"
expect_exit 0 "$dsdata" build single/*.bz2 --out single-file "${sums[@]}"
expect_equal root "$(root_hash single-folder)" "$(root_hash single-file)"

case_begin "without --out the dataset has the folder's name, or stands beside it"
mkdir elsewhere
(cd elsewhere && expect_exit 0 "$dsdata" build ../single/ "${sums[@]}")
[ -f elsewhere/single/manifest.json ] || complain "no dataset in elsewhere/single"
expect_exit 0 "$dsdata" build single/ "${sums[@]}"
[ -f single-shards/manifest.json ] || complain "no dataset in single-shards"

case_begin "the duplicates' pass checks the sums too, and so does the second one"
expect_exit 0 "$dsdata" build made/ --out dropped "${sums[@]}" --duplicates drop
expect_equal "sums in build.json" "$(json dropped/build.json 'o["sums"]')" "{'right': 3, 'wrong': 0}"

case_begin "more parts than a process may have open by default"
mkdir numerous
for n in $(seq 60); do ln "${parts[0]}" "numerous/xxwiki-2026-11-01-p${n}p$n.xml.bz2"; done
(ulimit -Sn 40 && expect_exit 0 "$dsdata" build numerous/ --dry-run --out planned && [ "$failures" = 0 ]) ||
    complain "60 parts cannot be opened"
rm -r numerous

case_begin "extract reads a folder in page order, and only articles"
expect_exit 0 "$dsdata" extract made/ -q
python3 - "$scratch/stdout" <<'PYTHON' || complain "pages are out of order, or of other namespaces"
import json, sys
pages = [json.loads(line) for line in open(sys.argv[1])]
ids = [page["id"] for page in pages]
assert len(ids) > 10 and ids == sorted(ids), ids[:10]
assert not any(page["title"].split(":")[0] in ("Talk", "User", "Template", "Module") for page in pages)
assert not any("slot text" in page["text"] for page in pages)
PYTHON

case_begin "the plan reads a folder and writes nothing"
expect_exit 0 "$dsdata" build made/ --dry-run --out planned
expect_words "3 parts with SHA256SUMS"
[ ! -e planned ] || complain "the plan wrote something"

case_begin "a part whose bytes are another's: only the sum tells"
fresh_copy
bzip2 -dc "${parts[1]}" | sed 's/wikitext/Wikitext/' | bzip2 >"spoilt/$(basename "${parts[1]}")"
expect_exit 3 "$dsdata" build spoilt/ --out out "${sums[@]}"
expect_words "$(basename "${parts[1]}")" SHA-256
expect_absent manifest.json out
expect_absent '*.dss' out
expect_exit 0 "$dsdata" build spoilt/ --out out "${sums[@]}" --salvage --fresh
expect_words "$(basename "${parts[1]}")" SHA-256
expect_equal "sums in build.json" "$(json out/build.json 'o["sums"]')" "{'right': 2, 'wrong': 1}"

case_begin "without SHA256SUMS nothing is said to be checked"
rm -rf out spoilt/SHA256SUMS
expect_exit 0 "$dsdata" build spoilt/ --out out --threads 2 --seq 64 --vocab vocab.txt
if grep -qE 'sums|SHA' "$scratch/stderr"; then complain "it speaks of sums"; fi

case_begin "a damaged part"
fresh_copy
printf XXXX | dd of="spoilt/$(basename "${parts[2]}")" bs=1 seek=5000 conv=notrunc 2>/dev/null
expect_exit 3 "$dsdata" build spoilt/ --out out "${sums[@]}"
expect_words "$(basename "${parts[2]}")"
expect_absent manifest.json out

case_begin "a part that is missing"
fresh_copy
rm "spoilt/$(basename "${parts[1]}")"
for verb in "build --out out" "vocab --out other.txt" extract "build --dry-run --out out"; do
    # shellcheck disable=SC2086  # words of a command
    expect_exit 3 "$dsdata" $verb spoilt/
    expect_words "$(basename "${parts[1]}")" "not there" --salvage
done
[ ! -e out ] || complain "something was written"
expect_exit 0 "$dsdata" build spoilt/ --out out "${sums[@]}" --salvage
expect_words "$(basename "${parts[1]}")" "not there"
expect_exit 0 "$dsdata" build "${parts[0]}" "${parts[2]}" --out two-of-three "${sums[@]}" --salvage
expect_equal "root of the others" "$(root_hash out)" "$(root_hash two-of-three)"

case_begin "a download that was not completed is named"
fresh_copy
mv "spoilt/$(basename "${parts[2]}")" "spoilt/$(basename "${parts[2]}").part"
expect_exit 3 "$dsdata" build spoilt/ --out out "${sums[@]}"
expect_words "$(basename "${parts[2]}").part" "not downloaded completely"

case_begin "two exports, two wikis, no part at all"
fresh_copy
cp "${parts[0]}" spoilt/xxwiki-2026-10-01-p90000p99999.xml.bz2
expect_exit 2 "$dsdata" build spoilt/ --out out "${sums[@]}"
expect_words "two exports" xxwiki-2026-10-01-p90000p99999.xml.bz2 "$(basename "${parts[0]}")"
fresh_copy
rm spoilt/SHA256SUMS
bzip2 -dc "${parts[2]}" | sed 's/<dbname>xxwiki/<dbname>yywiki/' | bzip2 >"spoilt/$(basename "${parts[2]}")"
expect_exit 2 "$dsdata" build spoilt/ --out out "${sums[@]}"
expect_words xxwiki yywiki "$(basename "${parts[2]}")"
mkdir empty
expect_exit 3 "$dsdata" build empty/ --out out "${sums[@]}"
expect_exit 2 "$dsdata" build --text made/ --out out "${sums[@]}"
expect_words "holds the parts of a wiki"
[ ! -e out ] || complain "something was written"

case_begin "parts that are packed otherwise, or not at all"
mkdir plain
for part in "${parts[@]}"; do bzip2 -dc "$part" >"plain/$(basename "$part" .bz2)"; done
(cd plain && sha256sum ./*.xml >SHA256SUMS && gzip ./*-p10p* && sed -i '/-p10p/d' SHA256SUMS &&
    sha256sum ./*.gz >>SHA256SUMS)
expect_exit 0 "$dsdata" build plain/ --out out --threads 2 --seq 64 --vocab vocab.txt
expect_words "sums       3 files are right"
expect_equal documents "$(json out/manifest.json 'o["documents"]')" "$(json one/manifest.json 'o["documents"]')"

# A part of several windows: all of its bytes are checked, wherever an earlier start was interrupted. (A pass for
# templates would find the damage earlier.)
sums+=(--templates none)
mkdir long
python3 - "${parts[@]}" <<'PYTHON'
import bz2, sys
for number, part in enumerate(sys.argv[1:3]):
    xml = bz2.decompress(open(part, "rb").read())
    first, last = xml.index(b"  <page>"), xml.rindex(b"</mediawiki>")
    times = 10_000_000 // len(xml) if number else 1  # windows of plain XML are 4 MiB
    with open("long/" + part.split("/")[-1].removesuffix(".bz2"), "wb") as file:
        file.write(xml[:first] + xml[first:last] * times + xml[last:])
PYTHON
(cd long && sha256sum ./*.xml >SHA256SUMS)

# Kills a build of long/ while its journal is in the middle of the second part; first where it did so the last time.
hit=50
interrupt() {
    local n
    for n in "$hit" $(seq 50 6 120); do
        rm -rf out
        DS_JOURNAL_EVERY=window DS_FAIL_FILE=$n:kill "$dsdata" build long/ "${sums[@]}" --out out 2>/dev/null && break
        grep -q '^ "file": 1,' out/spill/*.journal && grep -q '^  "window": [1-9]' out/spill/*.journal &&
            hit=$n && return
    done
    complain "no kill left a journal in the middle of the second part"
}

case_begin "interrupted in the middle of a part"
expect_exit 0 "$dsdata" build long/ "${sums[@]}" --out whole
interrupt
expect_exit 0 "$dsdata" build long/ "${sums[@]}" --out out
expect_equal root "$(root_hash out)" "$(root_hash whole)"
expect_equal "sums in build.json" "$(json out/build.json 'o["sums"]')" "{'right': 2, 'wrong': 0}"

case_begin "what an earlier start has read is checked too"
cp -r long kept
second=$(basename "${parts[1]}" .bz2)
sed -i '0,/Heron/s//Hexon/' "long/$second" # before the point of interruption
interrupt
expect_exit 3 "$dsdata" build long/ "${sums[@]}" --out out
expect_words "$second" SHA-256
expect_absent manifest.json out

case_begin "sums that came after the beginning"
rm -r long && mv kept long && mv long/SHA256SUMS sums-of-long
interrupt
mv sums-of-long long/SHA256SUMS
expect_exit 0 "$dsdata" build long/ "${sums[@]}" --out out
expect_equal root "$(root_hash out)" "$(root_hash whole)"
expect_equal "sums in build.json" "$(json out/build.json 'o["sums"]')" "{'right': 1, 'wrong': 0}"

flow_end
