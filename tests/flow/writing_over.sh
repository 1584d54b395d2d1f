#!/usr/bin/env bash
# What the user names for output, in both programs: a file that the command did not write and that is not empty stays as
# it is without --force; the same command over its own output needs none; inputs and files of datasets and runs stay
# even with it; a command that was killed while it filled a folder can be repeated, at every point.
# shellcheck source-path=SCRIPTDIR source=train.bash
source "$(dirname "$0")/train.bash" "$1"
needs_faults

cd "$scratch"
precious="all that I have"

# guarded FILE COMMAND…: the command writes FILE, if it may.
guarded() {
    local file=$1 first
    shift
    rm -f "$file"
    expect_exit 0 "$@"
    cp "$file" first.out
    first=$(md5sum <"$file")
    expect_exit 0 "$@" # over its own output
    expect_equal "the same again in $file" "$(md5sum <"$file")" "$first"
    : >"$file"
    expect_exit 0 "$@" # nothing is lost
    for other in "$precious" '{"a": 1}' '<!DOCTYPE html><html></html>'; do
        printf '%s\n' "$other" >"$file"
        expect_exit 2 "$@"
        expect_words "$file: exists already" --force
        expect_equal "kept" "$(cat "$file")" "$other"
    done
    ln -sf "$scratch/kept" link.out
    printf '%s\n' "$precious" >kept
    expect_exit 2 "${@/#$file/link.out}"
    expect_equal "kept behind a link" "$(cat kept)" "$precious"
    expect_exit 0 "$@" --force
    expect_equal "written with --force" "$(md5sum <"$file")" "$first"
}

template_wiki "It is {{u|5}}." >wiki.xml

case_begin "dsdata's files"
guarded page.html "$dsdata" report "$data" --out page.html
guarded x.jsonl "$dsdata" export "$data" --out x.jsonl
guarded x.tfrecord "$dsdata" export "$data" --format tfrecord --out x.tfrecord
guarded "$data/report.html" "$dsdata" report "$data"

case_begin "a vocabulary cannot be told from another one, and people correct renderings by hand"
expect_exit 0 "$dsdata" templates wiki.xml --out t.txt
expect_exit 2 "$dsdata" templates wiki.xml --out t.txt
expect_words "exists already" --force
expect_exit 0 "$dsdata" templates wiki.xml --out t.txt --force
expect_exit 0 "$dsdata" vocab --text text.txt --vocab-size 200 --out v.txt
expect_exit 2 "$dsdata" vocab --text text.txt --vocab-size 200 --out v.txt
expect_exit 0 "$dsdata" vocab --text text.txt --vocab-size 200 --out v.txt --force

case_begin "one of several files of an export"
printf '%s\n' "$precious" >y-00001-of-00003.jsonl
expect_exit 2 "$dsdata" export "$data" --files 3 --out y.jsonl
expect_equal "kept" "$(cat y-00001-of-00003.jsonl)" "$precious"
expect_absent 'y-00000*' .

case_begin "what looks like ours, and is not"
printf '{"input_ids":[101,102],"attention_mask":[1,1]}\n' >datasets.jsonl
expect_exit 2 "$dsdata" export "$data" --out datasets.jsonl
sed -n '/def\|features/p' "$project/python/dsshards/dataset.py" >script.tfrecord
printf 'input_ids input_mask segment_ids masked_lm_positions' >>script.tfrecord
expect_exit 2 "$dsdata" export "$data" --format tfrecord --out script.tfrecord

case_begin "dstrain's files"
expect_exit 0 "${train[@]}" --out run
expect_exit 0 "$dstrain" export run --out model
printf '{"good": "the river .", "bad": "river the ."}\n' >pairs.jsonl
guarded "run/report.html" "$dstrain" report run
guarded runs.html "$dstrain" report run --out runs.html
guarded d.jsonl "$dstrain" score model pairs.jsonl --details d.jsonl
cp pairs.jsonl other.jsonl
expect_exit 2 "$dstrain" score model pairs.jsonl --details other.jsonl
expect_exit 2 "$dstrain" score model pairs.jsonl --details pairs.jsonl --force
expect_words "is read by this command"
expect_exit 0 "${train[@]}" --out a --dump-gradients g.safetensors
expect_exit 0 "${train[@]}" --out b --dump-gradients g.safetensors
cp model/model.safetensors my.safetensors
expect_exit 2 "${train[@]}" --out c --dump-gradients my.safetensors
cmp -s model/model.safetensors my.safetensors || complain "weights were replaced"
expect_exit 0 "${train[@]}" --out c --dump-gradients my.safetensors --force
cmp -s g.safetensors my.safetensors || complain "other gradients"

case_begin "files of a dataset or a run, even with --force, by either program"
find "$data" run model -type f -exec md5sum {} + >before
for file in "$data/manifest.json" "$data/vocab.txt" "$data/seq32/train-00000-of-00001.dss" run/run.json \
    run/metrics.jsonl run/latest model/config.json model/model.safetensors "run/$last/state.json"; do
    expect_exit 2 "$dsdata" report "$data" --out "$file" --force
    expect_words "belongs to a dataset, a run or a model"
    expect_exit 2 "$dsdata" export "$data" --out "$file" --force
    expect_exit 2 "$dstrain" report run --out "$file" --force
    expect_exit 2 "$dstrain" score model pairs.jsonl --details "$file" --force
