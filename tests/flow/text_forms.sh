#!/usr/bin/env bash
# What is a document of plain text: files, sections, blank lines; and what is said about it.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
needs_faults

# books COUNT PARAGRAPHS: books of wrapped paragraphs; two blank lines and a title begin every 40 of them.
books() {
    python3 - "$scratch" "$@" <<'PYTHON'
import sys, textwrap

folder, count, paragraphs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
nouns = "harbour lamp rope letter soup winter ledger island ferry stone garden clerk window horse bell".split()
for book in range(count):
    out = []
    for i in range(paragraphs):
        a, b, c = (nouns[(i * k + book) % len(nouns)] for k in (3, 7, 11))
        text = (f"In the year {1800 + i % 90} the {a} stood behind the {b}, and nobody who came past asked for its "
                f"{c}. It was number {book * 7919 + i}. A {b} is not a {a}, said the clerk, and wrote it down.")
        if i % 40 == 0:
            out.append(f"\n\nChapter {i // 40 + 1}\n\n")
        out.append(textwrap.fill(text, 68 + book % 5) + "\n\n")
    open(f"{folder}/book {book}.txt", "w").write("".join(out))
PYTHON
}

# piped FILE WORDS…: dsdata reads the file from a pipe.
piped() {
    # shellcheck disable=SC2002
    cat "$1" | "$dsdata" "${@:2}"
}

small=(--vocab-size 400 --seq '32,64' --valid 0 --seed 3)

said_and_built() {
    case_begin "a file is a document"
    books 4 200
    files=("$scratch"/book\ ?.txt)
    expect_exit 0 "$dsdata" build "${files[@]}" "${small[@]}" --out "$scratch/books"
    expect_words "book 0.txt and 3 more   text, English" "4 files, wrapped paragraphs with blank lines between: 4 doc" \
        "a file is a document (detected; --text-form wrapped: a blank line ends a document)" "4 of 4 kept"
    expect_equal "form" "$(json "$scratch/books/manifest.json" 'o["options"]["text-form"]')" "file,file,file,file"
    expect_exit 0 "$dsdata" build "${files[@]}" "${small[@]}" --out "$scratch/books"
    expect_words "finished already"
    expect_exit 0 "$dsdata" build "${files[@]}" "${small[@]}" --text-form file --out "$scratch/books"
    expect_words "finished already"
    expect_exit 5 "$dsdata" build "${files[@]}" "${small[@]}" --text-form wrapped --out "$scratch/books"
    expect_words text-form

    case_begin "every file under -v"
    expect_exit 0 "$dsdata" extract "${files[@]}" -v
    expect_words "book 3.txt   text, English"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 4
    expect_equal "paragraphs" "$(head -1 "$scratch/stdout" | python3 -c 'import json
print(json.loads(input())["text"].count("\n"))')" 205

    case_begin "sections"
    expect_exit 0 "$dsdata" extract "${files[@]}" --text-form sections
    expect_words "wrapped paragraphs with blank lines between: 20 documents, two blank lines end a document"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 20

    case_begin "the same of compressed files and of standard input"
    for file in "${files[@]}"; do gzip -k "$file"; bzip2 -k "$file"; done
    local root
    root=$(root_hash "$scratch/books")
    expect_exit 0 "$dsdata" build "${files[@]/%/.gz}" "${small[@]}" --out "$scratch/gzip"
    expect_equal "root of gzip" "$(root_hash "$scratch/gzip")" "$root"
    expect_exit 0 "$dsdata" build "${files[@]/%/.bz2}" "${small[@]}" --out "$scratch/bzip2"
    expect_words "4 of 4 kept"
    expect_exit 0 "$dsdata" build "${files[0]}" "${small[@]}" --out "$scratch/first"
    expect_exit 0 piped "${files[0]}" build - "${small[@]}" --out "$scratch/stdin"
    expect_equal "root of a pipe" "$(root_hash "$scratch/stdin")" "$(root_hash "$scratch/first")"
    expect_exit 0 piped "${files[0]}" build - "${small[@]}" --vocab "$scratch/first/vocab.txt" --out "$scratch/piped"
    expect_words "1 of 1 kept"
    rm "${files[@]/%/.gz}" "${files[@]/%/.bz2}"

    case_begin "a note does not decide for the books"
    printf 'It was cold.\n\nShe nodded.\n' >"$scratch/note.txt"
    expect_exit 0 "$dsdata" extract "$scratch/note.txt"
    expect_words "one sentence per line"
    expect_exit 0 "$dsdata" extract "${files[@]}" "$scratch/note.txt"
    expect_words "5 files, wrapped paragraphs with blank lines between: 5 documents"
    expect_equal "text" "$(tail -1 "$scratch/stdout" | python3 -c 'import json
print(json.loads(input())["text"].split("\n"))')" "['It was cold.', 'She nodded.', '']"
}

