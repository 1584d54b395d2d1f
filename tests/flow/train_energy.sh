#!/usr/bin/env bash
# Energy of a training, from the counters of a fake machine: plan, the closing lines, --json; no output if there are no
# counters.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
stub=$build/tests/libnvml_stub.so

cd "$scratch"
export DS_POWERCAP=$scratch/none DS_NVML=libnowhere.so.1 DS_STUB_GPUS=2

plan=("$dstrain" plan --shards "$data" --model "$model" --batch 8 --threads 1)

case_begin "nothing counts"
expect_exit 0 "${train[@]}" --json
grep -q energy stdout stderr && complain "energy of a training"
expect_exit 0 "${plan[@]}" --json
grep -q energy stdout stderr && complain "energy of a plan"

case_begin "two GPUs count, and a processor that stands still"
mkdir -p zones/intel-rapl:0
echo package-0 >zones/intel-rapl:0/name
echo 262143328850 >zones/intel-rapl:0/max_energy_range_uj
echo 1000000 >zones/intel-rapl:0/energy_uj
export DS_POWERCAP=$scratch/zones DS_NVML=$stub
expect_exit 0 "${train[@]}" --out run
expect_words "energy     3 J in this start, " " W on average: 1 processor and 2 GPUs, other programs included"
expect_exit 0 "${train[@]}" --out facts --json
expect_equal "the closing facts" \
    "$(json stdout '[o["energy"][k] for k in ("joules", "processors", "gpus")], o["energy"]["watts"] > 0')" \
    "([3.0, 1, 2], True)"
expect_equal "kWh" "$(json stdout 'abs(o["energy"]["kwh"] * 3.6e6 - 3) < 1e-9')" True
expect_exit 0 "${train[@]}" --out facts --json
expect_equal "nothing was done" "$(json stdout '"energy" in o')" False
expect_exit 0 "${plan[@]}" --steps 1000000000
expect_words "energy     about " " kWh (" " W: 1 processor and 2 GPUs, other programs included"
expect_exit 0 "${plan[@]}" --json
expect_equal "power times time" \
    "$(json stdout 'abs(o["energy"]["joules"] - o["energy"]["watts"] * o["seconds"]) < 1e-9')" True
expect_equal "the record is the same" "$(json run/run.json 'sorted(o["identity"])')" \
    "$(json facts/run.json 'sorted(o["identity"])')"
flow_end
