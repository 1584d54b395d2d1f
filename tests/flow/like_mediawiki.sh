#!/usr/bin/env bash
# labels: long once
# `dsdata extract` has the words that MediaWiki shows, page by page, on samples/, on random pages with every construct,
# and on the cases of tests/pipeline/text. Pages that differ by a rule of ours are in tests/mediawiki/differences.txt.
# Skipped where MediaWiki or a part of it is not installed (tests/mediawiki/render.sh names the packages).
#
#     tests/flow/like_mediawiki.sh BUILD [--write]
#
# --write updates that file; new differences come below its first heading, to be put below their rules.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"
judge=$project/tests/mediawiki
cases=$project/tests/pipeline/text
options=(--dsdata "$dsdata" --known "$judge/differences.txt" "${@:2}")

compare() { # DUMP LANG
    local status=0
    "$judge/render.sh" "$1" "$2" "$scratch/rendered" 2>"$scratch/stderr" || status=$?
    [ "$status" != 77 ] || { cat "$scratch/stderr"; exit 77; }
    expect_equal "exit of render.sh" "$status" 0
    [ "$status" = 0 ] || return 0
    "$judge/compare.py" "$1" "$scratch/rendered/pages.jsonl" "${options[@]}" >"$scratch/differing" || {
        failures=$((failures + 1))
        cat "$scratch/differing"
    }
}

case_begin "samples"
compare "$samples" en

for seed in 1 2; do
    case_begin "random pages, seed $seed"
    python3 "$judge/random_wiki.py" "$seed" 30 | sed "s/Page /Seed $seed page /g" >"$scratch/random.xml"
    compare "$scratch/random.xml" en
done

for lang in en de fr ja ru sr; do
    case_begin "cases in $lang"
    files=("$cases/bodies.cases")
    [ "$lang" != en ] || files+=("$cases/wikitext.cases" "$cases/wikitext_grammar.cases")
    python3 "$judge/cases_wiki.py" "$lang" "${files[@]}" >"$scratch/cases.xml"
    compare "$scratch/cases.xml" "$lang"
done

flow_end
