#!/usr/bin/env bash
# Every operation over MPI, in one to five processes, whole and in pieces; late processes and aborts. Needs mpirun of
# Open MPI or MPICH.
set -euo pipefail
driver=$1

skip() {
    echo "$1: skipped"
    exit 77
}
command -v mpirun >/dev/null || skip "mpirun is not installed"
grep -q __tsan_init "$driver" && skip "MPI is not built for the thread sanitizer"
export ASAN_OPTIONS=detect_leaks=0 # of MPI
run=(mpirun)
if mpirun --version 2>&1 | grep -q "Open MPI"; then
    run+=(--allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1)
fi

for size in 1 2 3 4 5; do
    "${run[@]}" -n $size "$driver" mpi $size || { [ $? = 77 ] && skip "built without MPI"; exit 1; }
done
"${run[@]}" -n 3 "$driver" mpi 3 --pieces 24

# mpirun's exit status is not 0 if a process ends without the others, so only the output counts.
seen() { # FAULT WORDS
    local out
    out=$("${run[@]}" -n 2 "$driver" mpi 2 "$1" 2>&1) || true
    [[ $out == *"$2"* ]] || { printf '%s: %s\n' "$1" "$out" >&2; exit 1; }
}
seen late "the other processes did not answer for 0.5 s (MPI), in a sum of 8.39 MB"
seen aborted "rank 0: aborted"
"$driver" mpi 2 unstarted