done
expect_exit 2 "$dsdata" report "$data" --out "$data/seq32/page.html"
expect_exit 0 md5sum --quiet -c before

case_begin "directories, devices, standard output"
expect_exit 2 "$dsdata" report "$data" --out "$scratch"
expect_words "is a directory"
expect_exit 2 "$dsdata" export "$data" --out /dev/null --force
expect_words "not a regular file" "--out -"
expect_exit 2 "$dsdata" export "$data" --out /dev/stdout --force
expect_exit 0 "$dsdata" report "$data" --out -
expect_exit 0 "$dstrain" report run --out -

case_begin "the ending says another format"
ending() { # FILE FORMAT…: refused with every other format; FORMAT is the first named by the hint
    local file=$1 format
    for format in jsonl tfrecord mds nvidia-hdf5 parquet; do
        [ "$format" != "$2" ] || continue
        expect_exit 2 "$dsdata" export "$data" --seq 32 --format "$format" --out "$file"
        expect_words "$file" "--format $2" "--seq 32" "--out '$file'"
        expect_absent "$file" .
    done
}
ending 'x y.parquet' parquet
expect_words "python3 -m dsshards export"
ending 'x y.tfrecord' tfrecord
ending 'x y.h5' nvidia-hdf5
ending 'x y.HDF5' nvidia-hdf5
ending 'x y.jsonl' jsonl
expect_words "dsdata export"
expect_exit 0 "$dsdata" export "$data" --seq 32 --out x.txt
expect_exit 2 "$dsdata" export "$data" --seq 64 --split valid --out 'a b.tfrecord'
expect_exit 0 bash -c "PATH=$build:\$PATH; $(tail -1 stderr)"
[ -s 'a b.tfrecord' ] || complain "the command of the hint wrote nothing"
expect_exit 2 "$dsdata" export "$data" --out x.jsonl.gz
expect_words x.jsonl.gz "not compressed" "compress the file afterwards"

# repeatable FOLDER COMMAND…: killed before each change of a file, or failing there, the command can be repeated and
# gives the same folder; a whole one can be written anew; one with a file of others never.
repeatable() {
    local folder=$1 n=1 status whole=whole.$1
    shift
    rm -rf "$folder" "$whole"
    expect_exit 0 "$@"
    expect_absent '.unfinished*' "$folder"
    cp -r "$folder" "$whole"
    for how in kill 28; do
        for begun in absent whole; do
            [ "$begun" = absent ] || [ "$replaces" = yes ] || continue
            n=1
            while :; do
                rm -rf "$folder" "$folder.tmp"
                [ "$begun" = absent ] || cp -r "$whole" "$folder"
                status=0
                case_begin "$folder, $begun, $how before change $n"
                DS_FAIL_FILE=$n:$how "$@" >stdout 2>stderr </dev/null || status=$?
                [ "$status" != 0 ] || break
                if [ "$how" = 28 ] && [ "$begun" = absent ]; then expect_absent '*.tmp' .; fi
                # A model may have been trained further where it was exported: a whole one is never replaced.
                [ "$replaces" = no ] && diff -r "$whole" "$folder" >stdout 2>&1 || expect_exit 0 "$@"
                diff -r "$whole" "$folder" >stdout || complain "another folder after the repetition"
                expect_absent "$folder.tmp" .
                n=$((n + 1))
            done
            [ "$n" -gt 4 ] || complain "the fault was never met"
        done
    done
    rm -rf "$folder"
    mkdir "$folder"
    printf '%s\n' "$precious" >"$folder/thesis.tex"
    expect_exit 2 "$@"
    expect_words "$folder" "is not empty" thesis.tex
    rm -rf "$folder"
    cp -r "$whole" "$folder"
    printf '%s\n' "$precious" >"$folder/shard.00009.txt"
    expect_exit 2 "$@"
    expect_equal "kept" "$(cat "$folder/shard.00009.txt")" "$precious"
}

replaces=yes # a whole one by itself
repeatable mds "$dsdata" export "$data" --format mds --files 2 --out mds -q
if "$dsdata" export "$data" --format nvidia-hdf5 --out probe -q 2>/dev/null; then
    repeatable hdf5 "$dsdata" export "$data" --format nvidia-hdf5 --files 2 --out hdf5 -q
fi

replaces=no
repeatable exported "$dstrain" export run --out exported -q
case_begin "a folder that has the temporary name of an export"
cp -r whole.exported bert.tmp
expect_exit 2 "$dstrain" export run --out bert
expect_words "bert.tmp" "is not empty"
diff -r whole.exported bert.tmp >stdout || complain "the folder was changed"

case_begin "an MDS dataset of another writer"
cp -r whole.mds theirs
sed -i 's/"by": "dsdata export", //' theirs/index.json
expect_exit 2 "$dsdata" export "$data" --format mds --out theirs
expect_words "is not empty"

flow_end
