#!/usr/bin/env bash
# Makes the release archive, dsdata-VERSION-ARCHITECTURE.tar.gz, with the two static programs, man pages, completions,
# recipes, Slurm scripts, licences, a bill of materials and SHA256SUMS (scripts/package.bash).
#
#     scripts/release.sh [DIR]       writes it to DIR (default: dist)
set -euo pipefail
case ${1:-} in
    -h | --help) echo "usage: scripts/release.sh [DIR]" && exit 0 ;;
    -*) echo "usage: scripts/release.sh [DIR]" >&2 && exit 2 ;;
esac
# shellcheck source=scripts/package.bash
source "$(dirname "$0")/package.bash"
package_begin "${1:-dist}"
name=dsdata-$version-$(uname -m)
package_tree "$(uname -m)" "$work/$name"
cd "$work/$name"
find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >../SHA256SUMS
mv ../SHA256SUMS .
cd ..
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
    -cf "$name.tar" "$name"
gzip -n9 "$name.tar"
mv "$name.tar.gz" "$out/"
cd "$out"
sha256sum "$name.tar.gz"
