#!/usr/bin/env bash
# Makes a Python wheel with the files of scripts/release.sh and the package dsshards. `pip install FILE` puts dsdata,
# dstrain and to_safetensors.py on PATH, man pages, completions and recipes into PREFIX/share. The programs are static:
# one file for glibc and musl.
#
#     scripts/wheel.sh [--arch x86_64|aarch64] [DIR]       writes it to DIR (default: dist)
#
# For another machine than this one: apt-get install gcc-aarch64-linux-gnu qemu-user-static. Exit 77: they are missing.
set -euo pipefail
usage="usage: scripts/wheel.sh [--arch x86_64|aarch64] [DIR]"
arch=$(uname -m)
dir=dist
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) echo "$usage" && exit 0 ;;
        --arch) arch=${2-} && shift ;;
        -*) echo "$usage" >&2 && exit 2 ;;
        *) dir=$1 ;;
    esac
    shift || break
done
[[ $arch =~ ^(x86_64|aarch64)$ ]] || { echo "$usage" >&2 && exit 2; }
# shellcheck source=scripts/package.bash
source "$(dirname "$0")/package.bash"
package_begin "$dir"
package_tree "$arch" "$work/tree"
wheel=$(python3 "$source/scripts/wheel.py" "$work/tree" "$version" "$arch" "$out")
(cd "$out" && sha256sum "$wheel")
echo "next       pip install $dir/$wheel"
