#!/usr/bin/env bash
# scripts/gpu_pack.sh, and its pack run where nothing is installed: pack.sh SOURCE. The root folder has the pack, libc,
# and the tools that gpu_check.sh calls with their libraries; the GPU is an empty file there.
set -u

# in_root CODE WORDS COMMAND…: runs inside a mount namespace, whose mounts end with it
in_root() {
    local code=0
    mount --rbind /proc root/proc && mount --bind /dev/null root/dev/null || exit 1
    env -i PATH=/bin PREBUILT=/pack "$(PATH=$PATH:/usr/sbin:/sbin type -P chroot)" root "${@:3}" >out.log 2>&1 ||
        code=$?
    [ "$code" = "$1" ] && { [ -z "$2" ] || grep -q -- "$2" out.log; } && exit 0
    echo "${*:3}: exit code $code, not $1, or '$2' is not said:"
    sed 's/^/    /' out.log
    exit 1
}
if [ "$1" = --in-root ]; then in_root "${@:2}"; fi

self=$(realpath "$0")
cd "$1" || exit 1
command -v nvcc >/dev/null || { echo "skipped: no nvcc here"; exit 77; }
unshare --mount --map-root-user true 2>/dev/null || { echo "skipped: no mount namespaces here"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
scripts/gpu_pack.sh "$scratch/root/pack" || exit 1
cd "$scratch" || exit 1
failed=0

mkdir -p root/bin root/proc root/dev root/tmp
: >root/dev/null
copy_libraries() { # copy_libraries PATTERN FILE: copies the matching libraries of the file
    ldd "$2" | grep -oE '/[^ ]+' | grep -E "$1" | while read -r library; do
        mkdir -p "root${library%/*}"
        cp -Ln "$library" "root$library"
    done
}
for tool in bash sh mkdir mktemp timeout tail tee sed grep tar gzip cp mv rm cat ls realpath env; do
    path=$(realpath "$(type -P $tool)")
    cp "$path" root/bin/$tool
    copy_libraries . "$path"
done
copy_libraries '/(libc|libm|ld-linux)[-.]' "$scratch/root/pack/dstrain"
find root -name 'lib*' ! -path '*/pack/*' | grep -E 'jansson|xxhash|stdc|gcc_s|cublas|cuda' &&
    { echo "the root holds more than it should"; failed=1; }
for file in root/pack/*; do
    readelf -d "$file" 2>/dev/null | sed -nE 's/.*R(UN)?PATH.*\[(.*)\]/:\2:/p' | grep -E '::|:[^$/]' &&
        { echo "$file looks for libraries in a place of anyone's"; failed=1; }
done

# expect CODE WORDS COMMAND…, in the root
expect() {
    unshare --mount --map-root-user --propagation private bash "$self" --in-root "$@" || failed=1
}

expect 0 "^dstrain " /pack/dstrain --version
# Of what gloo needs, also by libgloo, only a library that every machine has is missing.
[ ! -e root/pack/dstrain_gloo.so ] || expect 0 "gloo does not load: libgcc_s.so.1" /pack/dstrain --version
expect 0 "" /pack/make_shards /tmp/data 32 60 20 50
expect 0 "computing on the CPU: the CUDA backend does not load: libcublasLt.so" /pack/dstrain --shards /tmp/data \
    --model mini --steps 2 --batch 4 --out /tmp/run
expect 0 " 0 wrong" /pack/dstrain_cuda_test --device cpu --precision bf16 --part curve --curve /pack/curve-mini.txt
expect 77 "nothing tested" bash /pack/gpu_check.sh /tmp/out
[ -s root/tmp/out/results.tar.gz ] || { echo "no archive"; failed=1; }
: >root/dev/nvidia0
expect 1 "there is an NVIDIA card, but: the CUDA backend does not load: libcublasLt.so" bash /pack/gpu_check.sh /tmp/out
[ $failed = 0 ] && echo "all right"
exit $failed
