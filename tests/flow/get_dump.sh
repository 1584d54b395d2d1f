#!/usr/bin/env bash
# scripts/get_dump.sh against a web server with the layout of dumps.wikimedia.org: the newest complete export, an
# interrupted download that continues, a file that does not match its checksum, a wiki with only the older kind of dump.
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

command -v curl >/dev/null || { echo "curl is not installed: skipped"; exit 77; }

# Serves files below the folder $1, with ranges; the first request for a file with "p1p9" in its name ends in the
# middle.
cat >"$scratch/server.py" <<'PYTHON'
import http.server, os, re, sys

os.chdir(sys.argv[1])
broken, requests = set(), open("../requests", "a", buffering=1)


class Handler(http.server.SimpleHTTPRequestHandler):
    def send_head(self):
        path = self.translate_path(self.path)
        if os.path.isdir(path) or not os.path.exists(path):
            return super().send_head()
        data = open(path, "rb").read()
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted else 0
        requests.write(f"{self.command} {self.path} {start}\n")
        if wanted and start >= len(data):
            self.send_error(416)
            return None
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if self.command == "HEAD":
            return None
        data = data[start:]
        if "p1p9" in path and path not in broken:
            broken.add(path)
            data = data[: len(data) // 2]
            self.close_connection = True
        self.wfile.write(data)
        return None

    def do_HEAD(self):
        self.send_head()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open(sys.argv[2] + ".new", "w").write(str(server.server_port))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
PYTHON

content=$scratch/www/other/mediawiki_content_current/xxwiki
for date in 2026-09-01 2026-10-01 2026-11-01; do mkdir -p "$content/$date/xml/bzip2"; done
parts=$content/2026-10-01/xml/bzip2
cp "$samples" "$parts/xxwiki-2026-10-01-p1p9.xml.bz2"
cp "$samples" "$parts/xxwiki-2026-10-01-p10p99.xml.bz2"
(cd "$parts" && sha256sum ./*.bz2 | sed 's|\./||' >SHA256SUMS)
touch "$parts/_SUCCESS"
mkdir -p "$scratch/www/oldwiki/20260601" "$scratch/www/oldwiki/20260701" "$scratch/www/oldwiki/latest"
(cd "$scratch/www/oldwiki/20260601" && cp "$samples" oldwiki-20260601-pages-articles.xml.bz2 &&
    md5sum ./*.bz2 | sed 's|\./||' >oldwiki-20260601-md5sums.txt)

python3 "$scratch/server.py" "$scratch/www" "$scratch/port" &
server=$!
trap 'kill $server 2>/dev/null || true; rm -rf "$scratch"' EXIT
for _ in $(seq 100); do [ -s "$scratch/port" ] && break; sleep 0.1; done
DUMPS_URL=http://127.0.0.1:$(cat "$scratch/port")
export DUMPS_URL GET_DUMP_DELAY=0 no_proxy=127.0.0.1
mkdir "$scratch/here"
cd "$scratch/here"
get=$project/scripts/get_dump.sh

case_begin "the newest complete export; a download that breaks off goes on where it stopped"
expect_exit 0 "$get" xxwiki
expect_words "2026-11-01 is not complete"
expect_equal next "$(cat "$scratch/stdout")" "dsdata build xxwiki-2026-10-01/ --out xxwiki-2026-10-01-shards"
read -ra words <"$scratch/stdout"
diff -r -x _SUCCESS "$parts" xxwiki-2026-10-01 >"$scratch/stderr" || complain "other files"
grep -q "GET .*p1p9.xml.bz2 $(($(wc -c <"$samples") / 2))$" "$scratch/requests" ||
    complain "it did not go on in the middle"

case_begin "the command that it prints"
expect_exit 0 "$dsdata" "${words[@]:1}" --dry-run
expect_words "2 parts with SHA256SUMS"

case_begin "again: nothing is downloaded"
: >"$scratch/requests"
expect_exit 0 "$get" xxwiki 2026-10-01
expect_words "have "
if grep -q "GET .*bz2" "$scratch/requests"; then complain "downloaded again"; fi

case_begin "a file that differs from its sum"
rm xxwiki-2026-10-01/*p10p99*
printf x | dd of="$parts/xxwiki-2026-10-01-p10p99.xml.bz2" bs=1 seek=500 conv=notrunc 2>/dev/null
expect_exit 3 "$get" xxwiki
expect_words p10p99 "differs from its sum"
expect_absent '*p10p99*' .

case_begin "the older kind of dump"
expect_exit 0 "$get" oldwiki
expect_equal next "$(cat "$scratch/stdout")" "dsdata build oldwiki-20260601-pages-articles.xml.bz2"
cmp "$samples" oldwiki-20260601-pages-articles.xml.bz2 || complain "another file"

case_begin "every request is for https, and so are redirections"
mkdir "$scratch/stub"
printf '#!/bin/sh\necho "$*" >>%q\nexit 22\n' "$scratch/asked" >"$scratch/stub/curl"
chmod +x "$scratch/stub/curl"
expect_exit 2 env -u DUMPS_URL PATH="$scratch/stub:$PATH" "$get" xxwiki
[ -s "$scratch/asked" ] || complain "curl was not asked"
expect_equal "requests without" "$(grep -vc -e '--proto =https --proto-redir =https ' "$scratch/asked")" 0

case_begin "no such wiki, no such date, no name"
expect_exit 2 "$get" yywiki
expect_words yywiki
expect_exit 2 "$get" xxwiki 2026-01-01
expect_exit 2 "$get" ../etc
expect_exit 2 "$get"
expect_exit 0 "$get" --help
grep -q usage "$scratch/stdout" || complain "no usage on standard output"

flow_end
