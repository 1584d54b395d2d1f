#!/usr/bin/env bash
# Builds and tests everything: presets release, asan (address and undefined behaviour) and tsan (tests labelled
# threads); if clang is installed, everything must compile with it without a warning.
#
#     scripts/test.sh           27 minutes on two cores of an Intel Xeon at 2.8 GHz; the aim is 15
#     scripts/test.sh --long    also the tests labelled `long` (release only) and, with nvcc, the CUDA backend
#
# The last line is "N passed, N failed"; the exit status is 1 if anything failed, a build included.
set -euo pipefail
cd "$(dirname "$0")/.."

long=no
passed=0
failed=0
summary=()

usage() {
    echo "usage: scripts/test.sh [--long]" >&2
    exit 2
}

# build PRESET [OPTION…]: configures and builds a preset. A failed build counts as one failed test.
build() {
    local preset=$1 log=build/$1.log
    shift
    echo "== $preset: build"
    mkdir -p build
    if cmake --preset "$preset" "$@" >"$log" 2>&1 && cmake --build --preset "$preset" >>"$log" 2>&1; then
        return 0
    fi
    grep -E -A 12 'FAILED|error|Error' "$log" | head -60 || tail -40 "$log"
    summary+=("$preset: the build failed, see $log")
    failed=$((failed + 1))
    return 1
}

# Runs ctest with the given arguments and adds its results. A ctest that ends without a report counts as one failure.
run_tests() {
    local name=$1 report="$PWD/build/$1.xml" good=0 bad=0 skipped=0
    shift
    echo "== $name: tests"
    rm -f "$report"
    ctest "$@" --output-junit "$report" || true
    if [ -f "$report" ]; then read -r good bad skipped < <(scripts/count_tests.py "$report"); fi
    if [ $((good + bad + skipped)) = 0 ]; then
        summary+=("$name: no tests ran")
        failed=$((failed + 1))
        return
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    summary+=("$name: $good passed, $bad failed, $skipped skipped")
}

main() {
    case "${1:-}" in
        "") ;;
        --long) long=yes ;;
        *) usage ;;
    esac
    scripts/setup.sh

    build release && run_tests release --preset release
    if [ "$long" = yes ] && [ -f build/release/CTestTestfile.cmake ]; then
        run_tests long --test-dir build/release -L long -j 2 --timeout 1800 --output-on-failure
    fi
    build asan && run_tests asan --preset asan
    build tsan && run_tests tsan --preset tsan
    if [ "$long" = yes ] && command -v nvcc >/dev/null; then # needs no GPU: kernels run on the host
        build cuda -DDS_WERROR=ON && run_tests cuda --test-dir build/cuda -R cuda --output-on-failure
    fi
    if command -v clang >/dev/null; then
        build clang && summary+=("clang: builds without a warning")
    else
        summary+=("clang: not installed, left out")
    fi

    echo
    printf '%s\n' "${summary[@]}"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}

main "$@"