# A document that spans windows (4 MiB), between two short ones, is read by several processes and after interruptions.
across_windows() {
    case_begin "a book of several windows"
    rm "$scratch"/book\ ?.txt
    books 2 27000
    mv "$scratch/book 1.txt" "$scratch/long.txt"
    books 3 200
    mv "$scratch/long.txt" "$scratch/book 1.txt"
    [ "$(wc -c <"$scratch/book 1.txt")" -gt $((9 << 19)) ] || complain "a book of one window"
    files=("$scratch"/book\ ?.txt)
    small=(--vocab-size 400 --seq 64 --valid 0 --threads 2)
    command_line=(build "${files[@]}" "${small[@]}")
    expect_exit 0 "$dsdata" "${command_line[@]}" --out "$scratch/long"
    expect_words "3 of 3 kept" "400 pieces"
    expect_exit 0 "$dsdata" "${command_line[@]}" --threads 1 --out "$scratch/long-one"
    expect_equal "root" "$(root_hash "$scratch/long-one")" "$(root_hash "$scratch/long")"
    if command -v mpirun >/dev/null; then
        expect_exit 0 env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 3 \
            "$dsdata" "${command_line[@]}" --out "$scratch/long-mpi"
        expect_equal "root" "$(root_hash "$scratch/long-mpi")" "$(root_hash "$scratch/long")"
    fi
    DS_JOURNAL_EVERY=window killed_at_growing_places "$scratch/long"
}

too_long() {
    case_begin "a file that is too long for a document"
    rm "$scratch"/book\ ?.txt
    books 1 100000
    expect_exit 0 "$dsdata" extract "$scratch/book 0.txt"
    expect_words "book 0.txt is longer than a document may be" "two blank lines end a document (detected"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 2500
    grep . "$scratch/book 0.txt" | sed 's/^In the year/\n&/; /^Chapter/d' >"$scratch/single blanks.txt"
    expect_exit 0 "$dsdata" extract "$scratch/single blanks.txt"
    expect_words "is longer than a document may be" "a blank line ends a document (detected"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 100000
    expect_exit 0 piped "$scratch/book 0.txt" extract --text -
    expect_words "standard input is longer than a document may be" "two blank lines end"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 2500

    case_begin "a file that is taken for a document all the same"
    expect_exit 3 "$dsdata" extract --text "$scratch/book 0.txt" --text-form file
    expect_words "is longer than a document may be (16 MiB), and is dropped; --text-form wrapped divides it"
    expect_words "1 over 16 MiB" "let a blank line end a document: --text-form wrapped"
    expect_exit 0 "$dsdata" extract --text "$scratch/book 0.txt" "$scratch/note.txt" --text-form file
    expect_words "1 over 16 MiB"
    expect_equal "documents" "$(wc -l <"$scratch/stdout")" 1
}

# printed NUMBER: the NUMBER-th command that the warning of the last run printed.
printed() {
    grep -o 'dsdata build .*' "$scratch/stderr" | sed 's/; if a/\n&/; s/: dsdata/\ndsdata/' | grep '^dsdata build' |
        sed 's/; if a.*//' | sed -n "$1p"
}

short_ones() {
    case_begin "headlines of a short file"
    for n in $(seq 300); do echo "Ferry number $n is late again"; done >"$scratch/headlines.txt"
    expect_exit 0 "$dsdata" extract "$scratch/headlines.txt"
    expect_words "1 document," "--text-form lines: a line is a document" "1 of 1 kept"
    expect_exit 0 "$dsdata" extract "$scratch/headlines.txt" --text-form lines
    expect_words "300 of 300 kept"

    case_begin "short documents in a long file"
    for i in $(seq 300); do printf 'The %s ship was built.\nIt sank.\n\n' "$i"; done >"$scratch/short.txt"
    local line=(build "$scratch/short.txt" --vocab-size 300 --seq 32 --out "$scratch/short set")
    expect_exit 0 "$dsdata" "${line[@]}"
    expect_words "half of the documents have fewer than 100 words: 300 documents" "a blank line ends a document" \
        "--text-form sentences" "--text-form file --fresh"
    cp "$scratch/stderr" "$scratch/said"
    expect_exit 0 bash -c "$(printed 1 | sed "s#^dsdata#$dsdata#")"
    expect_words "finished already"
    cp "$scratch/said" "$scratch/stderr"
    expect_exit 0 bash -c "$(printed 2 | sed "s#^dsdata#$dsdata#")"
    expect_words "1 of 1 kept"
    if grep -q "half of the documents" "$scratch/stderr"; then complain "a warning about what was asked for"; fi
}

