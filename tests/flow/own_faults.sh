#!/usr/bin/env bash
# classify, tag and predict with files and models that are wrong: a message that names the place, and nothing written.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
"${train[@]}" -q --out pre
{
    echo "text,label"
    for i in {1..30}; do printf 'the river near the hill %d,good\nthe old stone fell %d,bad\n' "$i" "$i"; done
} >rows.csv
for i in {1..30}; do printf 'the OUT\nriver PLACE\n\nhill PLACE\n%d OUT\n\n' "$i"; done >words.conll
common=(--init pre --steps 3 --seq 32 --threads 1)
expect_exit 0 "$dstrain" classify "${common[@]}" --train rows.csv --out classes
expect_exit 0 "$dstrain" tag "${common[@]}" --train words.conll --out tags
expect_exit 0 "$dstrain" export classes --out exported

case_begin "tags that are not BIO are scored by words alone"
expect_equal "scores" "$(json tags/scores.json '"accuracy" in o, "f1" in o')" "(True, False)"

case_begin "a mark that is not closed at the end of a large table"
{ cat rows.csv; for i in {1..300}; do tail -n +2 rows.csv; done; echo '"the hill,good'; } >large.csv
for verb in classify predict; do
    words=("$dstrain" predict classes large.csv --out x)
    [ "$verb" = predict ] || words=("$dstrain" classify "${common[@]}" --train large.csv --out x)
    expect_exit 3 "${words[@]}"
    expect_words "line 18062: the quotation mark"
    expect_equal "nothing is left" "$(ls -d x* 2>/dev/null)" ""
done

case_begin "columns that are not there, and models that do not fit"
expect_exit 2 "$dstrain" predict classes rows.csv --text txt --out x
expect_words 'has no column "txt" (--text)' 'did you mean "text"?'
expect_exit 2 "$dstrain" predict classes rows.csv --text reply --out x
expect_words "its columns are: text, label"
grep -q "did you mean" "$scratch/stderr" && complain "another word is no slip"
{ head -4 rows.csv; echo "the hill,"; } >empty.csv
expect_exit 3 "$dstrain" classify "${common[@]}" --train empty.csv --out x
expect_words 'line 5, column label: the label "" is empty' "--kind multi"
expect_exit 0 "$dstrain" tag --init classes --train words.conll --steps 1 --seq 32 --threads 1 --out other
expect_words "that model's head is not used, a new one is drawn by seed"
cp -r exported bare
rm -f bare/vocab.txt bare/tokenizer*
expect_exit 2 "$dstrain" predict bare rows.csv --out x
expect_words "bare: has neither tokenizer.json nor vocab.txt"
expect_equal "nothing is left" "$(ls -d x* 2>/dev/null)" ""

case_begin "a disk that is full, and a prediction that is stopped and repeated"
for n in 1 2 3; do
    expect_exit 7 env DS_FAIL_FILE=$n:full "$dstrain" predict classes rows.csv --out x
    expect_equal "nothing is left" "$(ls -d x* 2>/dev/null)" ""
done
expect_exit 0 "$dstrain" predict classes rows.csv --out whole.csv --threads 1
for n in 1 2 3 4; do
    DS_FAIL_FILE=$n:kill "$dstrain" predict classes rows.csv --out x 2>/dev/null && complain "it was not killed"
    [ ! -e x ] || cmp x whole.csv || complain "part of a table has its final name"
    expect_exit 0 "$dstrain" predict classes rows.csv --out x --threads 1
    cmp x whole.csv || complain "other bytes"
    rm x
done
flow_end
