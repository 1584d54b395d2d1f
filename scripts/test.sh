#!/usr/bin/env bash
# Builds and tests.
#
#     scripts/test.sh                   the preset test (the release build with the faults that tests need) and every
#                                       test that is not labelled `long`, for every commit
#     scripts/test.sh --sanitize        also the presets asan (address and undefined behaviour) and tsan (tests labelled
#                                       `threads`), and clang's warnings, if it is installed
#     scripts/test.sh --long            everything: also the tests labelled `long`, and with nvcc the CUDA backend
#     scripts/test.sh --changed [REV]   of each of these, only the tests that the files changed since REV can break (by
#                                       default the last commit and what is not committed)
#
# CONTRIBUTING.md has how long each takes. The last line is "N passed, N failed"; the exit status is 1 if anything
# failed, a build included.
set -euo pipefail
cd "$(dirname "$0")/.."

long=no
sanitize=no
only=() # -R REGEX for ctest
jobs=$(($(nproc) + 2)) # tests of whole programs often wait: for a disk, a time limit, a process that was stopped
passed=0
failed=0
summary=()

usage() {
    echo "usage: scripts/test.sh [--sanitize] [--long] [--changed [REV]]" >&2
    exit 2
}

# build PRESET TARGET [OPTION…]: configures a preset and builds a target. A failed build counts as one failed test.
build() {
    local preset=$1 target=$2 log=build/$1.log
    shift 2
    echo "== $preset: build"
    mkdir -p build
    if cmake --preset "$preset" "$@" >"$log" 2>&1 &&
        cmake --build --preset "$preset" --target "$target" >>"$log" 2>&1; then
        return 0
    fi
    grep -E -A 12 'FAILED|error|Error' "$log" | head -60 || tail -40 "$log"
    summary+=("$preset: the build failed, see $log")
    failed=$((failed + 1))
    return 1
}

# Runs ctest with the given arguments and adds its results. A ctest that ends without a report counts as one failure,
# unless --changed left it nothing to run.
run_tests() {
    local name=$1 report="$PWD/build/$1.xml" good=0 bad=0 skipped=0
    shift
    echo "== $name: tests"
    rm -f "$report"
    # A shell's background job ignores SIGINT, and so would programs to which a test sends it.
    env --default-signal=INT ctest "$@" "${only[@]}" -j "$jobs" --output-junit "$report" || true
    if [ -f "$report" ]; then read -r good bad skipped < <(scripts/count_tests.py "$report"); fi
    if [ $((good + bad + skipped)) = 0 ] && [ ${#only[@]} -gt 0 ] && [ "$name" != test ]; then
        summary+=("$name: none of the tests that were chosen")
        return
    fi
    if [ $((good + bad + skipped)) = 0 ]; then
        summary+=("$name: no tests ran")
        failed=$((failed + 1))
        return
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    summary+=("$name: $good passed, $bad failed, $skipped skipped")
}

check_with_clang() {
    local log=build/clang.log
    if ! command -v clang >/dev/null; then
        summary+=("clang: not installed, left out")
        return
    fi
    echo "== clang: warnings"
    if cmake --preset clang >"$log" 2>&1 && scripts/clang_warnings.py build/clang >>"$log" 2>&1; then
        summary+=("clang: $(tail -1 "$log")")
    else
        tail -60 "$log"
        summary+=("clang: warnings, see $log")
        failed=$((failed + 1))
    fi
}

read_options() {
    local changed=no since=HEAD~1
    while [ $# -gt 0 ]; do
        case $1 in
            --sanitize) sanitize=yes ;;
            --long) long=yes sanitize=yes ;;
            --changed)
                changed=yes
                if [ -n "${2:-}" ] && [ "${2#-}" = "$2" ]; then since=$2 && shift; fi
                ;;
            *) usage ;;
        esac
        shift
    done
    [ "$changed" = no ] || only=(-R "$(scripts/changed_tests.py "$since")")
}

main() {
    read_options "$@"
    scripts/setup.sh

    build test all && run_tests test --preset test
    if [ "$long" = yes ] && [ -f build/test/CTestTestfile.cmake ]; then
        run_tests long --test-dir build/test -L long --timeout 1800 --output-on-failure
    fi
    if [ "$sanitize" = yes ]; then
        build asan all && run_tests asan --preset asan
        build tsan threads && run_tests tsan --preset tsan
        check_with_clang
    fi
    if [ "$long" = yes ] && command -v nvcc >/dev/null; then # needs no GPU: kernels run on the host
        build cuda all -DDS_WERROR=ON && run_tests cuda --test-dir build/cuda -R cuda --output-on-failure
    fi

    echo
    printf '%s\n' "${summary[@]}"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}

main "$@"