blank_files() {
    case_begin "blank files among others"
    printf 'The ship was built in the north.\nIt was sold.\n' >"$scratch/ship.txt"
    : >"$scratch/empty.txt"
    printf ' \n\t\r\n\343\200\200\n\302\240\n' >"$scratch/blanks.txt"
    printf '\357\273\277' >"$scratch/mark.txt"
    gzip -c "$scratch/blanks.txt" >"$scratch/blanks.gz"
    bzip2 -c "$scratch/empty.txt" >"$scratch/empty.bz2"
    local alone all=("$scratch/empty.txt" "$scratch/ship.txt" "$scratch/blanks.txt" "$scratch/mark.txt"
        "$scratch/blanks.gz" "$scratch/empty.bz2") options=(--vocab-size 300 --seq 32 --valid 0)
    expect_exit 0 "$dsdata" build "$scratch/ship.txt" "${options[@]}" --out "$scratch/ship"
    expect_exit 0 "$dsdata" build "${all[@]}" "${options[@]}" --out "$scratch/with-blanks"
    expect_words "warning: $scratch/empty.txt and 4 more are blank, and are left out"
    expect_equal "root" "$(root_hash "$scratch/with-blanks")" "$(root_hash "$scratch/ship")"
    for verb in "extract -v" "vocab -v --vocab-size 300 --out $scratch/v.txt"; do
        # shellcheck disable=SC2086
        expect_exit 0 "$dsdata" $verb "${all[@]}"
        expect_words "empty.txt and 4 more are blank" "blanks.gz is blank, and is left out"
    done
    expect_exit 0 "$dsdata" build "${all[@]}" "${options[@]}" --dry-run --out "$scratch/dry"
    expect_words "and 4 more are blank"
    expect_exit 0 "$dsdata" extract "$scratch/ship.txt" - </dev/null
    expect_words "standard input is blank, and is left out"

    case_begin "only blank files"
    for alone in "${all[@]}"; do
        [ "$alone" = "$scratch/ship.txt" ] && continue
        expect_exit 3 "$dsdata" extract "$alone"
        expect_words "$alone"
        expect_exit 3 "$dsdata" build "$alone" "$scratch/empty.txt" "${options[@]}" --dry-run --out "$scratch/dry"
        expect_words "is empty"
    done
    expect_exit 3 "$dsdata" extract --wiki "$scratch/empty.txt"
    expect_exit 3 "$dsdata" extract --wiki "$scratch/empty.txt" --text "$scratch/ship.txt"
}

# Many files are one line on every screen.
many_files() {
    case_begin "a thousand files"
    mkdir "$scratch/many"
    for i in $(seq 1000 1999); do
        printf 'Letter %s came late. It was opened in May.\n' "$i" >"$scratch/many/$i.txt"
    done
    : >"$scratch/many/3000.txt"
    local line=("$scratch"/many/*.txt --vocab-size 300 --seq 32 --out "$scratch/thousand")
    for verb in "build --dry-run" build; do
        # shellcheck disable=SC2086
        expect_exit 0 "$dsdata" $verb "${line[@]}"
        expect_words "1000.txt and 999 more   text, " "1,000 files, " \
            "1,000 documents, a file is a document"
        [ "$(wc -l <"$scratch/stderr")" -lt 25 ] || complain "too many lines"
        [ "$(wc -c <"$scratch/stderr")" -lt 4000 ] || complain "too long lines"
    done
    expect_exit 0 "$dsdata" show "$scratch/thousand"
    grep -q "1000.txt and 999 more" "$scratch/stdout" || complain "the sources are not one line"
    [ "$(wc -l <"$scratch/stdout")" -lt 25 ] || complain "too many lines"
    expect_exit 0 "$dsdata" show "$scratch/thousand" -v
    grep -q "1999.txt" "$scratch/stdout" || complain "-v does not list the sources"
    expect_exit 0 "$dsdata" show "$scratch/thousand" --json
    expect_equal "sources" "$(json "$scratch/stdout" 'len(o["sources"])')" 1000
    expect_exit 0 "$dsdata" extract "$scratch"/many/*.txt
    [ "$(wc -l <"$scratch/stderr")" -lt 25 ] || complain "too many lines"
}

said_and_built
across_windows
too_long
short_ones
blank_files
many_files
flow_end
