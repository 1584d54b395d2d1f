#!/usr/bin/env bash
# Builds both programs and the tests for aarch64 and runs them under qemu: unit tests, and whole programs, whose root
# hashes must be those of x86-64 in tests/golden. Installs nothing: Debian's arm64 libraries are downloaded to the
# folder.
#
#     scripts/aarch64.sh [DIR]       in DIR (default: build/aarch64)
#
# Needs, on a Debian: apt-get install gcc-aarch64-linux-gnu qemu-user-static cmake ninja-build python3. Takes an hour or
# two on two cores. Exits with 77 if one of them is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/apt_apart.bash
source scripts/apt_apart.bash
work=$(mkdir -p "${1:-build/aarch64}" && cd "${1:-build/aarch64}" && pwd)
sysroot=$work/sysroot
libraries=(libc6-dev libbz2-dev zlib1g-dev libzstd-dev liblzma-dev libexpat1-dev libutf8proc-dev libjansson-dev
    libxxhash-dev libcmocka-dev)
# Without tests whose programs start others, which needs a kernel that runs aarch64 files with qemu.
flows=(samples golden_roots golden_bits tokenize vocab vocab_check salvage tfrecord fill_mask score)
left_out='^trainer_(spawn|train)$'

need_programs aarch64-linux-gnu-gcc qemu-aarch64-static ninja

# Makes a build folder for tests/flow, with programs that start qemu.
write_starters() {
    local program
    mkdir -p "$work/starters"
    for program in dsdata dstrain; do
        printf '#!/bin/sh\nexec qemu-aarch64-static -L %q %q "$@"\n' "$sysroot" "$work/programs/$program" \
            >"$work/starters/$program"
        chmod +x "$work/starters/$program"
    done
}

failed=()
if [ ! -e "$sysroot/complete" ]; then
    apt_sysroot "$work/apt" "$sysroot" arm64 "${libraries[@]}"
    touch "$sysroot/complete"
fi
cmake -G Ninja -S . -B "$work/programs" --toolchain cmake/aarch64.cmake -DCMAKE_SYSROOT="$sysroot" -DDS_WERROR=ON \
    -DDS_FAULTS=ON -DDS_MPI=OFF -DDS_GLOO=OFF >/dev/null
cmake --build "$work/programs"
ctest --test-dir "$work/programs" -LE long -R '^(base|shards|tokenizer|pipeline|trainer)_' -E "$left_out" -j 2 \
    --timeout 3600 --output-on-failure || failed+=(rooms)
write_starters
for flow in "${flows[@]}"; do
    echo "== tests/flow/$flow.sh"
    code=0
    bash "tests/flow/$flow.sh" "$work/starters" || code=$?
    [ $code = 0 ] || [ $code = 77 ] || failed+=("$flow")
done
[ ${#failed[@]} = 0 ] || { echo "aarch64: failed: ${failed[*]}"; exit 1; }
echo "aarch64: everything passed"
