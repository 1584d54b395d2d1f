#!/usr/bin/env bash
# Fine-tuning, eval, score, predict and embed with --same-bits in fp32: the same numbers to the last digit at every
# processor level, in files and on the screen.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
same=(--same-bits --threads 1)

# at_levels WHAT COMMAND…: runs it at each level, @ in its words being the level, into folders named WHAT-LEVEL, with
# its standard output, and compares these folders without the records of times and machines.
at_levels() {
    local what=$1 level
    shift
    case_begin "$what"
    for level in "${levels[@]}"; do
        mkdir -p "$what-$level"
        expect_exit 0 "${@//@/$level}" --cpu "$level" "${same[@]}"
        cp "$scratch/stdout" "$what-$level/stdout"
        find "$what-$level" \( -name run.json -o -name 'events*' -o -name metrics.jsonl \) -delete
        sed -i -E "s/-$level\b//g; /^(run|device|speed|done|time)|second/d" "$what-$level/stdout"
        [ "$level" = base ] || diff -r "$what-base" "$what-$level" >"$scratch/stdout" || complain "$level differs"
    done
}

expect_exit 0 "${train[@]}" --out start
expect_exit 0 "$dstrain" export start --out model
levels=(base)
for level in avx2 avx512; do
    ! "$dstrain" eval start --cpu "$level" >/dev/null 2>&1 || levels+=("$level")
done
[ ${#levels[@]} -gt 1 ] || { echo "this processor has one level: skipped"; exit 77; }
{ echo 'text,label'; for i in {1..24}; do echo "the river flows $i,wet"; echo "a stone hill is old,dry"; done; } >t.csv
{ echo 'text,label'; for i in {1..24}; do echo "the river flows,wet;old"; echo "a stone hill is old,dry"; done; } >m.csv
for i in {1..16}; do printf 'the O\nriver B-WATER\nflows O\n\nold O\nhill B-LAND\n\n'; done >tags.txt
mkdir -p glue/STS-B
{ printf 'index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n'
    for i in {1..20}; do printf '%d\tg\tf\t1\t1\ts\ts\tthe river %d\ta hill is old\t%d.5\n' "$i" "$i" $((i % 5)); done
} >glue/STS-B/train.tsv
cp glue/STS-B/train.tsv glue/STS-B/dev.tsv
python3 -c '
import json
answer = {"text": "old town", "answer_start": 4}
answers = [{"id": str(i), "question": "what stands?", "answers": [answer]} for i in range(9)]
print(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [
    {"context": "the old town stands near the river", "qas": answers}]}]}))' >q.json
pair='{"good": "the river flows near the town", "bad": "the town flows near the river"}'
for i in {1..20}; do echo "$pair"; done >p.jsonl

tune=(--init model --batch 8 --steps 4 --precision fp32)
at_levels classify "$dstrain" classify "${tune[@]}" --train t.csv --dev t.csv --seq 16 --out classify-@/run
at_levels several "$dstrain" classify "${tune[@]}" --train m.csv --dev m.csv --kind multi --seq 16 --out several-@/run
at_levels tag "$dstrain" tag "${tune[@]}" --train tags.txt --dev tags.txt --seq 16 --out tag-@/run
at_levels glue "$dstrain" glue sts-b "${tune[@]}" --data glue --seq 32 --out glue-@/run
at_levels squad "$dstrain" squad "${tune[@]}" --train q.json --dev q.json --seq 32 --max-query 8 --out squad-@/run
for file in classify-base/run/scores.json several-base/run/scores.json tag-base/run/scores.json \
    glue-base/run/scores.json squad-base/run/nbest_predictions.json; do
    [ -s $file ] || complain "$file is missing: nothing was compared"
done
at_levels eval "$dstrain" eval start --precision fp32 --shards "$data" --json
cp -r classify-base/run tuned
at_levels eval-tuned "$dstrain" eval tuned --dev t.csv --precision fp32 --json
at_levels score "$dstrain" score model p.jsonl --json --details score-@/details
at_levels predict "$dstrain" predict several-base/run m.csv --out predict-@/out.csv --all
at_levels embed "$dstrain" embed model t.csv --out embed-@/out.npy
for file in embed-base/out.npy score-base/details eval-base/stdout predict-base/out.csv; do
    [ -s $file ] || complain "$file is missing: nothing was compared"
done

case_begin "without the option old processors give other digits"
expect_exit 0 "$dstrain" embed model t.csv --out plain.npy --cpu base --threads 1
[ "$(uname -m)" != x86_64 ] || ! cmp -s plain.npy embed-base/out.npy || complain "the same digits: nothing was tested"
flow_end
