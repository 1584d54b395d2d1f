#!/usr/bin/env bash
# Downloads the newest dump of a wiki, checks its checksums and prints the command that builds a dataset from it.
#
#     get_dump.sh WIKI [DATE]        fiwiki, simplewiki, enwiki …; DATE as 2026-11-01
#
# In: https://dumps.wikimedia.org (or DUMPS_URL, a mirror): the newest complete content file export of the wiki, or its
#     newest pages-articles dump if it has no export.
# Out: ./WIKI-DATE/ with the parts and SHA256SUMS, or ./WIKI-YYYYMMDD-pages-articles.xml.bz2; on standard output the
#      command to type. The same command continues an interrupted download (FILE.part).
# Exit codes: 0 done, 2 no such wiki or dump, 3 a file does not match its checksum, 7 the network or the disk.
set -euo pipefail

base=${DUMPS_URL:-https://dumps.wikimedia.org}
only=(--proto "=https" --proto-redir "=https") # no redirection leads to what anybody on the way could have changed
case $base in http://*) only=(--proto "=http,https" --proto-redir "=http,https") ;; esac # a mirror that was asked for
exports=$base/other/mediawiki_content_current

leave() {
    local code=$1
    shift
    echo "get_dump: $*" >&2
    exit "$code"
}

# fetch URL: prints its text; fails if it does not exist.
fetch() {
    curl "${only[@]}" --silent --show-error --fail --location --retry 3 "$1"
}

# Does this URL exist?
is_there() {
    curl "${only[@]}" --silent --fail --location --retry 3 --output /dev/null --head "$1"
}

# dates_of URL PATTERN: the dates that its index links to, newest first.
dates_of() {
    fetch "$1/" 2>/dev/null | grep -oE "href=\"$2/\"" | grep -oE "$2" | sort -ru || true
}

# has_sum FILE PROGRAM DIGEST
has_sum() {
    [ "$("$2" "$1" | cut -d' ' -f1)" = "$3" ]
}

# download URL FILE PROGRAM DIGEST: downloads the file and checks it.
download() {
    local url=$1 file=$2 program=$3 digest=$4 try
    if [ -f "$file" ]; then
        if has_sum "$file" "$program" "$digest"; then
            echo "have       $file" >&2
            return 0
        fi
        mv "$file" "$file.part"
    fi
    for try in 1 2 3; do
        if [ -f "$file.part" ] && has_sum "$file.part" "$program" "$digest"; then
            mv "$file.part" "$file"
            return 0
        fi
        echo "download   $file$([ "$try" = 1 ] || echo ", try $try")" >&2
        curl "${only[@]}" --silent --show-error --fail --location --retry 5 --retry-delay "${GET_DUMP_DELAY:-5}" \
            --continue-at - --output "$file.part" "$url" && continue
        # The server cannot resume, or its file is shorter than ours: start over.
        case $? in 22 | 33 | 36) rm -f "$file.part" ;; esac
    done
    if [ -f "$file.part" ] && has_sum "$file.part" "$program" "$digest"; then
        mv "$file.part" "$file"
        return 0
    fi
    [ -f "$file.part" ] || leave 7 "$url cannot be downloaded; the same command tries again"
    if curl "${only[@]}" --silent --fail --location --head "$url" 2>/dev/null | tr -d '\r' |
        grep -qi "^content-length: *$(wc -c <"$file.part")\$"; then
        rm -f "$file.part"
        leave 3 "$url differs from its sum $digest; it was removed, the same command downloads it again"
    fi
    leave 7 "$url was not downloaded completely; the same command continues it"
}

# get_export DATE
get_export() {
    local url=$exports/$wiki/$1/xml/bzip2 folder=$wiki-$1 digest name
    mkdir -p "$folder" || leave 7 "$folder cannot be made"
    fetch "$url/SHA256SUMS" >"$folder/SHA256SUMS.part" || leave 7 "$url/SHA256SUMS cannot be downloaded"
    mv "$folder/SHA256SUMS.part" "$folder/SHA256SUMS"
    while read -r digest name; do
        [[ $digest =~ ^[0-9a-f]{64}$ && $name =~ ^[A-Za-z0-9._-]+$ && $name != .* ]] ||
            leave 3 "$folder/SHA256SUMS has a line that is no sum and name of a file"
        download "$url/$name" "$folder/$name" sha256sum "$digest"
    done <"$folder/SHA256SUMS"
    echo "dsdata build $folder/ --out $folder-shards"
}

# get_articles DATE: the older kind of dump. Returns 1 if it is not complete.
get_articles() {
    local url=$base/$wiki/$1 file=$wiki-$1-pages-articles.xml.bz2 digest
    digest=$(fetch "$url/$wiki-$1-md5sums.txt" 2>/dev/null | awk -v file="$file" '$2 == file {print $1}')
    [[ $digest =~ ^[0-9a-f]{32}$ ]] || return 1
    download "$url/$file" "$file" md5sum "$digest"
    echo "dsdata build $file"
}

usage="usage: get_dump.sh WIKI [DATE], as in: get_dump.sh fiwiki"
case ${1:-} in -h | --help) echo "$usage" && exit 0 ;; esac
case $# in 1 | 2) ;; *) leave 2 "$usage" ;; esac
wiki=$1
asked=${2:-}
[[ $wiki =~ ^[a-z][a-z0-9_]*$ ]] || leave 2 "'$wiki' is not the name of a wiki: fiwiki, enwiki, simplewiki …"
[[ $asked =~ ^([0-9]{4}-?[0-9]{2}-?[0-9]{2})?$ ]] || leave 2 "'$asked' is not a date such as 2026-11-01"
asked=${asked//-/}
command -v curl >/dev/null || leave 2 "curl is not installed"

for date in $(dates_of "$exports/$wiki" '[0-9]{4}-[0-9]{2}-[0-9]{2}'); do
    [ -z "$asked" ] || [ "$asked" = "${date//-/}" ] || continue
    if is_there "$exports/$wiki/$date/xml/bzip2/_SUCCESS"; then
        get_export "$date"
        exit 0
    fi
    echo "note       the export of $date is not complete yet" >&2
done
for date in $(dates_of "$base/$wiki" '[0-9]{8}'); do
    [ -z "$asked" ] || [ "$asked" = "$date" ] || continue
    if get_articles "$date"; then
        exit 0
    fi
    echo "note       the dump of $date is not complete yet" >&2
done
leave 2 "$base has no complete dump of $wiki${2:+ of $2}; is the name right, and the network there?"
