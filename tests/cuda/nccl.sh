#!/usr/bin/env bash
# Every operation of comm over the emulated NCCL, in one to five processes, whole and in pieces; an error of NCCL, a
# process that does not answer, an abort: nccl.sh COMM_DRIVER MODULE.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$1" "$(dirname "$2")"/*.so "$scratch"
cd "$scratch"
export TMPDIR=$scratch

for size in 1 2 3 5; do
    ./comm_driver nccl $size
done
./comm_driver nccl 3 --pieces 24

# fails WORDS COMMAND…
fails() {
    local words=$1 out code=0
    shift
    out=$("$@" 2>&1) || code=$?
    [ $code = 1 ] && [[ $out == *"$words"* ]] || { echo "$*: exit code $code: $out"; exit 1; }
}
fails "NCCL: a peer is gone, in a" env EMULATED_NCCL_FAIL=5 ./comm_driver nccl 2
fails "--comm nccl: NCCL 2.17.1 is installed, 2.18 is the minimum" env EMULATED_NCCL=21701 ./comm_driver nccl 2
./comm_driver nccl 3 stopped
./comm_driver nccl 2 aborted
[ -z "$(find . -name 'nccl-*')" ] || { echo "files of the meeting are left"; exit 1; }
