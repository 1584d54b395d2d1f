#!/usr/bin/env bash
# Every command in the table "Your own task" of docs/USING.md runs as it stands there.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$scratch"
"${train[@]}" -q --out run
expect_exit 0 "$dstrain" export run --out bert
{
    echo "text,category"
    for i in {1..40}; do printf 'the river near the hill %d,praise\nthe old stone fell %d,complaint\n' "$i" "$i"; done
} >tickets.csv
cp tickets.csv new.csv
for i in {1..40}; do printf 'the O\nriver B-LOC\n\nstone O\nhill B-LOC\n%d O\n\n' "$i"; done >names.conll
cp names.conll new.conll
printf 'the river\nthe hill\n' >lines.txt

count=0
while read -r command; do
    case_begin "$command"
    read -ra words <<<"$command"
    case ${words[1]} in classify | tag) words+=(--steps 20 --seq 32) ;; esac
    expect_exit 0 "$dstrain" "${words[@]:1}"
    count=$((count + 1))
done < <(sed -n '/^### Your own task/,/^### /s/^| `\(dstrain [^`]*\)`.*/\1/p' "$root/docs/USING.md")
expect_equal "commands" "$count" 7
for made in answered.csv tagged.conll lines.npy sorted-hf/model.safetensors; do
    [ -s "$made" ] || complain "$made is missing"
done
flow_end
