#!/usr/bin/env bash
# A GPU that cannot be used is not a reason to skip: card.sh DSTRAIN DSTRAIN_CUDA_TEST MAKE_SHARDS, with a module that
# does not load. Without a GPU (/dev/nvidia0) the test program exits with 77 and dstrain computes on the CPU with a
# note; with one the former fails and the latter warns. The GPU is an empty file in a private /dev, in a mount
# namespace.
set -u

# expect CODE WORDS COMMAND…: checks the exit code, and that one line of output has the words
expect() {
    local code=0
    "${@:3}" >log 2>&1 || code=$?
    [ "$code" = "$1" ] || { echo "${*:3}: exit code $code, not $1"; failed=1; }
    [ "$(grep -c -- "$2" log)" = 1 ] || { echo "${*:3}: no line says '$2'"; cat log; failed=1; }
}

# Runs inside the namespace, whose mounts end with it. Files are removed outside, where nothing is mounted.
with_card() {
    mkdir dev
    mount -t tmpfs none dev || exit 1
    for node in null zero urandom random; do
        : >"dev/$node"
        mount --bind "/dev/$node" "dev/$node" || exit 1
    done
    : >dev/nvidia0
    mount --rbind dev /dev || exit 1
    expect 1 "there is an NVIDIA card, but: the CUDA backend does not load" ./dstrain_cuda_test
    expect 0 "^warning: computing on the CPU, though there is an NVIDIA card: the CUDA backend does not load: " \
        ./dstrain plan --shards data --model mini
    expect 7 "the CUDA backend does not load" ./dstrain plan --shards data --model mini --device cuda
    exit $failed
}

failed=0
if [ "$1" = --with-card ]; then with_card; fi
ls /dev/nvidia[0-9]* >/dev/null 2>&1 && { echo "skipped: there is a card on this machine"; exit 77; }
unshare --mount --map-root-user true 2>/dev/null || { echo "skipped: no mount namespaces here"; exit 77; }
self=$(realpath "$0")
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
cp "$1" "$2" "$scratch"
echo "no library" >"$scratch/dstrain_cuda.so"
make_shards=$3
cd "$scratch" || exit 1
"$make_shards" data 32 60 20 50 >log 2>&1 || { cat log; exit 1; }
expect 77 "nothing tested: the CUDA backend does not load" ./dstrain_cuda_test
expect 0 "^note       computing on the CPU: the CUDA backend does not load: " ./dstrain plan --shards data --model mini
unshare --mount --map-root-user --propagation private bash "$self" --with-card || failed=1
[ $failed = 0 ] && echo "all right"
exit $failed
