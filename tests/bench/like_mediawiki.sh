#!/usr/bin/env bash
# How much of what MediaWiki shows a reader is in the text of `dsdata extract`, and what is there besides.
#
#     like_mediawiki.sh [--peers] [--python PROGRAM] [--kinds N] [--cache DIR] [--bin DIR] [DUMP LANG [PAGES]]
#
# MediaWiki renders the articles of the wiki DUMP in the language LANG, or PAGES of them
# (tests/mediawiki/render.sh); tests/mediawiki/compare.py counts words. Prints a table, and the templates that most of
# the differences of the row "auto" come from. Without DUMP: the whole wikis of DS_DATA_DIR (../shared/data), as in the
# README. Exits with 77 if something is not installed.
#
#     lost, extra   words per 1,000 that only MediaWiki, or only the program shows
#     equal         pages with the same words and marks
#     markup        pieces of wikitext or HTML in the text
#     CPU s         to extract the whole dump
#
#     --peers           other programs too, those that Python finds; extractors.py says how they are run
#     --python PROGRAM  the Python that has them, for instance that of a virtual environment (python3)
#     --kinds N         how many templates (10)
#     --cache DIR       where pages and texts are kept for the next time (build/like_mediawiki)
#     --bin DIR         where dsdata lies (build/release)
set -euo pipefail
cd "$(dirname "$0")/../.."

peers=no python=python3 kinds=10 cache=build/like_mediawiki bin=build/release
while [[ ${1-} == --* ]]; do
    [ "$1" = --peers ] || [ $# -ge 2 ] || { echo "like_mediawiki.sh: $1 needs a value" >&2; exit 2; }
    case "$1" in
        --peers) peers=yes ;;
        --python) python=$2 ;;
        --kinds) kinds=$2 ;;
        --cache) cache=$2 ;;
        --bin) bin=$2 ;;
        *) echo "like_mediawiki.sh: unknown option $1" >&2; exit 2 ;;
    esac
    [ "$1" = --peers ] || shift
    shift
done
[ $# != 1 ] && [ $# -le 3 ] || { echo "usage: like_mediawiki.sh [OPTIONS] [DUMP LANG [PAGES]]" >&2; exit 2; }

[ -x "$bin/dsdata" ] || { echo "$bin/dsdata is not built: scripts/setup.sh, then the preset release"; exit 77; }

# Renders the wiki unless that was done with the same dump and judge; sets $pages.
render() { # DUMP LANG [PAGES]
    local folder file
    folder=$cache/$(basename "$1")-$2${3:+-$3}
    pages=$folder/pages.jsonl
    for file in "$1" tests/mediawiki/{render.*,settings.php,select_pages.py,functions.i18n.php,wikibase.*}; do
        if [ ! "$pages" -nt "$file" ]; then
            tests/mediawiki/render.sh "$1" "$2" "$folder" "${@:3}"
            return
        fi
    done
}

# Prints a row: runs the command, which prints lines {"title", "text"}, and compares them.
row() { # DUMP NAME COMMAND…
    local dump=$1 name=$2 TIMEFORMAT="%U %S" texts
    texts=$(dirname "$pages")/$name.jsonl
    shift 2
    { time "$@" >"$texts" 2>"$texts.log"; } 2>"$texts.time" || { cat "$texts.log" >&2; exit 1; }
    echo "$(python3 tests/mediawiki/compare.py "$dump" "$pages" --ours "$texts" --row "$name")" \
        "$(awk '{ printf "%.2f", $1 + $2 }' "$texts.time") |"
}

table() { # DUMP LANG [PAGES]
    local options=(--format jsonl -q -j 1 --keep "headings,lists,pre") name version mode day
    render "$@"
    echo "$(basename "$1"), $(wc -l <"$pages") pages"
    echo
    echo "| text of | lost | extra | equal | markup | CPU s |"
    echo "|---|--:|--:|--:|--:|--:|"
    for mode in auto none; do
        row "$1" "dsdata --templates $mode" "$bin/dsdata" extract "$1" --templates "$mode" "${options[@]}"
    done
    if [ "$peers" = yes ]; then
        day=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["last"][:10])' "$pages.site")
        while read -r name version; do # on the dump's last day, as MediaWiki
            row "$1" "$name $version" faketime "$day" "$python" tests/bench/extractors.py "$name" "$1"
        done < <("$python" tests/bench/extractors.py)
    fi
    echo
    python3 tests/mediawiki/compare.py "$1" "$pages" --dsdata "$bin/dsdata" --kinds "$kinds"
}

if [ $# != 0 ]; then
    table "$@"
    exit
fi
data=${DS_DATA_DIR:-../shared/data}
[ -d "$data" ] || { echo "$data does not exist: name a dump"; exit 77; }
table "$data/ltgwiki-2017.xml.bz2" ltg
echo
table "$data/jiaxingwiki-en-2023.xml.bz2" en
