#!/usr/bin/env bash
# Folders of texts as inputs: which files are read and in which order, what is left out, what a dataset is called.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

texts=$scratch/texts
small=(--vocab-size 300 --seq 32 --valid 0)

# text NUMBER: two paragraphs of two sentences.
text() {
    printf 'The boat number %s left the harbour. Nobody saw it again.\n\n' "$1"
    printf 'The lamp %s was lit. It burned all night.\n' "$1"
}

# titles: the number in each document that extract gave.
titles() {
    grep -oE 'number [0-9]+' "$scratch/stdout" | tr -dc '0-9\n' | tr '\n' ' '
}

make_folder() {
    mkdir -p "$texts/a/deep/er" "$texts/.git" "$texts/none"
    text 1 >"$texts/a.txt"
    text 2 >"$texts/a/1"
    text 3 | gzip >"$texts/a/deep/er/x.gz"
    text 4 >"$texts/a0.txt"
    text 5 >"$texts/ü name.txt"
    text 6 >"$texts/.hidden.txt"
    text 6 >"$texts/.git/text"
    text 7 >"$scratch/linked.txt"
    ln -s ../linked.txt "$texts/link"
}

clutter() {
    : >"$texts/empty.txt"
    printf ' \n\343\200\200\n' >"$texts/a/blank.txt"
    printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\1\0' >"$texts/a/image.png"
    echo '<!DOCTYPE html><p>6</p>' >"$texts/page.html"
    printf '%%PDF-1.7\n%%\303\242' >"$texts/paper.pdf"
    printf '\001\002\003\377\376\004\005\006' >"$texts/noise"
    printf 'WEBVTT\n\n00:10.000 --> 00:11.000\nnumber 6\n' >"$texts/film.vtt"
    mkfifo "$texts/pipe"
    ln -s . "$texts/loop"
    ln -s nowhere "$texts/broken"
}

read_in_order() {
    case_begin "every text below it, in byte order"
    make_folder
    expect_exit 0 "$dsdata" extract "$texts"
    expect_equal "order" "$(titles)" "1 2 3 4 7 5 "
    expect_words "texts/ (6 files)   text, English" "left out   of texts/: 2 hidden (-v names them)" \
        "6 files, one paragraph per line with blank lines between: 6 documents, a file is a document"
    cp "$scratch/stdout" "$scratch/clean"
    clutter
    expect_exit 0 "$dsdata" extract "$texts/" -v
    cmp "$scratch/stdout" "$scratch/clean" || complain "other files changed the text"
    expect_words "2 blank, 5 of other kinds, 2 hidden, 3 not a file" "paper.pdf is a PDF file" "page.html is an HTML" \
        "film.vtt is a file of subtitles" "image.png is neither" "noise is neither" "empty.txt is empty" \
        "a/blank.txt holds nothing" "texts/.git is hidden" "loop is no file" "broken is no file" "pipe is no file"
    expect_exit 0 bash -c "cd '$texts' && '$dsdata' extract ."
    cmp "$scratch/stdout" "$scratch/clean" || complain "other text of ."
    expect_exit 0 "$dsdata" extract --text "$texts"
    cmp "$scratch/stdout" "$scratch/clean" || complain "other text of --text"

    case_begin "files of the kind that was asked for"
    echo '{"text": "The boat number 8 sank. It was old."}' >"$texts/lines.jsonl"
    expect_exit 0 "$dsdata" extract --jsonl "$texts" -v
    expect_equal "documents" "$(titles)" "8 "
    expect_words "a/1 is text: left out"
    expect_exit 0 "$dsdata" extract "$texts"
    expect_equal "documents" "$(titles)" "1 2 3 4 8 7 5 "
    rm "$texts/lines.jsonl"
}

built() {
    case_begin "the dataset is that of the files"
    local files=("$texts/a.txt" "$texts/a/1" "$texts/a/deep/er/x.gz" "$texts/a0.txt" "$texts/link" "$texts/ü name.txt")
    expect_exit 0 "$dsdata" build "${files[@]}" "${small[@]}" --out "$scratch/named"
    expect_exit 0 bash -c "cd '$scratch' && '$dsdata' build texts ${small[*]} --threads 1"
    expect_words "texts-shards"
    expect_equal "root" "$(root_hash "$scratch/texts-shards")" "$(root_hash "$scratch/named")"
    command_line=(build "$texts" "${small[@]}" --threads 2)
    killed_at_growing_places "$scratch/texts-shards"

    case_begin "a dataset inside the folder"
    expect_exit 0 bash -c "cd '$texts' && '$dsdata' build . ${small[*]} && '$dsdata' build . ${small[*]}"
    expect_words "finished already" "1 of datasets or runs"
    expect_equal "root" "$(root_hash "$texts/texts")" "$(root_hash "$scratch/named")"
    expect_exit 137 env DS_FAIL_FILE=9:kill "$dsdata" build "$texts" "${small[@]}" --out "$texts/unfinished"
    expect_exit 0 "$dsdata" build "$texts" "${small[@]}" --out "$texts/unfinished"
    expect_words "2 of datasets or runs"
    rm -r "$texts/unfinished" "$texts/texts"
    mkdir -p "$scratch/likely/"{a,b}
    echo "It has a run.json only." | tee "$scratch/likely/a/1.txt" >"$scratch/likely/b/2.txt"
    echo '{"text": "no run"}' | tee "$scratch/likely/a/run.json" >"$scratch/likely/b/manifest.json"
    expect_exit 0 "$dsdata" extract --text "$scratch/likely"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 2

    case_begin "names of datasets"
    expect_exit 0 bash -c "cd '$texts' && '$dsdata' build a.txt a0.txt ${small[*]} --dry-run"
    expect_words "→  texts"
    expect_exit 0 bash -c "cd '$scratch' && '$dsdata' build texts/a.txt texts/a0.txt ${small[*]} --dry-run"
    expect_words "→  texts-shards"
    expect_exit 0 bash -c "cd '$scratch' && '$dsdata' build texts/a.txt linked.txt ${small[*]} --dry-run"
    expect_words "→  a"
}

