#!/usr/bin/env bash
# labels: once
# scripts/reproduce.sh: stages and their times, the hash; stopped in the training and continued; published weights and
# others; a folder of another command.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
mkdir bin
ln -s "$dsdata" bin/dsdata
# dstrain, whose first training stops after 3 steps.
cat >bin/dstrain <<STUB
#!/usr/bin/env bash
if [ "\$1" = --shards ] && [ -e "$scratch/stop" ]; then rm "$scratch/stop"; exec "$dstrain" "\$@" --stop-after 3; fi
exec "$dstrain" "\$@"
STUB
chmod +x bin/dstrain
export PATH=$scratch/bin:$PATH
reproduce=("$project/scripts/reproduce.sh" text.txt)
options=(--build --vocab vocab.txt --seq 32 --valid 0.2 --train --model "$model" --steps 8 --batch 8 --save-every 4
    --threads 1)

case_begin "in one piece"
expect_exit 0 "${reproduce[@]}" one "${options[@]}"
expect_equal "stages" "$(cut -f 1,3 one/stages.tsv | tr '\n\t' ' ')" \
    "dump done build done verify done train done export done replay done "
expect_equal "lines of times" "$(grep -cE '^[a-z]+ +[0-9]+\.[0-9] s' "$scratch/stdout")" 7
weights=$(json one/run/checkpoints/step-00000008/state.json 'o["files"]["model.safetensors"]')
expect_equal "the end" "$(tail -3 "$scratch/stdout")" "dump       SHA-256 $(sha256sum text.txt | cut -c 1-64)
dataset    root hash $(root_hash one/shards)
weights    XXH3 $weights at step 8"

case_begin "stopped and continued, against the published hashes"
touch stop
expect_exit 75 "${reproduce[@]}" two --provenance one/model/provenance.json "${options[@]}"
expect_words "train ended with exit code 75" "the same command continues"
expect_absent provenance.json two
expect_exit 0 "${reproduce[@]}" two --provenance one/model/provenance.json "${options[@]}"
grep -qE "^train +[0-9.]+ s, 2 starts$" "$scratch/stdout" || complain "another number of starts"
grep -q "^weights    XXH3 $weights at step 8$" "$scratch/stdout" || complain "other weights"
cp two/stages.tsv before
expect_exit 0 "${reproduce[@]}" two --provenance one/model/provenance.json "${options[@]}"
cmp -s before two/stages.tsv || complain "a finished stage was repeated"

case_begin "other weights than the published ones, and what cannot be"
other=(--build --seed 7 "${options[@]:1}")
expect_exit 5 "${reproduce[@]}" two --provenance one/model/provenance.json "${other[@]}"
expect_words "two is of another command"
expect_exit 5 "${reproduce[@]}" three --provenance one/model/provenance.json "${other[@]}"
expect_words "another run" "dataset"
for words in "" "text.txt" "text.txt out --odd" "nowhere out" "text.txt out --provenance nowhere"; do
    # shellcheck disable=SC2086  # the words of a command line
    expect_exit 2 "$project/scripts/reproduce.sh" $words
done
expect_absent out .
flow_end
