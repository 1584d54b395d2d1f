#!/usr/bin/env bash
# Builds everything with each compiler and runs the quick tests (the preset `quick`) and tests/flow/golden_bits.sh,
# whose hashes every compiler must give; once more with -O1, under an emulated x86-64 processor without AVX, with char
# unsigned as it is on aarch64, with clang's memory sanitizer, and with musl in place of glibc. scripts/aarch64.sh does
# the same for aarch64.
#
#     scripts/matrix.sh               all legs: gcc-11 gcc-12 clang-14 clang-15 clang-16 clang-19 O1 no-avx
#                                   unsigned-char msan musl
#     scripts/matrix.sh LEG ...       these; any compiler that is installed can be named (gcc-14)
#
# Needs, on a Debian: apt-get install gcc-11 clang-14 clang-15 clang-16 clang-19 qemu-user-static; for msan also
# libclang-rt-19-dev llvm-19 dpkg-dev; for musl musl-tools dpkg-dev. A leg whose compiler or emulator is missing counts
# as skipped, as do msan and musl where scripts/libraries.sh cannot fetch the sources of the libraries that they link;
# these two leave out MPI, gloo, HDF5 and libarchive. Builds in build/matrix; warnings are errors. About 5 minutes of a
# core for a compiler, 20 for the emulator or msan. The last lines are the table of docs/BENCHMARKS.md and the commit.
# Exit 1: a leg failed; 77: all were skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

legs=(gcc-11 gcc-12 clang-14 clang-15 clang-16 clang-19 O1 no-avx unsigned-char msan musl)
emulator=qemu-x86_64-static
rows=()
failed=0
ran=0

# The filter of the preset: "include exclude".
quick_filter() {
    python3 -c '
import json
preset = next(p for p in json.load(open("CMakePresets.json"))["testPresets"] if p["name"] == "quick")
print(preset["filter"]["include"]["name"] + "|^flow_golden_bits$", preset["filter"]["exclude"]["name"])'
}

# run_leg LEG COMPILER [OPTION …]: one row.
run_leg() {
    local leg=$1 compiler=$2 folder=build/matrix/$1 good=0 bad=0 skipped=0 include exclude
    shift 2
    mkdir -p "$folder"
    echo "== $leg"
    ran=$((ran + 1))
    if ! { cmake -G Ninja -S . -B "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDS_WERROR=ON -DDS_FAULTS=ON \
            -DCMAKE_C_COMPILER="$compiler" "$@" && cmake --build "$folder"; } >"$folder.log" 2>&1; then
        grep -E -A 6 'FAILED|error:' "$folder.log" | head -40 || tail -20 "$folder.log"
        rows+=("| $leg | does not build | | |")
        failed=$((failed + 1))
        return
    fi
    read -r include exclude < <(quick_filter)
    rm -f "$folder.xml"
    ctest --test-dir "$folder" -R "$include" -E "$exclude" -LE long -j 2 --timeout 3600 --output-on-failure \
        --output-junit "$PWD/$folder.xml" >"$folder.tests" || grep -E 'Failed|Exception|Timeout' "$folder.tests" || true
    if [ -f "$folder.xml" ]; then read -r good bad skipped < <(scripts/count_tests.py "$folder.xml"); fi
    if [ $((good + bad + skipped)) = 0 ] || [ "$bad" != 0 ]; then failed=$((failed + 1)); fi
    rows+=("| $leg ($("$compiler" -dumpfullversion -dumpversion)) | $good | $bad | $skipped |")
}

# run_apart LEG COMPILER "FLAG ..." [OPTION ...]: as run_leg, with libraries that the compiler made with these flags.
run_apart() {
    local leg=$1 compiler=$2 flags=$3 prefix=$PWD/build/matrix/$1-libraries code=0
    shift 3
    # shellcheck disable=SC2086  # the flags are meant to be split into words
    scripts/libraries.sh "$prefix" "$compiler" $flags || code=$?
    if [ $code != 0 ]; then
        rows+=("| $leg | libraries: $([ $code = 77 ] && echo skipped || echo failed) | | |")
        [ $code = 77 ] || { ran=$((ran + 1)) failed=$((failed + 1)); }
        return
    fi
    PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig run_leg "$leg" "$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_FLAGS="$flags" -DDS_MPI=OFF -DDS_GLOO=OFF -DDS_HDF5=OFF -DDS_ARCHIVE=OFF "$@"
}

main() {
    local leg commit
    [ $# = 0 ] || legs=("$@")
    commit=$(git describe --always --dirty 2>/dev/null || echo "(none)")
    for leg in "${legs[@]}"; do
        if [ "$leg" = no-avx ] && command -v $emulator >/dev/null; then
            # CMake hands tests to the emulator where it believes that it cross-compiles.
            run_leg no-avx cc -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64 \
                -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator;-cpu;qemu64"
        elif [ "$leg" = O1 ]; then # with Debug the project's -O3 does not replace it
            run_leg O1 cc -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g"
        elif [ "$leg" = unsigned-char ]; then
            run_leg unsigned-char cc -DCMAKE_C_FLAGS=-funsigned-char
        elif [ "$leg" = msan ]; then
            # At -O1 a report names the variable; with Debug the project's -O3 does not replace it.
            run_apart msan clang-19 "-fsanitize=memory -fsanitize-memory-track-origins -fno-omit-frame-pointer" \
                -DDS_SANITIZE=memory -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g"
        elif [ "$leg" = musl ]; then
            run_apart musl musl-gcc ""
        elif [ "$leg" != no-avx ] && command -v "$leg" >/dev/null; then
            run_leg "$leg" "$leg"
        else
            echo "== $leg: $([ "$leg" = no-avx ] && echo $emulator || echo "$leg") is not installed: skipped"
            rows+=("| $leg | not installed: skipped | | |")
        fi
    done
    echo
    echo "| compiler | passed | failed | skipped |"
    echo "|---|--:|--:|--:|"
    printf '%s\n' "${rows[@]}"
    echo "of commit $commit"
    if [ $ran = 0 ]; then exit 77; fi
    [ $failed = 0 ]
}

main "$@"
