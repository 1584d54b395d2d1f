#!/usr/bin/env bash
# From a bare Debian to a trained model in about three minutes on two cores: installs what is missing, builds the
# programs, and runs `dsdata demo`, which trains a small BERT and writes a page to demo-out/.
#
#     scripts/demo.sh [--yes] [FILE|FOLDER]       on simple stories, or on this dump or text
#
# It asks before it installs packages; --yes, or a standard input that is not a terminal, answers yes.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
yes=no
input=()
for word in "$@"; do
    case $word in
        --yes) yes=yes ;;
        -h | --help) echo "usage: scripts/demo.sh [--yes] [FILE|FOLDER]" && exit 0 ;;
        -*) echo "usage: scripts/demo.sh [--yes] [FILE|FOLDER]" >&2 && exit 2 ;;
        *) input=("$word") ;;
    esac
done
[ ${#input[@]} = 0 ] || [ -r "${input[0]}" ] || { echo "demo.sh: ${input[0]}: no such file" >&2; exit 2; }

# Installs missing packages, after asking.
install_packages() {
    local missing answer
    missing=$("$root/scripts/setup.sh" --programs --missing)
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        echo "note: these packages are missing and cannot be installed without root: $missing"
        return 0
    fi
    if [ "$yes" = no ] && [ -t 0 ]; then
        echo "These packages are missing: $missing"
        read -r -p "Install them with apt-get? [y/N] " answer
        [[ $answer = [yY]* ]] || { echo "Nothing is installed."; return 0; }
    fi
    "$root/scripts/setup.sh" --programs
}

install_packages
cd "$root"
[ -f build/release/build.ninja ] || { echo "configuring"; cmake --preset release >/dev/null; }
cmake --build --preset release --target dsdata dstrain
cd "$OLDPWD"
exec "$root/build/release/dsdata" demo "${input[@]}"
