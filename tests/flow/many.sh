#!/usr/bin/env bash
# One training in many processes: the same bytes for any number of them with --same-bits, without it the same step up to
# rounding; the failure of one of them is reported once, with its rank.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

"$dstrain" train --help >"$scratch/help" && grep -q -- --processes "$scratch/help" ||
    { echo "dstrain has no --processes: skipped"; exit 77; }
[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }

cd "$scratch"
many=("${train[@]}" --micro-batch 1 --optimizer lamb)
same=("${many[@]}" --same-bits)

case_begin "one process"
expect_exit 0 "${same[@]}" --out one --dump-gradients one.safetensors
expect_exit 0 "${many[@]}" --precision fp32 --out plain

for n in 2 3 4 5 8; do
    case_begin "$n processes"
    expect_exit 0 "${same[@]}" --out same-$n --processes $n --dump-gradients same-$n.safetensors
    expect_same_checkpoint "$n processes" one same-$n
    cmp -s one.safetensors same-$n.safetensors || complain "other gradients"
done

case_begin "what is recorded"
expect_equal "processes" "$(json same-3/run.json 'o["starts"][0]["processes"]')" 3
expect_equal "shares" "$(json same-3/run.json '[rank["share"] for rank in o["starts"][0]["ranks"]]')" "[3, 3, 2]"
expect_equal "hosts" "$(json same-3/run.json 'len({rank["host"] for rank in o["starts"][0]["ranks"]})')" 1
expect_equal "devices" "$(json same-3/run.json \
    '{rank["device"] for rank in o["starts"][0]["ranks"]} == {o["starts"][0]["device"]}')" True
expect_equal "of one process" "$(json one/run.json '"ranks" in o["starts"][0]')" False
head -1 same-2/metrics.jsonl >line
# A ring of two sends each number once: 8 bytes, including gaps of flat memory.
expect_equal "bytes on the wire" "$(json line '0 <= o["wire_bytes"] - 8 * 22397 < 8 * 2000')" True
head -1 one/metrics.jsonl >line
expect_equal "of one process" "$(json line '"wire_bytes" in o')" False

case_begin "another level of processor"
expect_exit 75 "${same[@]}" --out levels --stop-after 2
expect_exit 5 "${same[@]}" --out levels --cpu base
expect_words "device" "other bits"
expect_exit 75 "${many[@]}" --precision fp32 --out noted --stop-after 2
expect_exit 75 "${many[@]}" --precision fp32 --out noted --stop-after 2 --processes 2
expect_words "processes" "last bits may differ"

case_begin "sums of floats: up to rounding"
expect_exit 0 "${many[@]}" --precision fp32 --out floats --processes 3
compared "three processes" 1e-6 plain floats
"${many[@]}" --precision fp32 --rank 1 --world-size 2 --rendezvous "$scratch/meeting" \
    --share 0.001 >other 2>&1 </dev/null &
expect_exit 0 "${many[@]}" --precision fp32 --rank 0 --world-size 2 --rendezvous "$scratch/meeting" --share 1 \
    --out empty
wait $! || complain "rank 1 ended with $?: $(cat other)"
expect_same_checkpoint "one of two has an empty share" plain empty

wire=("${many[@]}" --precision fp32 --wire bf16 --comm gloo)
for n in 1 2 3 4; do
    case_begin "gradients as bf16 between $n processes"
    expect_exit 0 "${wire[@]}" --out wire-$n --processes $n
    [ $n = 1 ] || expect_words "$n, which send gradients as bf16"
done
expect_same_checkpoint "one process sends nothing" plain wire-1
for n in 2 3 4; do
    compared "$n processes with --wire bf16" 1e-2 plain wire-$n
