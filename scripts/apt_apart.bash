# Sourced by scripts that fetch packages without root. In: the folder to keep them in. Out: FOLDER/apt.conf, for
# APT_CONFIG: apt then has lists, cache and architecture of its own, so that those of the machine do not change.

# apt_apart FOLDER deb|deb-src [ARCHITECTURE]
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
