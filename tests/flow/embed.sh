#!/usr/bin/env bash
# dstrain embed: vectors of lines and of a table's texts, their forms and order, and messages for wrong input.
# (apply_like_hf.py compares their values.)
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"

cd "$scratch"
"${train[@]}" -q --out pre
printf 'the river\n\nthe old town near the hill\nthe river\nstone\n' >lines.txt
printf 'id;Body\n1;the river\n2;\n3;"the old town\nnear the hill"\n4;the river\n5;stone\n' >table.csv
embed=("$dstrain" embed pre --threads 1)

case_begin "lines and a table give the same vectors, in order; an empty text is zero"
expect_exit 0 "${embed[@]}" lines.txt --out lines.npy --json
expect_equal "facts" "$(json "$scratch/stdout" 'o["texts"], o["empty"], o["size"]')" "(5, 1, 32)"
expect_exit 0 "${embed[@]}" table.csv --text Body --out table.npy
cmp lines.npy table.npy || complain "other vectors"
expect_exit 0 sh -c '"$@" - --out lines.jsonl <lines.txt' sh "${embed[@]}"
expect_exit 0 "${embed[@]}" lines.txt --out norm.npy --normalize --pooling cls
cat >npy.py <<'PYTHON'
import array
import ast


def load(name):
    data = open(name, "rb").read()
    assert data[:10] == b"\x93NUMPY\x01\x00v\x00" and data[127:128] == b"\n" # 10 + 118 bytes
    header = ast.literal_eval(data[10:128].decode())
    rows, columns = header["shape"]
    assert header["descr"] == "<f4" and not header["fortran_order"]
    numbers = array.array("f", data[128:])
    assert len(numbers) == rows * columns
    return [numbers[i * columns:(i + 1) * columns] for i in range(rows)]


def far(a, b):
    return max(abs(x - y) for x, y in zip(a, b))
PYTHON
python3 - <<'PYTHON' || complain "the vectors"
import array
import json
from npy import load
v, norm = load("lines.npy"), load("norm.npy")
assert len(v) == 5 and len(v[0]) == 32 and not any(v[1]) and v[0] == v[3] != v[4]
assert [array.array("f", json.loads(line)) for line in open("lines.jsonl")] == v
assert all(abs(sum(x * x for x in norm[i]) - 1) < 1e-6 for i in (0, 2, 3, 4)) and not any(norm[1])
PYTHON

case_begin "special tokens that a text spells"
printf 'the river [SEP] stone\nstone\n' >special.txt
expect_exit 0 "${embed[@]}" special.txt --out text.npy
expect_exit 0 "${embed[@]}" special.txt --special-in-text --out token.npy
python3 - <<'PYTHON' || complain "the vectors"
from npy import far, load
text, token = load("text.npy"), load("token.npy")
assert far(text[0], token[0]) > 1e-4 and far(text[1], token[1]) < 1e-6
PYTHON

case_begin "more texts than a window has"
python3 -c "print('the river\n' + 'stone the hill\n' * 5000 + 'the river')" >many.txt
expect_exit 0 "${embed[@]}" many.txt --out many.npy
python3 - <<'PYTHON' || complain "the vectors"
from npy import far, load
v, first = load("many.npy"), load("lines.npy")[0]
assert len(v) == 5002 and far(v[0], first) < 1e-6 and far(v[-1], first) < 1e-6
assert all(far(x, v[1]) < 1e-6 for x in v[1:-1])
PYTHON

case_begin "an export for sentence-transformers; what an interrupted one left is replaced"
mkdir -p st.tmp/1_Pooling
echo '{' >st.tmp/1_Pooling/config.json
printf 'The command that writes this folder was interrupted, or is at work. Repeated, it begins anew.\n' \
    >st.tmp/.unfinished
expect_exit 0 "$dstrain" export pre --out st --sentence-transformers --normalize --pooling cls
expect_equal "modules" "$(json st/modules.json '[m["path"] for m in o]')" "['', '1_Pooling', '2_Normalize']"
expect_equal "pooling" "$(json st/1_Pooling/config.json '[k for k, v in o.items() if v is True]')" \
    "['pooling_mode_cls_token']"
expect_equal "length" "$(json st/sentence_bert_config.json 'o["max_seq_length"] > 0')" True

case_begin "without options pooling, length and normalization are those of modules.json"
expect_exit 0 "${embed[@]}" lines.txt --out cut.npy --normalize --pooling cls --seq 16
sed -i 's/"max_seq_length": [0-9]*/"max_seq_length": 16/' st/sentence_bert_config.json
of=("$dstrain" embed st lines.txt --threads 1 --force --out)
expect_exit 0 "${of[@]}" own.npy
expect_words "vectors    cls, of length 1; texts are cut at 16 tokens"
cmp cut.npy own.npy || complain "other vectors"
expect_words "options change that"
expect_exit 0 "${of[@]}" own.npy --pooling mean --no-normalize
expect_words "vectors    mean; texts are cut at 16 tokens (by the options and modules.json)"
cmp lines.npy own.npy || complain "options do not override"
echo '{"embedding_dimension": 32, "pooling_mode": "max", "include_prompt": true}' >st/1_Pooling/config.json
expect_exit 0 "${of[@]}" own.npy
expect_words "vectors    max, of length 1"
echo '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}' >st/1_Pooling/config.json
expect_exit 6 "${of[@]}" own.npy
expect_words "its pooling is" "mean" "cls"
expect_exit 0 "${of[@]}" own.npy --pooling max
sed -i 's/models.Normalize/models.Dense/' st/modules.json
expect_exit 6 "${of[@]}" own.npy
expect_words "a module Dense" "--pooling mean leaves it out"
echo '{}' >st/modules.json
expect_exit 6 "${of[@]}" own.npy
expect_words "modules.json" "is not a list of modules"
expect_exit 2 "${embed[@]}" lines.txt --out v.npy --normalize --no-normalize
expect_words "exclude each other"

expect_exit 0 "$dstrain" export pre --out plain
[ ! -e plain/modules.json ] || complain "a plain export has modules"

case_begin "mistakes"
expect_exit 2 "${embed[@]}" lines.txt
expect_words "--out FILE is missing"
expect_exit 2 "${embed[@]}" lines.txt --out v.bin
expect_words ".npy or .jsonl"
expect_exit 2 "${embed[@]}" table.csv --text body --out v.npy
expect_words 'did you mean "Body"?'
expect_exit 5 "${embed[@]}" lines.txt --out v.npy --seq 4096
expect_words "positions"
echo mine >mine.npy
expect_exit 2 "${embed[@]}" lines.txt --out mine.npy
expect_words "--force"
expect_exit 0 "${embed[@]}" lines.txt --out lines.npy
expect_equal "nothing is left" "$(ls v.npy* 2>/dev/null)" ""
flow_end