done
expect_equal "recorded" "$(json wire-2/run.json 'o["starts"][0]["wire"]')" bf16
head -1 wire-2/metrics.jsonl >line
# 2 bytes instead of 8, including gaps of flat memory.
expect_equal "bytes on the wire" "$(json line '0 <= o["wire_bytes"] - 2 * 22397 < 2 * 2000')" True
expect_exit 0 "${many[@]}" --precision fp32 --set communication_data_type=bf16 --out wire-set --processes 3
expect_same_checkpoint "by its key" wire-3 wire-set
expect_exit 75 "${many[@]}" --precision fp32 --out wire-note --processes 2 --stop-after 2
expect_exit 75 "${wire[@]}" --out wire-note --processes 2 --stop-after 2
expect_words "wire" "last bits may differ"
expect_exit 2 "${same[@]}" --wire bf16 --out wire-same
expect_words "--same-bits" "--wire bf16"
expect_exit 2 "${many[@]}" --set communication_data_type=fp16 --out wire-16
expect_words "communication_data_type" "bf16"

case_begin "started by hand, with unequal shares and a file"
"${same[@]}" --rank 1 --world-size 2 --rendezvous "$scratch/meeting" --share 3 >other 2>&1 </dev/null &
expect_exit 0 "${same[@]}" --rank 0 --world-size 2 --rendezvous "$scratch/meeting" --share 1 --out shares
wait $! || complain "rank 1 ended with $?: $(cat other)"
expect_same_checkpoint "shares 1 and 3" one shares
[ ! -e meeting ] || complain "the rendezvous file is still there"
[ ! -s other ] || complain "rank 1 speaks: $(cat other)"

free_port() {
    python3 -c 'import socket, sys; s = socket.socket(int(sys.argv[1])); s.bind(("", 0)); print(s.getsockname()[1])' \
        "$1"
}

# by_environment OUT ADDRESS PORT: starts two processes as torchrun does.
by_environment() {
    local words=(env WORLD_SIZE=2 "MASTER_ADDR=$2" "MASTER_PORT=$3")
    "${words[@]}" RANK=1 LOCAL_RANK=1 "${same[@]}" --out "$1" >other 2>&1 </dev/null &
    expect_exit 0 "${words[@]}" RANK=0 LOCAL_RANK=0 "${same[@]}" --out "$1"
    wait $! || complain "rank 1 ended with $?: $(cat other)"
    expect_same_checkpoint "by environment, at $2" one "$1"
    [ ! -s other ] || complain "rank 1 speaks: $(cat other)"
}

case_begin "started as torchrun does"
by_environment torchrun 127.0.0.1 "$(free_port 2)"
if grep -q '^0*1 ' /proc/net/if_inet6 2>/dev/null; then
    case_begin "over IPv6"
    by_environment torchrun-6 ::1 "$(free_port 10)"
fi

case_begin "with a key"
key=$(od -An -vtx1 -N32 /dev/urandom | tr -d ' \n')
(umask 077 && echo "$key" >key)
by_hand=("${same[@]}" --world-size 2 --rendezvous "localhost:$(free_port 2)")
"${by_hand[@]}" --rank 0 --key key --out keyed >other 2>&1 </dev/null &
zero=$!
expect_exit 5 env DS_KEY="${key/?????/12345}" "${by_hand[@]}" --rank 1
expect_words "another key"
expect_exit 5 "${by_hand[@]}" --rank 1
expect_words "a key, and this process has none"
DS_KEY=$key "${by_hand[@]}" --rank 1 </dev/null >stdout 2>stderr &
one=$!
while grep -qaF "$key" /proc/$one/environ 2>/dev/null; do sleep 0.01; done # it removes the key
wait $one || complain "rank 1 ended with $?: $(cat stderr)"
wait $zero || complain "rank 0 ended with $?: $(cat other)"
expect_same_checkpoint "with a key" one keyed
if grep -raqF "$key" keyed stdout stderr other; then complain "the key is written down"; fi

