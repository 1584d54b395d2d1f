#!/usr/bin/env bash
# --share auto: slow processes get smaller shares, which are in the metrics, and with --same-bits no bit changes. The
# slow ones sleep.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }
cd "$scratch"
same=("${train[@]}" --micro-batch 1 --same-bits --steps 14)
last=checkpoints/step-00000014

case_begin "one process alone"
expect_exit 0 "${same[@]}" --share auto --out one

case_begin "three of them"
expect_exit 0 env DS_SLOW=0.05,0.1,0.2 "${same[@]}" --share auto --processes 3 --out three
expect_same_checkpoint "shares that change" one three
python3 - three/metrics.jsonl <<'PYTHON' || complain "shares: $(tail -1 three/metrics.jsonl)"
import json, sys

shares = [line["shares"] for line in map(json.loads, open(sys.argv[1])) if "shares" in line]
assert len(shares) == 14 and shares[0] == [3, 3, 2] and all(sum(share) == 8 and min(share) > 0 for share in shares)
assert shares[8] == shares[0] and shares[-1] != shares[0] and shares[-1] == shares[10]
assert shares[-1][0] > shares[-1][1] >= shares[-1][2]
PYTHON
expect_equal "of one" "$(head -1 one/metrics.jsonl | grep -c shares)" 0

case_begin "stopped, and with --zero"
expect_exit 75 env DS_SLOW=0.05,0.1,0.2 "${same[@]}" --share auto --processes 3 --zero 1 --out parts --stop-after 12
expect_exit 0 "${same[@]}" --share auto --processes 2 --out parts
expect_same_checkpoint "in parts" one parts

case_begin "for all or none"
"${same[@]}" --rank 1 --world-size 2 --rendezvous "$scratch/meeting" --share auto >other 2>&1 </dev/null &
expect_exit 2 "${same[@]}" --rank 0 --world-size 2 --rendezvous "$scratch/meeting" --share 1 --out no
expect_words "--share auto" "all processes"
got=0
wait $! || got=$?
expect_equal "exit code of rank 1" $got 2
expect_exit 2 "${train[@]}" --share soon --out no
expect_words "equal, auto or a number"
expect_exit 2 "${train[@]}" --batch 2:8 --batch-warmup 4 --share auto --processes 2 --out no
expect_words "--share auto" "--batch-warmup"

flow_end
