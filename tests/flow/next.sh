#!/usr/bin/env bash
# The command that a verb names at its end, or in the hint of an error, works as it stands: with options that the inputs
# need, with names that a shell or an option parser would misread, and without running what a name holds.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
export PATH=$build:$PATH
odd="e \$(touch pwned) 'q\" & b"

# The command after "next" of the last command's stderr.
next_of() {
    sed -n 's/^next  *//p' "$scratch/stderr" | tail -1
}

# followed COMMAND…: the command succeeds, and so does the one that it names; its exit code is 0. $with adds options.
followed() {
    local next
    expect_exit 0 "$@"
    next=$(next_of)
    [ -n "$next" ] || complain "no next command"
    case $next in
    *--init*) ;;
    "dstrain plan"*) next="$next --model $model" ;;
    "dstrain --shards"*"--model"*) next="$next --dry-run" ;;
    esac
    rm -rf DIR FILE bert
    expect_exit 0 bash -c "$next ${with:-}"
    case_name="$1 $2 → $next"
    expect_absent 'pwned*' .
}

mkdir "$odd" && cp -r "$data" "$odd/-d" && cp -r "$data" ./-d
cp vocab.txt ./-v
printf '{"doc_id": 7, "my body": "The river flows. The hill stands near the old town."}\n%.0s' {1..60} >"$odd/-j.jsonl"
cp "$odd/-j.jsonl" ./-j.jsonl
sentences='It is {{u|5}} by the river. The town is old and large. The hill is near the town.'
template_wiki "$(printf "$sentences%.0s" {1..9})" >wiki.xml

case_begin "dsdata's verbs"
with="--valid 0.3 --seq 32 --vocab vocab.txt --dry-run"
followed dsdata extract "$odd/-j.jsonl" --text-key "my body" --id-key doc_id --limit 5
followed dsdata extract --jsonl ./-j.jsonl --text-key "my body" --id-key doc_id --format sentences
followed dsdata extract --jsonl=-j.jsonl --text-key "my body" --id-key doc_id -v
mkdir many && for i in {1..40}; do cp text.txt "many/$i.txt"; done
expect_exit 0 dsdata extract many/*.txt --lang "fi"
expect_equal "of many inputs" "$(next_of)" "dsdata build FILE... --lang fi"
followed dsdata extract --text text.txt --text-form sentences --lang "fi"
followed dsdata extract --text fi=text.txt --min-words 3 -j 2
followed dsdata extract wiki.xml --templates none --keep lists,pre
followed dsdata templates wiki.xml --out "$odd/renderings"
with="--valid 0.3 --seq 32 --dry-run"
followed dsdata vocab text.txt --vocab-size 200 --cased --out "$odd/v.txt"
followed dsdata vocab --text-key "my body" --id-key doc_id --vocab-size 200 --out=-w --accents keep -- -j.jsonl
with="<text.txt"
expect_exit 0 bash -c "dsdata vocab --text - --vocab-size 200 --out piped.txt <text.txt"
expect_exit 0 bash -c "$(next_of) --seq 32 --valid 0.2 <text.txt"
rm -rf DIR
with=""
expect_exit 0 dsdata vocab --check vocab.txt
expect_equal "of a check" "$(next_of)" "dsdata build INPUT --vocab vocab.txt"
for d in "$odd/-d" ./-d; do
    followed dsdata show "$d"
    followed dsdata show "$d" --seq 64 --split valid --sample 1
    followed dsdata show "$d/seq32/train-00000-of-00001.dss"
    followed dsdata verify "$d"
    followed dsdata report "$d"
    followed dsdata export "$d" --seq 64 --format tfrecord --out "$odd/x.tfrecord"
    followed dsdata export "$d" --seq 64 --split valid --out "$odd/x.jsonl"
    followed dsdata export "$d" --seq 64 --format mds --out "$odd/mds"
    rm -r "$odd/mds"
done
followed dsdata export --out y.jsonl -- -d
followed dsdata show -- -d
followed dsdata report -- -d
with=""
followed dsdata build --text text.txt --vocab ./-v --seq 32 --valid 0.2 --out "$odd/-built"
followed dsdata build --text text.txt --vocab=-v --seq 32 --valid 0.2 --out=-built
followed dsdata build --text text.txt --vocab=-v --seq 32 --valid 0.2 --out=-built # finished already

case_begin "dstrain's verbs"
for d in "$odd/-d" ./-d; do
    followed dstrain plan --shards "$d" --seq 64 --time-limit 1h
    expect_words "--model tiny" "--steps" "--batch 16"
done
expect_exit 0 dstrain plan --shards "$data" --steps 7 --json
expect_words "expect     little: the steps are too few"
expect_equal "a proposal for given steps" "$(json stdout \
    'o["steps"], [(c["model"], c["limited_by"]) for c in o["candidates"]]')" "(7, [('tiny', 'steps')])"
expect_equal "its command" "$(json stdout 'o["next"]')" "dstrain --shards $data --steps 7 --model tiny"
for run in "$odd/-r" ./-r; do
    followed "${train[@]}" --out "$run"
    followed dstrain show "$run"
    followed dstrain verify "$run"
    followed dstrain eval "$run"
    followed dstrain report "$run"
    followed dstrain verify "$run" --replay --from 0
done

echo '{"gradient_clipping": 0.5, "optimizer": {"type": "LAMB"}}' >"$odd/c.json"
with="--quiet" followed "${train[@]}" --out ./-c --config "$odd/c.json" --set optimizer.params.eps=1e-5
expect_exit 0 "${train[@]}" --out ./-c --config "$odd/c.json" --set optimizer.params.eps=1e-5
expect_words "--set optimizer.params.eps=1e-5" "c.json' --" "--init ./-c --steps 2"

case_begin "commands in hints"
mkdir "$odd/-bin"
echo '{"model_type": "bert"}' >"$odd/-bin/config.json"
: >"$odd/-bin/pytorch_model.bin.index.json"
# hinted WORD: the hint, as a shell with stubs of the programs would read it: the last word is WORD.
mkdir stub
for program in python3 scripts/to_safetensors.py curl hf; do
    mkdir -p "stub/$(dirname "$program")"
    printf '#!/bin/sh\nfor word; do :; done\nprintf "%%s" "$word" >%q\n' "$scratch/last" >"stub/$program"
    chmod +x "stub/$program"
done
hinted() {
    local command
    command=$(sed -n '2s/^[^:]*: *//p' "$scratch/stderr")
    rm -f last
    (cd stub && PATH=$scratch/stub:$PATH bash -c "$command") >/dev/null 2>&1
    expect_equal "the last word of: $command" "$(cat last)" "$1"
    expect_absent 'pwned*' .
}
expect_exit 6 dstrain --shards "$data" --init "$odd/-bin" --steps 1 --out never
hinted "$odd/-bin.safetensors"
expect_exit 2 dsdata build "https://example.org/a?b&c='\$(touch pwned)'"
hinted "https://example.org/a?b&c='\$(touch pwned)'"

flow_end