case_begin "started as srun --mpi=pmi2 does"
port=$((15000 + RANDOM % 15000)) # the port of the Slurm step: 15,000 + (job * 1009 + step) % 15000
step=(env PMI_SIZE=2 SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=15000 "SLURM_STEP_ID=$((port - 15000))" \
    SLURM_STEP_NODELIST=127.0.0.1)
"${step[@]}" PMI_RANK=1 SLURM_PROCID=1 "${same[@]}" --out pmi2 >other 2>&1 </dev/null &
expect_exit 0 "${step[@]}" PMI_RANK=0 SLURM_PROCID=0 "${same[@]}" --out pmi2
expect_words "processes  2" "gloo"
wait $! || complain "rank 1 ended with $?: $(cat other)"
expect_same_checkpoint "as srun --mpi=pmi2" one pmi2

case_begin "another number at every start, stopped and killed in between"
expect_exit 75 "${same[@]}" --save-every 2 --out parts --processes 3 --stop-after 5
expect_exit 75 "${same[@]}" --save-every 2 --out parts --stop-after 2
expect_exit 0 "${same[@]}" --save-every 2 --out parts --processes 4
expect_same_checkpoint "in parts" one parts

if [ -e "$build/dstrain_mpi.so" ] && command -v mpirun >/dev/null; then
    case_begin "mpirun"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export ASAN_OPTIONS=detect_leaks=0 # of Open MPI
    expect_exit 0 mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n 3 "${same[@]}" --out mpi
    expect_same_checkpoint "mpirun" one mpi
    expect_exit 0 mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n 3 "${many[@]}" --precision fp32 --wire bf16 \
        --out wire-mpi
    expect_same_checkpoint "bf16 over mpirun and over gloo" wire-3 wire-mpi
    expect_equal "closing lines" "$(grep -c '^done' "$scratch/stderr")" 1
    expect_exit 75 mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n 3 "${same[@]}" --out mpi-2 --stop-after 2
    expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1
    unset ASAN_OPTIONS
else
    echo "no MPI: the case of mpirun is skipped"
fi

# process_of RUN RANK: prints the process id.
process_of() {
    for _ in $(seq 500); do
        pid=$(pgrep -f -- "--out $1( |\$)" | sed -n "$(($2 + 2))p") # the first one is the parent
        [ -n "$pid" ] && [ -e "$1/metrics.jsonl" ] && [ "$(wc -l <"$1/metrics.jsonl")" -gt 3 ] && break
        sleep 0.02
    done
    [ -n "$pid" ] || complain "no process of rank $2"
}

endless=("${same[@]}" --steps 1000000 --save-every 2 --processes 3 --peer-timeout 2s)
for signal in KILL STOP TERM; do
    case_begin "SIG$signal at one of three"
    case $signal in TERM) code=75 ;; *) code=9 ;; esac
    "${endless[@]}" --out "$scratch/signal-$signal" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null &
    child=$! got=0
    process_of "$scratch/signal-$signal" 2
    kill -$signal "$pid"
    wait $child || got=$?
    expect_equal "exit code" "$got" $code
    case $signal in
    TERM) expect_words "stopped on request" ;;
    *) expect_words "rank 2" "step" "is safe" "any number of processes" ;;
    esac
    expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1
    pgrep -f -- "--out $scratch/signal-$signal" >/dev/null && complain "a process is left"
done

case_begin "a time limit, and saves by the clock"
expect_exit 75 "${same[@]}" --steps 1000000 --processes 3 --save-every 1s --time-limit 3s --out limit
expect_words "stopped by the time limit"
expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1

case_begin "a process whose weights are others"
for at in 4 12; do # a save during the run, and the last one
    export DS_FAIL_WEIGHT=2:$at
    expect_exit 8 "${same[@]}" --processes 3 --save-every 4 --out other-$at
    expect_words "rank 2 differ" "checkpoint of step $((at - 4))"
    expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1
    [ ! -e "other-$at/checkpoints/step-$(printf %08d $at)" ] || complain "step $at is saved"
