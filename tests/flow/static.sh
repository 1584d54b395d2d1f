#!/usr/bin/env bash
# -DDS_STATIC=ON: two programs that run in a root folder with only themselves and a dump, give the bytes of the other
# build, and name the features that they are built without.
# labels: long
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

case_begin "the build"
expect_exit 0 cmake -G Ninja -S "$project" -B "$scratch/build" -DDS_STATIC=ON -DDS_WERROR=ON -DBUILD_TESTING=OFF
expect_exit 0 cmake --build "$scratch/build"
expect_exit 1 cmake -S "$project" -B "$scratch/both" -DDS_STATIC=ON -DDS_MPI=ON
expect_words "DS_STATIC and DS_MPI exclude each other"
expect_no_faults "$scratch/build/dsdata" "$scratch/build/dstrain"
root=$scratch/root
mkdir -p "$root/tmp"
cp "$scratch/build/dsdata" "$scratch/build/dstrain" "$samples" "$root"

case_begin "an empty root"
if [ "$(id -u)" = 0 ] && PATH=$PATH:/usr/sbin command -v chroot >/dev/null; then
    inside=(env -i "$(PATH=$PATH:/usr/sbin command -v chroot)" "$root")
else
    inside=(unshare -r "$(PATH=$PATH:/usr/sbin command -v chroot)" "$root")
fi
"${inside[@]}" /dsdata --version >/dev/null || { echo "no chroot here: skipped"; exit 77; }
options=(--valid 0.1 --vocab-size 220 --seq 32 --pairs none --pack)
expect_exit 0 "${inside[@]}" /dsdata build samplewiki.xml.bz2 --out d "${options[@]}"
expect_exit 0 "$dsdata" build "$samples" --out "$scratch/d" "${options[@]}"
expect_equal "root hash" "$(root_hash "$root/d")" "$(root_hash "$scratch/d")"
expect_exit 0 "${inside[@]}" /dsdata verify d
expect_exit 0 "${inside[@]}" /dstrain --shards d --out r --model tiny --steps 3 --batch 8
expect_exit 0 "${inside[@]}" /dstrain eval r --show 1
expect_exit 0 "${inside[@]}" /dstrain doctor
expect_exit 0 "${inside[@]}" /dstrain export r --out bert

case_begin "what it is built without"
train=("${inside[@]}" /dstrain --shards d --model tiny --steps 3 --batch 8 --out x)
expect_exit 2 "${train[@]}" --comm gloo --rank 0 --world-size 2 --rendezvous 127.0.0.1:2999
expect_words libgloo-dev "without -DDS_STATIC=ON"
expect_exit 2 "${train[@]}" --comm mpi --rank 0 --world-size 2 --rendezvous 127.0.0.1:2999
expect_words libopenmpi-dev
expect_exit 2 "${train[@]}" --device cuda
expect_words cuda-toolkit
expect_exit 6 "${inside[@]}" /dsdata export d --format nvidia-hdf5 --out h5
expect_words libhdf5-dev "without -DDS_STATIC=ON"
flow_end
