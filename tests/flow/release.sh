#!/usr/bin/env bash
# scripts/release.sh: two folders, times and umasks give the same archive; its contents are complete and run.
# labels: long
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

cp -L /usr/share/doc/libjansson-dev/copyright "$scratch/" 2>/dev/null ||
    { echo "not a Debian with libjansson-dev: skipped"; exit 77; }
export SOURCE_DATE_EPOCH=1700000000
case_begin "twice"
for copy in one another/longer-path; do
    mkdir -p "$scratch/$copy"
    tar -C "$project" --exclude=./build --exclude=./.git --exclude=./dist -cf - . | tar -C "$scratch/$copy" -xf -
done
expect_exit 0 "$scratch/one/scripts/release.sh" "$scratch/dist-one"
(umask 077 && TZ=Asia/Tokyo "$scratch/another/longer-path/scripts/release.sh" "$scratch/dist-two") \
    >"$scratch/stdout" 2>"$scratch/stderr" || complain "the second one"
archive=$(cd "$scratch/dist-one" && echo dsdata-*.tar.gz)
expect_equal "name" "$archive" "dsdata-$("$dsdata" --version | sed -n 's/^dsdata //p')-$(uname -m).tar.gz"
cmp "$scratch/dist-one/$archive" "$scratch/dist-two/$archive" || complain "two archives"

case_begin "what is in it"
tar -C "$scratch" -xzf "$scratch/dist-one/$archive"
cd "$scratch/${archive%.tar.gz}"
expect_exit 0 sha256sum --strict -c SHA256SUMS
for file in bin/dsdata bin/dstrain share/man/man1/dsdata.1 share/man/man1/dstrain.1 \
    share/bash-completion/completions/dsdata share/zsh/site-functions/_dstrain \
    share/fish/vendor_completions.d/dstrain.fish share/dsdata/configs/laptop.json share/dsdata/slurm/train.sbatch \
    share/doc/dsdata/LICENSE share/doc/dsdata/licences/libc6-dev; do
    [ -s "$file" ] || complain "$file is missing"
done
expect_no_faults bin/dsdata bin/dstrain
expect_exit 0 env -i bin/dsdata build "$samples" --out "$scratch/d" --vocab-size 300
expect_exit 0 env -i bin/dstrain --shards "$scratch/d" --out "$scratch/r" --model tiny --steps 2 --batch 4
flow_end
