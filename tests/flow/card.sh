#!/usr/bin/env bash
# The model card that dstrain export writes: facts from the run's records, its dataset, and given result files.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"

# expect_row KEY VALUE FILE: a row of a table; VALUE is a pattern.
expect_row() {
    grep -qE "^\\| $1 \\| $2 \\|\$" "$3/README.md" || complain "$3/README.md has no row $1 with $2"
}

case_begin "of a run"
expect_exit 0 "${train[@]}" --save-every 6 --eval-every 6 --out run
expect_exit 0 "$dstrain" export run --out model --json
grep -q README.md "$scratch/stdout" || complain "the card is not among the files"
expect_row "dataset .*" "$(root_hash "$data")" model
expect_row source "text\\.txt" model
expect_row "steps done" 12 model
expect_row "optimizer" adam model
expect_row "lr" "0\\.001" model
expect_row "mlm\\\\_loss" "[0-9.]+" model
valid=$(grep valid run/metrics.jsonl | tail -1 |
    python3 -c 'import json; o = json.loads(input()); print("%.4f %.2f %.2f" % (
        o["mlm_loss"], 100 * o["mlm_accuracy"], 100 * o["mlm_accuracy_commonest"]))')
read -r loss accuracy commonest <<<"$valid"
expect_row "mlm\\\\_loss" "$loss" model
expect_row "mlm\\\\_accuracy" "$accuracy % .commonest $commonest %." model
expect_row precision "$(json run/run.json 'o["precision"]')" model
grep -q "Its tokenizer: WordPiece, [0-9,]* pieces, uncased, accents stripped\." model/README.md ||
    complain "no word about the tokenizer"
grep -q "^base_model" model/README.md && complain "a model before random weights"
expect_row "valid\\\\_samples" "$(json <(grep valid run/metrics.jsonl | tail -1) 'o["valid_samples"]')" model
expect_equal "samples that were trained on" "$(grep -c '^| samples |' model/README.md)" 2 # of the run, of its last step
[ "$(head -1 model/README.md)" = "---" ] || complain "the card has no front matter"
grep -q "^# license:" model/README.md || complain "the card has no place for a licence"
grep -q 'AutoModelForMaskedLM.from_pretrained' model/README.md || complain "the card does not say how it is loaded"

case_begin "with the data card of its dataset"
expect_exit 0 "$dsdata" report "$data" --card
expect_exit 0 "$dstrain" export run --out carded --json
grep -q '"data-card.md"' "$scratch/stdout" || complain "the data card is not among the files"
cmp -s carded/data-card.md "$data/README.md" || complain "another data card"
expect_row "data card" ".data-card.md..data-card.md." carded
sed -i 's/root hash .[0-9a-f]*/root hash 0/' "$data/README.md"
expect_exit 0 "$dstrain" export run --out without-card
expect_absent 'data-card*' without-card
rm "$data/README.md"

case_begin "the language of a text: typed, and guessed"
for i in {1..30}; do
    echo "All the rivers of this country were cold in the winter, and nobody who lived there could swim in them $i."
done >english.txt
expect_exit 0 "$dsdata" build -q --text fi=text.txt english.txt --vocab vocab.txt --seq 32 --valid 0.2 --out two
expect_exit 0 "$dstrain" --shards two --model "$model" --steps 2 --batch 8 --threads 1 --out finnish -q
expect_exit 0 "$dstrain" export finnish --out finnish-model
expect_equal "languages" "$(sed -n '/^language:/,/^[^-l]/p' finnish-model/README.md | tr '\n' ' ' | cut -c 1-25)" \
    'language: - "fi" - "en" #'
expect_exit 0 "$dsdata" report two --card --out two.md
expect_equal "languages of the data card" "$(grep -A 2 '^language:' two.md | tail -2 | sort | tr '\n' ' ')" \
    '- "en" - "fi" '

case_begin "of an older checkpoint: what was known then"
expect_exit 0 "$dstrain" export run/checkpoints/step-00000006 --out older
expect_row "steps done" 6 older
expect_row step 6 older
grep -qE '^\| step \| 12 \|' older/README.md && complain "the card of step 6 knows step 12"

case_begin "of what was exported; the dataset is gone; results"
expect_exit 0 "$dstrain" export model --out again
grep -q "root hash" again/README.md && complain "a card with data of nobody knows what"
mv "$data" moved
mkdir scored
echo '{"accuracy": 0.71234567, "model": "a|b<i>", "by_paradigm": {"one_two": 0.5}, "list": [1]}' >scored/scores.json
expect_exit 0 "$dstrain" export run --out without --scores scored scored/scores.json
expect_row "dataset .*" "$(root_hash moved)" without
grep -q "text.txt" without/README.md && complain "the card knows sources of a dataset that is gone"
expect_row accuracy 0.712346 without
expect_row model 'a\\|b\\<i\\>' without
expect_row 'by\\_paradigm one\\_two' 0.5 without
expect_exit 2 "$dstrain" export run --out never --scores nowhere
expect_absent never .
echo '{' >scored/scores.json
expect_exit 3 "$dstrain" export run --out never --scores scored
expect_absent 'never*' .

case_begin "of what was fine-tuned; its scores in its card and in that of the model it began with"
mkdir -p glue/SST-2
{ printf 'sentence\tlabel\n'; for i in {1..20}; do printf 'the river %s\t1\nthe hill\t0\n' "over $i"; done; } \
    >glue/SST-2/train.tsv
