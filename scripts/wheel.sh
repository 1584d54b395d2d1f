#!/usr/bin/env bash
# Makes a Python wheel with the files of scripts/release.sh and the package dsshards. `pip install FILE` puts dsdata,
# dstrain and to_safetensors.py on PATH, man pages, completions and recipes into PREFIX/share. The programs are static:
# one file for glibc and musl.
#
#     scripts/wheel.sh [--arch x86_64|aarch64] [DIR]       writes it to DIR (default: dist)
#     scripts/wheel.sh --cuda [DIR]                        also dsdata_cuda, of scripts/gpu_pack.sh: with both in DIR,
#                                                          pip install --find-links DIR 'dsdata[cuda]'
#
# dsdata_cuda has the dstrain that loads modules, to which the static one hands over, and what dstrain doctor --gpu
# runs. It needs the CUDA toolkit to build, and where it runs a glibc as new as its name says. For another machine than
# this one: apt-get install gcc-aarch64-linux-gnu qemu-user-static. Exit 77: they are missing.
set -euo pipefail
usage="usage: scripts/wheel.sh [--arch x86_64|aarch64 | --cuda] [DIR]"
cuda=no
arch=$(uname -m)
dir=dist
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) echo "$usage" && exit 0 ;;
        --arch) arch=${2-} && shift ;;
        --cuda) cuda=yes ;;
        -*) echo "$usage" >&2 && exit 2 ;;
        *) dir=$1 ;;
    esac
    shift || break
done
[[ $arch =~ ^(x86_64|aarch64)$ && ($cuda = no || $arch = "$(uname -m)") ]] || { echo "$usage" >&2 && exit 2; }
# shellcheck source=scripts/package.bash
source "$(dirname "$0")/package.bash"
package_begin "$dir"
pack=$work/pack
[ $cuda = no ] || logged "$source/scripts/gpu_pack.sh" "$pack" # first: it fails soon where there is no CUDA toolkit
package_tree "$arch" "$work/tree"
wheel=$(python3 "$source/scripts/wheel.py" dsdata "$work/tree" "$version" "$arch" "$out")
(cd "$out" && sha256sum "$wheel")
if [ $cuda = yes ]; then
    rm "$pack"/libstdc++.so.* # it needs a newer glibc than all else; gloo uses that of the machine
    for file in "$pack"/lib*; do # Debian's libraries, with their licences
        library=$(dpkg -S "*/${file##*/}" | head -1 | cut -d: -f1)
        cp -L "/usr/share/doc/$library/copyright" "$pack/LICENCE.$library"
    done
    cp "$source/LICENSE" "$pack"
    glibc=$({ objdump -T "$pack"/* 2>/dev/null || true; } | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -1)
    module=$(python3 "$source/scripts/wheel.py" dsdata_cuda "$pack" "$version" "$arch" "$out" "${glibc#GLIBC_2.}")
    (cd "$out" && sha256sum "$module")
    echo "next       pip install --find-links $dir 'dsdata[cuda]'"
else
    echo "next       pip install $dir/$wheel"
fi
