#!/usr/bin/env bash
# Executes Dockerfile without docker: a Debian from debootstrap for each stage, RUN in a chroot. Then the image's user
# builds a dataset and trains on it. Needs root, debootstrap and a Debian mirror.
# labels: long
# shellcheck source-path=SCRIPTDIR source=flow.bash
source "$(dirname "$0")/flow.bash" "$1"

skip() {
    echo "$1: skipped"
    exit 77
}

PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || skip "not root"
for program in debootstrap chroot unshare; do
    command -v $program >/dev/null || skip "$program is not installed"
done
unshare -m true 2>/dev/null || skip "no mounts of our own here"
debootstrap --variant=minbase bookworm "$scratch/debian" >"$scratch/log" 2>&1 || skip "no Debian by debootstrap"
cp /etc/resolv.conf "$scratch/debian/etc/" 2>/dev/null || true

# Settings of the current stage so far.
root="" user=root folder=/ command="" environment=()

# inside COMMAND…: runs as the stage's user, in its folder, with its environment. /proc and /dev are mounted meanwhile.
inside() {
    # shellcheck disable=SC2016  # the inner shell expands them
    unshare -m bash -c 'root=$1; user=$2; folder=$3; shift 3
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
        exec chroot --userspec="$user" "$root" /bin/sh -c "cd \"$folder\" && exec \"\$@\"" sh "$@"' \
        bash "$root" "$user" "$folder" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive "${environment[@]}" "$@"
}

# The words of ["dsdata", "--help"], one per line.
words() {
    python3 -c 'import json, sys; print("\n".join(json.loads(sys.argv[1])))' "$1"
}

line() {
    local name=$1 rest=$2 from to
    case $name in
        FROM)
            [[ $rest =~ ^debian:12-slim(\ AS\ ([a-z]+))?$ ]] || complain "another base: $rest"
            root=$scratch/${BASH_REMATCH[2]:-image} user=root folder=/ command="" environment=()
            cp -a "$scratch/debian" "$root"
            ;;
        RUN) expect_exit 0 inside /bin/sh -c "$rest" ;;
        COPY)
            if [[ $rest =~ ^--from=([a-z]+)\ ([^ ]+)\ ([^ ]+)$ ]]; then
                from=$scratch/${BASH_REMATCH[1]}${BASH_REMATCH[2]} to=$root${BASH_REMATCH[3]}
                mkdir -p "$to"
                expect_exit 0 cp -a "$from/." "$to"
            elif [[ $rest =~ ^\.\ ([^ ]+)$ ]]; then
                mkdir -p "$root${BASH_REMATCH[1]}"
                tar -C "$project" --exclude-from=<(sed 's|^|./|' "$project/.dockerignore") -cf - . |
                    tar -C "$root${BASH_REMATCH[1]}" -xf -
            else
                complain "another COPY: $rest"
            fi
            ;;
        ENV) environment+=("$rest") ;;
        USER) user=$rest ;;
        WORKDIR)
            folder=$rest
            mkdir -p "$root$folder"
            ;;
        CMD) command=$rest ;;
        *) complain "a line that is not known here: $name $rest" ;;
    esac
}

whole=""
while IFS= read -r text; do
    [[ $text =~ ^# || -z $text ]] && continue
    whole+=${text%\\}
    [[ $text == *\\ ]] && continue
    case_begin "Dockerfile: $whole"
    line "${whole%% *}" "${whole#* }"
    [ $failures = 0 ] || flow_end
    whole=""
done <"$project/Dockerfile"

case_begin "the image"
mapfile -t words < <(words "$command")
expect_exit 0 inside "${words[@]}"
grep -q "usage: dsdata" "$scratch/stdout" || complain "the command of the image says something else"
[ "$(inside id -u)" != 0 ] || complain "its user is root"
[ ! -e "$root/usr/bin/gcc" ] || complain "it has the compiler"
cp "$samples" "$root$folder/"
chown -R 1000 "$root$folder" # a folder owned by the user, as with -v
expect_exit 0 inside dsdata build samplewiki.xml.bz2 --vocab-size 300
expect_exit 0 "$dsdata" build "$samples" --vocab-size 300 --out "$scratch/d"
expect_equal "root hash" "$(root_hash "$root$folder/samplewiki")" "$(root_hash "$scratch/d")"
expect_exit 0 inside dstrain --shards samplewiki --model tiny --steps 2 --batch 4
flow_end