# The last command that was printed after "next" works as it is.
pasted() {
    local name line
    for name in "two words" "it's" '"x" & $HOME' "-rf" "naïve søk" "a;b|c" "fi=x" "*"; do
        case_begin "a folder called $name"
        mkdir "$scratch/in"
        mkdir "$scratch/in/$name"
        text 1 >"$scratch/in/$name/t"
        expect_exit 0 bash -c 'cd "$1/in" && shift && "$@"' - "$scratch" "$dsdata" build "${small[@]}" -- "./$name"
        line=$(sed -n 's/^next *dstrain/"$dstrain"/p' "$scratch/stderr")
        [ -x "$dstrain" ] && expect_exit 0 env dstrain="$dstrain" bash -c "cd '$scratch/in' && $line"
        rm -r "$scratch/in"
    done
}

refused() {
    case_begin "datasets and runs"
    expect_exit 2 "$dsdata" build "$scratch/named"
    expect_words "is a dataset already" "dstrain --shards $scratch/named"
    expect_exit 2 "$dsdata" extract --text "$scratch/named"
    mkdir "$scratch/run"
    touch "$scratch/run/run.json" "$scratch/run/metrics.jsonl"
    expect_exit 2 "$dsdata" build "$scratch/run"
    expect_words "is a run of dstrain" "dstrain show $scratch/run"

    case_begin "a name of the hub"
    expect_exit 2 "$dsdata" build owner/name
    expect_words "python3 -m dsshards jsonl owner/name | dsdata build --out D --jsonl -"
    expect_exit 2 "$dsdata" build "$texts/nowhere"
    if grep -q dsshards "$scratch/stderr"; then complain "a file that is missing is none of the hub"; fi

    case_begin "no text in it"
    expect_exit 3 "$dsdata" build "$texts/none"
    expect_words "no file below it is an input"
    printf '\0\1\2' >"$texts/none/x"
    expect_exit 3 "$dsdata" vocab "$texts/none"
    expect_words "no file below it is an input: 1 of other kinds"

    case_begin "what is no reason to leave a text out"
    echo "Die reën en die leër, sê môre is dit weer koud." | iconv -t latin1 >"$texts/a/latin"
    expect_exit 6 "$dsdata" extract "$texts"
    expect_words "a/latin: byte" "--encoding windows-1252"
    rm "$texts/a/latin"
    gzip <"$texts/a/1" | head -c 40 >"$texts/a/cut.gz"
    expect_exit 3 "$dsdata" extract "$texts"
    expect_words "a/cut.gz" "truncated"
    rm "$texts/a/cut.gz"
    [ "$(id -u)" = 0 ] && return
    text 9 >"$texts/a/secret"
    chmod 0 "$texts/a/secret"
    expect_exit 2 "$dsdata" extract "$texts"
    expect_words "a/secret"
    rm -f "$texts/a/secret"
}

exports() {
    case_begin "a folder that is an export stays one"
    mkdir "$scratch/dump"
    cp "$samples" "$scratch/dump/xxwiki-20261101-pages-articles.xml.bz2"
    echo "Notes on it. They are long." >"$scratch/dump/notes.txt"
    expect_exit 0 "$dsdata" extract "$scratch/dump"
    expect_words "templates  3 read"
    if grep -q "Notes on it" "$scratch/stdout"; then complain "notes became a page"; fi
    mv "$scratch/dump/xxwiki-20261101-pages-articles.xml.bz2" "$scratch/dump/old.bz2"
    expect_exit 0 "$dsdata" extract "$scratch/dump"
    grep -q "Notes on it" "$scratch/stdout" || complain "the notes are missing"
    expect_exit 2 "$dsdata" extract --wiki "$scratch/dump"
    expect_words "without a part of a dump"
}

many_files() {
    case_begin "more files than may be open"
    mkdir -p "$scratch/many"
    for n in $(seq 700); do text "$n" >"$scratch/many/$(printf %03d "$n")"; done
    for n in 5 600; do gzip -q "$scratch/many/$(printf %03d "$n")"; done
    expect_exit 0 bash -c 'ulimit -n 400 && "$@"' - "$dsdata" extract "$scratch/many"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 700
    expect_equal "last" "$(titles | tail -c 12)" "698 699 700 "
    command_line=(build "$scratch/many" "${small[@]}")
    expect_exit 0 bash -c 'ulimit -n 400 && "$@"' - "$dsdata" "${command_line[@]}" --out "$scratch/many-400"
    expect_exit 0 "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/many-one"
    expect_equal "root" "$(root_hash "$scratch/many-400")" "$(root_hash "$scratch/many-one")"
}

read_in_order
built
pasted
refused
exports
many_files
flow_end