cp glue/SST-2/train.tsv glue/SST-2/dev.tsv
echo '{"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": "the old town stands near the river",
    "qas": [{"id": "1", "question": "what stands?", "answers": [{"text": "old town", "answer_start": 4}]}]}]}]}' >q.json
tune=(--init run --batch 8 --steps 3 --threads 1)
expect_exit 0 "$dstrain" glue sst-2 --data glue --seq 32 "${tune[@]}" --out tuned --save-every 2
expect_exit 0 "$dstrain" glue all --data glue --seq 32 "${tune[@]}" --seeds 2 --out all
expect_exit 0 "$dstrain" squad --train q.json --dev q.json --seq 32 --max-query 8 "${tune[@]}" --out answers
expect_exit 0 "$dstrain" export tuned --out tuned-model
grep -q 'AutoModelForSequenceClassification.from_pretrained' tuned-model/README.md || complain "another class"
grep -q '^pipeline_tag: text-classification$' tuned-model/README.md || complain "another tag"
expect_row task "(glue )?sst-2" tuned-model
# score FILE KEY...: a score in per cent and Wilson's interval, as in the card's table.
score() {
    python3 - "$@" <<'PYTHON'
import json, math, sys

scores = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    scores = scores[key]
n, z = 40, 1.959963984540054
middle, half = scores + z * z / 2 / n, z * math.sqrt(scores * (1 - scores) / n + z * z / 4 / n / n)
low, high = (100 * (middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
print(f"{100 * scores:.2f} % \\| {low:.1f} to {high:.1f} %")
PYTHON
}
expect_row acc "$(score tuned/scores.json acc) \\| 50.00 %" tuned-model
grep -q "commonest acc" tuned-model/README.md && complain "a row for the baseline alone"
grep -qE '^\| class.._accuracy \| .*majority' tuned-model/README.md && complain "the accuracy is there twice"
grep -q '^base_model: "run"$' tuned-model/README.md || complain "no base model"
expect_row "started from" "run, weights $(json tuned/run.json 'o["identity"]["initial_weights"]')" tuned-model
expect_equal "labels in their order" "$(sed -n '/^## Labels/,/^## Data/s/^| \([0-9]\) | \(.*\) |$/\1 \2/p' \
    tuned-model/README.md | tr '\n' ' ')" "0 0 (negative) 1 1 (positive) "
for scores in tuned tuned/scores.json ./tuned/; do
    rm -r tuned-model
    expect_exit 0 "$dstrain" export tuned --out tuned-model --scores "$scores"
    expect_equal "tables of scores with --scores $scores" "$(grep -c '^## Results' tuned-model/README.md)" 1
done
grep -q "another model" tuned-model/README.md && complain "a run is not another model than itself"
expect_exit 0 "$dstrain" show tuned
grep -q "^scores     sst-2: acc .* (0.5000)" stdout || complain "show has no scores"
grep -q "^labels     0 (negative), 1 (positive)$" stdout || complain "show has no labels"
grep -q "^base       run, weights [0-9a-f]*$" stdout || complain "show has no base model"
expect_row "samples .hash." "[0-9a-f]{16}" tuned-model
expect_row loss "[0-9.]+" tuned-model
grep -q "class.._loss" tuned-model/README.md && complain "the loss is there twice"
expect_exit 0 "$dstrain" export tuned/checkpoints/step-00000002 --out earlier
grep -q "^## Results" earlier/README.md && complain "the card of step 2 has the scores of step 3"
expect_exit 0 "$dstrain" export answers --out answers-model
grep -q 'AutoModelForQuestionAnswering.from_pretrained' answers-model/README.md || complain "another class"
grep -q '^pipeline_tag: question-answering$' answers-model/README.md || complain "another tag"
exact=$(json answers/scores.json '"%.2f" % o["exact_match"]')
expect_row "exact\\\\_match" "$exact % \\| [0-9.]* to [0-9.]* % \\| " answers-model
expect_exit 0 "$dstrain" export run --out parent --scores tuned answers all
expect_row "fine-tuned from" "this model" parent
expect_row f1 "$(json answers/scores.json '"%.2f" % o["f1"]') % \\|  \\| " parent
grep -qx "### sst-2" parent/README.md || complain "no table for the task"
expect_row acc "$(score tuned/scores.json acc) \\| 50.00 %" parent
mean=$(json all/scores.json '"%.2f" % (100 * o["tasks"]["sst-2"]["acc"])')
expect_row acc "$mean % \\| ± [0-9.]+ % \\| 50.00 %" parent
grep -q '^pipeline_tag: fill-mask$' parent/README.md || complain "another tag"
echo '{"task": "classify", "dev": 40, "accuracy": 0.25, "subset_accuracy": 0.25, "f1_micro": 0.5}' >several.json
expect_exit 0 "$dstrain" export run --out several --scores several.json
expect_row "subset\\\\_accuracy" "25.00 % \\| 14.2 to 40.2 % \\| " several
grep -q "^| accuracy |" several/README.md && complain "the accuracy of several labels is there twice"
expect_row "f1\\\\_micro" "50.00 % \\|  \\| " several
expect_exit 0 "$dstrain" export older --out stranger --scores tuned
expect_row "fine-tuned from" "another model" stranger

flow_end
