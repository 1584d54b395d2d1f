#!/usr/bin/env bash
# shellcheck disable=SC2016  # $ORIGIN is for the loader
# Packs dstrain with CUDA for a machine that has only the driver and cuBLASLt:
#
#     scripts/gpu_pack.sh DIR [CMAKE_OPTION…]        then there: PREBUILT=DIR DIR/gpu_check.sh OUTDIR
#
# DIR gets dstrain, its modules for CUDA, gloo and NCCL, the programs and the script that check it, and the libraries
# they need except libc, cuBLASLt and NCCL; all are found by $ORIGIN. NCCL=FILE adds that libnccl.so.2, some 200 MiB;
# the limit of 40 MiB holds for the rest. Built in build/gpu-pack; the other machine's libc must be at least as new as
# the one here.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 2; }
mkdir -p "$1"
pack=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
build=build/gpu-pack
most=$((40 << 20)) # bytes in total
programs=(dstrain dstrain_cuda_test make_shards comm_driver)

# RPATH: unlike RUNPATH it holds for the libraries of libraries, as libgloo's libhiredis.
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DDS_CUDA=ON -DDS_DATA=OFF \
    -DBUILD_TESTING=OFF \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH='$ORIGIN' \
    -DCMAKE_MODULE_LINKER_FLAGS=-Wl,--disable-new-dtags "$@" >$build.log 2>&1 ||
    { tail -20 $build.log; exit 1; }
cmake --build $build --target "${programs[@]}" >>$build.log 2>&1 || { tail -40 $build.log; exit 1; }
modules=(dstrain_cuda.so)
for module in dstrain_gloo.so dstrain_nccl.so; do
    [ -e "$build/$module" ] && modules+=("$module")
done
for file in "${programs[@]}" "${modules[@]}"; do
    cp "$build/$file" "$pack"
    strip --strip-debug "$pack/$file"
done
cp scripts/gpu_check.sh tests/golden/curve-mini.txt "$pack"

# name => /path of linked libraries, except those that every machine has, cuBLASLt and NCCL
ldd "${programs[@]/#/$build/}" "${modules[@]/#/$build/}" | awk '$2 == "=>" { print $1, $3 }' | sort -u |
    grep -vE '^(lib(c|m|dl|rt|pthread|gcc_s)\.so|ld-linux|libcublasLt|libnccl)' |
    while read -r name path; do
        [ -e "$path" ] || { echo "$name is not found" >&2; exit 1; }
        cp -L "$path" "$pack/$name"
    done
bytes=$(du -sb "$pack" | cut -f1)
echo "$pack: $((bytes >> 20)) MiB"
[ "$bytes" -le $most ] || { echo "that is more than $((most >> 20)) MiB" >&2; exit 1; }
[ -z "${NCCL:-}" ] || cp -L "$NCCL" "$pack/libnccl.so.2"