done
export DS_FAIL_WEIGHT=0:5
expect_exit 8 "${same[@]}" --processes 3 --stop-after 5 --out other-5
expect_words "rank 0 differ"
unset DS_FAIL_WEIGHT

case_begin "a damaged shard at one of them"
cp -r "$data" damaged
shard=$(find damaged/seq32 -name 'train-*' | head -1)
python3 - "$shard" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(4096 + 4000)
    file.write(b"\xff" * 3000)
PYTHON
expect_exit 4 "${same[@]/#$data/damaged}" --out harmed --processes 3
expect_words "rank" "damaged/seq32"
expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1

case_begin "an evaluation"
expect_exit 0 "$dstrain" eval one --json --threads 1
cp "$scratch/stdout" alone.json
expect_exit 0 "$dstrain" eval one --json --processes 3 --threads 3
expect_equal "the same means" "$(json alone.json '"%d %d %.5f" % (o["samples"], o["tokens"], o["loss"])')" \
    "$(json "$scratch/stdout" '"%d %d %.5f" % (o["samples"], o["tokens"], o["loss"])')"
expect_exit 2 "$dstrain" eval nowhere --processes 2
expect_equal "errors" "$(grep -c '^dstrain: ' "$scratch/stderr")" 1

# levels OUT COMMAND…: two processes with two CPU levels are refused.
levels() {
    local got=0 out=$1
    shift
    "$@" --cpu base --rank 1 --world-size 2 --rendezvous "$scratch/meeting" >other 2>&1 </dev/null &
    expect_exit 5 "$@" --rank 0 --world-size 2 --rendezvous "$scratch/meeting" --out "$out"
    expect_words "device" "base"
    wait $! || got=$?
    expect_equal "exit code of rank 1" $got 5
}

case_begin "processors of two levels under --same-bits"
levels levels-2 "${same[@]}" --precision bf16
case_begin "processors of two levels and updates of whole matrices"
levels levels-3 "${train[@]}" --precision fp32 --optimizer muon

case_begin "what cannot be"
expect_exit 2 "${same[@]}" --out wrong --processes 9
expect_words "9 processes" "8 parts"
expect_exit 2 "${many[@]}" --batch 4 --out wrong --processes 5
expect_words "5 processes" "4 samples"
expect_exit 2 "${many[@]}" --batch 1 --out wrong --processes 2
grep -qx "dstrain: .*2 processes, but a batch of only 1 sample" "$scratch/stderr" || complain "other words for 1 sample"
expect_exit 2 "${many[@]}" --out wrong --processes 2 --comm nccl
expect_absent 'run.json' wrong

case_begin "options of which one process would never learn the value of the other"
while read -r option zero one; do
    "${train[@]}" --schedule wsd "$option" "$one" --rank 1 --world-size 2 --rendezvous "$scratch/meeting" --out wrong \
        >other 2>&1 </dev/null &
    expect_exit 5 "${train[@]}" --schedule wsd "$option" "$zero" --rank 0 --world-size 2 \
        --rendezvous "$scratch/meeting" --out wrong
    expect_words " $option differs"
    got=0
    wait $! || got=$?
    expect_equal "exit code of rank 1, $option" $got 5
done <<'OPTIONS'
--decay 0.2 0.9
--eval-samples 4 8
--keep-last 1 2
--save-every 3 4
--set gradient_clipping=1 gradient_clipping=2
OPTIONS

case_begin "processes that do not mean the same"
"$dstrain" --shards "$data" --model "$model" --lr 3e-3 --rank 1 --world-size 2 --rendezvous "$scratch/meeting" \
    >other 2>&1 </dev/null &
expect_exit 5 "${many[@]}" --rank 0 --world-size 2 --rendezvous "$scratch/meeting" --out wrong
expect_words "--lr" "0.003"
got=0
wait $! || got=$?
expect_equal "exit code of rank 1" $got 5

flow_end
