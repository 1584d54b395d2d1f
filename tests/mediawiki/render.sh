#!/usr/bin/env bash
# Renders the pages of a dump with MediaWiki itself, as its readers would see them.
#
#     tests/mediawiki/render.sh DUMP LANG FOLDER [PAGES]
#
# writes FOLDER/pages.jsonl, and to pages.jsonl.site what the wiki is. A line {"title", "html", "calls"} stands for each
# page of the main namespace, or for PAGES of them, chosen by a hash of their titles. "calls" are the template calls of
# the page's own text, each with its source, what it shows, and the Lua modules that it runs. Exits with 77 if MediaWiki
# or a part of it is not installed.
#
# MediaWiki is Debian's (1.39, with Scribunto). It needs no web server and no network; its database is an SQLite file in
# DS_WIKI_DATA, by default /dev/shm because imports are slow on disks. The clock stands at the dump's last revision, so
# that ages agree.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
core=/usr/share/mediawiki
packages="mediawiki php-cli php-sqlite3 php-intl php-mbstring php-xml php-luasandbox faketime"

lacks() {
    echo "render.sh: $1 is not installed. On Debian 12: apt-get install --no-install-recommends $packages" >&2
    exit 77
}

check_installed() {
    [ -f "$core/includes/Setup.php" ] || lacks MediaWiki
    command -v php >/dev/null || lacks php
    command -v faketime >/dev/null || lacks faketime
    local module modules
    modules=$(php -m)
    for module in pdo_sqlite intl mbstring xml luasandbox; do
        grep -qix "$module" <<<"$modules" || lacks "php's module $module"
    done
}

unpack() {
    case $1 in
        *.bz2) bzip2 -dc "$1" ;;
        *.gz) gzip -dc "$1" ;;
        *.xz) xz -dc "$1" ;;
        *.zst) zstd -dcq "$1" ;;
        *) cat "$1" ;;
    esac
}

# Runs a script of MediaWiki on the wiki in $data; what it prints goes to $out/log unless redirected.
maintain() {
    MW_CONFIG_FILE=$data/LocalSettings.php MW_INSTALL_PATH=$core DS_WIKI_DATA=$data php "$@"
}

main() {
    if [ $# -lt 3 ]; then
        sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
        exit 2
    fi
    check_installed
    local dump=$1 lang=$2 pages=${4-}
    mkdir -p "$3"
    out=$(cd "$3" && pwd)
    data=$(mktemp -d "${DS_WIKI_DATA:-/dev/shm}/wiki-XXXXXX")
    trap 'rm -rf "$data"' EXIT

    unpack "$dump" | python3 "$here/select_pages.py" "$data/site.json" >"$data/dump.xml"
    maintain "$core/maintenance/install.php" --dbtype sqlite --dbpath "$data" --dbname wiki --confpath "$data" \
        --server http://127.0.0.1 --scriptpath /w --lang "$lang" --pass "$(od -An -N12 -tx1 /dev/urandom | tr -d ' ')" \
        Wiki Admin >"$out/log" 2>&1
    echo "require '$here/settings.php';" >>"$data/LocalSettings.php"
    {
        maintain "$core/maintenance/update.php" --quick
        maintain "$here/empty.php"
        maintain "$core/maintenance/importDump.php" --no-updates --no-local-users --username-prefix imported \
            <"$data/dump.xml"
    } >>"$out/log" 2>&1
    FAKETIME_DONT_FAKE_MONOTONIC=1 maintain_at "$(python3 -c '
import json, sys
print(json.load(open(sys.argv[1]))["last"].replace("T", " ").rstrip("Z"))' "$data/site.json")" \
        "$here/render.php" ${pages:+--pages "$pages"} >"$out/pages.part" 2>>"$out/log"
    cp "$data/site.json" "$out/pages.jsonl.site"
    mv "$out/pages.part" "$out/pages.jsonl"
}

# Like maintain, with the clock at a time.
maintain_at() {
    local time=$1
    shift
    MW_CONFIG_FILE=$data/LocalSettings.php MW_INSTALL_PATH=$core DS_WIKI_DATA=$data TZ=UTC \
        faketime -f "$time" php "$@"
}

main "$@"
