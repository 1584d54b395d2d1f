#!/usr/bin/env bash
# Injects all known kinds of faults into dsdata and dstrain and prints how often data was lost, which should be never.
# The test suite runs a small part of this; all of it takes some hours on two cores, most of them for train_faults.
#
#     scripts/campaign.sh              all of it
#     scripts/campaign.sh 0.1          a tenth
#     scripts/campaign.sh 1 kills      one campaign: tests/campaign/kills.py
#
# tests/README.md has the table it prints, and the commit in its last line. Exit 1 if anything was lost.
set -euo pipefail
cd "$(dirname "$0")/.."

share=${1:-1}
case $share in
    *[!0-9.]*)
        sed -n '2,9s/^# \?//p' "$0" >&2
        exit 2
        ;;
esac
[ $# -gt 0 ] && shift
names=("$@")
if [ ${#names[@]} = 0 ]; then
    for file in tests/campaign/*.py; do
        name=$(basename "$file" .py)
        [ "$name" = common ] || [ "$name" = scenarios ] || names+=("$name")
    done
fi

commit=$(git describe --always --dirty 2>/dev/null || echo "(none)")
scripts/setup.sh
cmake --preset test >/dev/null
cmake --build --preset test --target dsdata dstrain >/dev/null

table=("| campaign | what | figures | lost | time |" "|---|---|---|---|---|")
lost=0
for name in "${names[@]}"; do
    echo "== $name" >&2
    output=$(python3 "tests/campaign/$name.py" build/test --share "$share") || lost=1
    sed '$d' <<<"$output" >&2
    table+=("$(tail -1 <<<"$output")")
done
printf '%s\n' "${table[@]}"
echo "of commit $commit"
exit $lost
