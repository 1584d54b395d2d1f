#!/usr/bin/env bash
# Makes the release archive, dsdata-VERSION-ARCHITECTURE.tar.gz, with the two static programs, man pages, completions,
# recipes, Slurm scripts, licences and SHA256SUMS. The same sources, compiler and libraries give the same bytes.
#
#     scripts/release.sh [DIR]       writes it to DIR (default: dist)
#
# The times of its files are that of the last commit, or SOURCE_DATE_EPOCH (seconds).
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC
case ${1:-} in
    -h | --help) echo "usage: scripts/release.sh [DIR]" && exit 0 ;;
    -*) echo "usage: scripts/release.sh [DIR]" >&2 && exit 2 ;;
esac
out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
cd "$(dirname "$0")/.."
source=$PWD
version=$(sed -n 's/^project(dsdata VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=dsdata-$version-$(uname -m)
# Libraries linked into the programs.
libraries=(libbz2-dev zlib1g-dev libzstd-dev liblzma-dev libexpat1-dev libutf8proc-dev libjansson-dev libxxhash-dev
    libc6-dev)
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) || {
        echo "release.sh: this is no git checkout; set SOURCE_DATE_EPOCH to the sources' time" >&2
        exit 2
    }
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# logged COMMAND…: shows its output if it fails.
logged() {
    "$@" >"$work/log" 2>&1 || {
        tail -40 "$work/log" >&2
        exit 1
    }
}

build() {
    logged cmake -G Ninja -S "$source" -B "$work/build" -DDS_STATIC=ON -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none
    logged cmake --build "$work/build"
    logged cmake --install "$work/build" --prefix "$work/$name" --strip
}

# Licences of the linked libraries, from Debian's packages.
licences() {
    local library documents=$work/$name/share/doc/dsdata
    mkdir -p "$documents/licences"
    for library in "${libraries[@]}"; do
        cp -L "/usr/share/doc/$library/copyright" "$documents/licences/$library" || {
            echo "release.sh: the licence of $library is not where Debian has it" >&2
            exit 2
        }
    done
}

build
licences
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
