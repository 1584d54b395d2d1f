# shellcheck shell=bash disable=SC2016,SC2034  # dpkg expands its own variables; the scripts use ours
# Sourced by release.sh and wheel.sh: the files that both ship. package_begin sets $out, $work (removed at the end) and
# SOURCE_DATE_EPOCH, the time of all files: that of the last commit unless it is set. The same sources, compiler and
# libraries give the same bytes.
umask 022
export LC_ALL=C TZ=UTC
# shellcheck source=scripts/apt_apart.bash
source "$(dirname "${BASH_SOURCE[0]}")/apt_apart.bash"
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(sed -n 's/^project(dsdata VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")

# What is linked into the programs: Debian's packages, and their licences by SPDX's names.
declare -A libraries=([libbz2-dev]=bzip2-1.0.6 [zlib1g-dev]=Zlib [libzstd-dev]=BSD-3-Clause [liblzma-dev]=0BSD
    [libexpat1-dev]=MIT [libutf8proc-dev]=MIT [libjansson-dev]=MIT [libxxhash-dev]=BSD-2-Clause
    [libc6-dev]=LGPL-2.1-or-later [libgcc-12-dev]="GPL-3.0-or-later WITH GCC-exception-3.1")

# package_begin DIR
package_begin() {
    out=$(mkdir -p "$1" && cd "$1" && pwd)
    if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
        SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct) || {
            echo "this is no git checkout; set SOURCE_DATE_EPOCH to the sources' time" >&2
            exit 2
        }
    fi
    export SOURCE_DATE_EPOCH
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
}

# logged COMMAND…: shows its output if it fails.
logged() {
    "$@" >"$work/log" 2>&1 || {
        tail -40 "$work/log" >&2
        exit 1
    }
}

# library_version LIBRARY: of the sources of Debian's package.
library_version() {
    if [ -z "$sysroot" ]; then
        dpkg-query -W -f '${source:Version}' "$1"
    else
        dpkg-deb -W --showformat='${source:Version}' "$work"/apt/cache/archives/"$1"_*.deb
    fi
}

# The licences of the libraries, and a bill of materials (CycloneDX 1.5).
document_libraries() { # TREE
    local library rows=() documents=$1/share/doc/dsdata
    mkdir -p "$documents/licences"
    for library in $(printf '%s\n' "${!libraries[@]}" | sort); do
        cp -L "$sysroot/usr/share/doc/$library/copyright" "$documents/licences/$library" || {
            echo "the licence of $library is not where Debian has it" >&2
            exit 2
        }
        rows+=("  {\"type\": \"library\", \"name\": \"$library\", \"version\": \"$(library_version "$library")\",
   \"purl\": \"pkg:deb/debian/$library@$(library_version "$library")?arch=$debian&distro=debian-12\",
   \"licenses\": [{\"expression\": \"${libraries[$library]}\"}]}")
    done
    {
        printf '{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,\n'
        printf ' "metadata": {"component": {"type": "application", "name": "dsdata", "version": "%s",\n' "$version"
        printf '  "licenses": [{"expression": "MIT"}]}},\n "components": [\n'
        printf '%s,\n' "${rows[@]}" | sed '$s/,$//'
        printf ' ]}\n'
    } >"$documents/libraries.cdx.json"
}

# package_tree ARCHITECTURE TREE: static programs, man pages, completions, recipes, Slurm scripts, licences. For another
# machine than this one with Debian's cross compiler and libraries, and qemu, which prints man pages and completions.
package_tree() {
    local machine=$1 tree=$2 cross=()
    debian=$machine sysroot=""
    [ "$machine" != x86_64 ] || debian=amd64
    [ "$machine" != aarch64 ] || debian=arm64
    if [ "$machine" != "$(uname -m)" ]; then
        need_programs "$machine-linux-gnu-gcc" "qemu-$machine-static"
        sysroot=$work/sysroot
        apt_sysroot "$work/apt" "$sysroot" "$debian" "${!libraries[@]}"
        cross=(--toolchain "$source/cmake/$machine.cmake" -DCMAKE_SYSROOT="$sysroot")
    fi
    logged cmake -G Ninja -S "$source" -B "$work/build" -DDS_STATIC=ON -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none "${cross[@]}"
    logged cmake --build "$work/build"
    logged cmake --install "$work/build" --prefix "$tree" --strip
    document_libraries "$tree"
}
