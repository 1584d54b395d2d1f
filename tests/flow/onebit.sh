#!/usr/bin/env bash
# --optimizer onebit_adam: Adam until second moments are frozen, then one bit per parameter; stopped and resumed byte
# for byte with the same number of processes, from the mean of errors with another number; the keys of its
# configuration.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

[ -e "$build/dstrain_gloo.so" ] || { echo "gloo is not built: skipped"; exit 77; }
cd "$scratch"
onebit=("${train[@]}" --micro-batch 2 --precision fp32 --optimizer onebit_adam --set optimizer.params.freeze_step=4)
adam=("${train[@]}" --micro-batch 2 --precision fp32 --set optimizer.params.bias_correction=false)

case_begin "before the freeze it is Adam without bias correction"
expect_exit 75 "${onebit[@]}" --out warm --stop-after 4
expect_exit 75 "${adam[@]}" --out adam --stop-after 4
for file in model optimizer; do
    cmp -s {warm,adam}/checkpoints/step-00000004/$file.safetensors || complain "$file.safetensors differs from Adam's"
done

for n in 1 3; do
    case_begin "$n processes, in one go and in parts"
    expect_exit 0 "${onebit[@]}" --out whole-$n --processes $n
    expect_words "frozen at step 4"
    expect_exit 75 "${onebit[@]}" --out parts-$n --processes $n --stop-after 3
    expect_exit 75 "${onebit[@]}" --out parts-$n --processes $n --stop-after 4
    expect_exit 0 "${onebit[@]}" --out parts-$n --processes $n
    expect_same_checkpoint "$n processes" whole-$n parts-$n
    expect_equal "files" "$(cd whole-$n/$last/errors && echo *)" \
        "mean.safetensors $(for r in $(seq 0 $((n - 1))); do printf 'rank-%05d-of-%05d.safetensors\n' "$r" "$n"; \
        done | xargs)"
    expect_exit 0 "$dstrain" verify whole-$n --replay --processes $n
done
# The weights of step 5 are those of Adam in both. The norm of the gradients of several processes is at least that of
# their sum.
norms=$(for n in 1 3; do sed -n 5p whole-$n/metrics.jsonl; done |
    python3 -c 'import json, sys; a, b = (json.loads(l)["grad_norm"] for l in sys.stdin); print(0.999 * a < b < 2 * a)')
expect_equal "the norm of the first step that compresses" "$norms" True
sed -n 12p whole-3/metrics.jsonl >line
# A third of bits sent twice, and a scale for each chunk: 22,397 parameters in 44 tensors.
expect_equal "bytes on the wire" "$(json line '0 < o["wire_bytes"] < 2 * 2 / 3 * (22397 / 8 + 4 * 44) * 1.15')" True

case_begin "another number of processes"
expect_exit 75 "${onebit[@]}" --out other --processes 3 --stop-after 8
expect_exit 0 "${onebit[@]}" --out other --processes 2
expect_words "mean of their errors"
expect_exit 0 "$dstrain" verify other

case_begin "DeepSpeed's scale, in bf16, and auto"
expect_exit 0 "${onebit[@]}" --set optimizer.params.scale=group --out group --processes 3
expect_exit 75 "${onebit[@]}" --set optimizer.params.scale=group --out group-2 --processes 3 --stop-after 7
expect_exit 0 "${onebit[@]}" --set optimizer.params.scale=group --out group-2 --processes 3
expect_same_checkpoint "group" group group-2
expect_exit 0 "${onebit[@]}" --precision bf16 --out half --processes 2
echo '{"optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-3, "betas": [0.5, 0.5], "freeze_step": "auto",
    "freeze_ratio": 0.3, "comm_backend_name": "nccl", "cuda_aware": false, "bias_correction": true}}}' >auto.json
expect_exit 0 "${train[@]}" --micro-batch 2 --out auto --config auto.json --schedule constant --processes 2
expect_words "no effect here: optimizer.params.comm_backend_name" "frozen at step"
expect_equal "recorded" "$(json auto/$last/state.json '0 < o["freeze"]["update"] < 12')" True

case_begin "what it does not go with"
expect_exit 2 "${onebit[@]}" --same-bits --out no
expect_words "--same-bits" onebit_adam
expect_exit 2 "${onebit[@]}" --processes 2 --zero 1 --out no
expect_words "--zero" onebit_adam
expect_exit 2 "${onebit[@]}" --set optimizer.params.max_grad_norm=1 --out no
expect_words max_grad_norm gradient_clipping
expect_exit 2 "${onebit[@]}" --set optimizer.params.freeze_step=soon --out no
expect_words freeze_step auto
expect_exit 2 "${onebit[@]}" --set optimizer.params.scale=tensor --out no
expect_words scale chunk group

flow_end
