#!/usr/bin/env bash
# Installs the packages that a bare Debian 12 lacks to build and test the project; prints nothing if none is missing.
# Without root and sudo it prints the command to type and exits with 2. --programs takes only what the two programs need
# on one machine; --missing, after it, prints the packages on one line and installs none.
set -euo pipefail

packages=(
    gcc libc6-dev cmake ninja-build pkg-config                                    # to build
    libbz2-dev libexpat1-dev libutf8proc-dev libjansson-dev libxxhash-dev         # dsdata
    zlib1g-dev libzstd-dev liblzma-dev                                            # dsdata
)
others=(
    libopenmpi-dev openmpi-bin                                                    # on many machines (optional)
    libgloo-dev g++                                                               # dstrain on many machines (optional)
    libhdf5-dev                                                                   # dsdata export (optional)
    libarchive-dev                                                                # zip and tar files (optional)
    curl ca-certificates                                                          # get_dump.sh
    libcmocka-dev bzip2 zstd xz-utils python3 python3-numpy python3-yaml iproute2 # tests
)

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

# Runs a command as root, with sudo if needed.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

main() {
    local missing=() package line
    if [ "${1-}" = --programs ]; then shift; else packages+=("${others[@]}"); fi
    if ! command -v dpkg-query >/dev/null; then
        echo "note: no dpkg here; the packages needed are, by their Debian names: ${packages[*]}" >&2
        return 0
    fi
    for package in "${packages[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    [ "${#missing[@]}" = 0 ] && return 0
    if [ "${1-}" = --missing ]; then
        echo "${missing[*]}"
        return 0
    fi

    line="apt-get install -y --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "These packages are missing, and there is neither root nor sudo here. As root, type:" >&2
        echo "    $line" >&2
        exit 2
    fi
    echo "installing ${missing[*]}"
    as_root apt-get -qq update
    # shellcheck disable=SC2086  # the line is meant to be split into words
    as_root env DEBIAN_FRONTEND=noninteractive $line | grep --line-buffered '^Setting up'
}

main "$@"
