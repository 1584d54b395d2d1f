# shellcheck shell=bash
# Sourced by scripts that fetch packages without root.

# need_programs NAME…: skips the script where one is missing.
need_programs() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || { echo "$program is not installed: skipped"; exit 77; }
    done
}

# apt_apart FOLDER deb|deb-src [ARCHITECTURE]: makes FOLDER/apt.conf, for APT_CONFIG: apt then has lists, cache and
# architecture of its own, so that those of the machine do not change.
apt_apart() {
    local folder=$1 kind=$2 architecture=${3:-$(dpkg --print-architecture)}
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    : >"$folder/status"
    echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "http://deb.debian.org/debian bookworm main" >"$folder/sources.list"
    cat >"$folder/apt.conf" <<CONF
Dir::State "$folder";
Dir::State::lists "$folder/lists";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
CONF
}

# apt_sysroot FOLDER SYSROOT ARCHITECTURE PACKAGE…: downloads Debian's packages, with what they depend on, to FOLDER and
# unpacks them to SYSROOT.
apt_sysroot() {
    local folder=$1 sysroot=$2 package link target
    need_programs apt-get dpkg-deb
    apt_apart "$folder" deb "$3"
    APT_CONFIG=$folder/apt.conf apt-get -qq update
    APT_CONFIG=$folder/apt.conf apt-get -qq -y --download-only install "${@:4}" >/dev/null
    for package in "$folder"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$sysroot"
    done
    find "$sysroot" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
        ln -sfn "$sysroot$target" "$link"
    done
}
