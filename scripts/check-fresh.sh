#!/bin/sh
# check-fresh.sh AS... -- do the README's two commands work on a machine that has what the README says, and nothing else?
# A clone of what is committed, in a root folder of a bare Debian 12 (scripts/root-folder.sh), AS
#
#     root      with gcc and libc6-dev; so `make deps` installs Check
#     user      a user without sudo, where Check is installed
#     folder    a user without sudo, where it is not: what `make deps` tells him to do is done
#     clang     with clang alone
#     bare      without headers, without a compiler, with BSD make: each says what is missing
#
# The root folders are made once, in ~/.cache/attic, and copied for each check.  Status 3: NOT RUN.
set -eu
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/attic
mkdir -p "$cache"
work=$(mktemp -d "$cache/fresh.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM
folder=$work/root home=/home/new/attic

# The commands of the README, as they stand there.
awk '/^## / { here = $0 == "## Two commands" } /^```/ { inside = here && $0 == "```sh"; next } inside' README.md >"$work/commands"
[ "$(wc -l <"$work/commands")" -eq 2 ] || { echo "README.md: '## Two commands' has not two commands" >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || echo "  what is not committed is not in the clone"

# begin PACKAGE...: a root folder with a clone, and a user `new`
begin() {
    status=0
    sh scripts/root-folder.sh bookworm "$cache/bookworm-$1" "$@" make git ca-certificates || status=$?
    [ "$status" -eq 0 ] || exit "$status"
    rm -rf --one-file-system "$folder"
    cp -a "$cache/bookworm-$1" "$folder"
    inside useradd --create-home new
    git clone -q . "$folder$home"
    inside chown -R new: /home/new
}
inside() { sh scripts/in-root-folder.sh "$folder" "$@"; }
# in_clone USER COMMAND: what it prints is kept in $work/said
in_clone() {
    if [ "$1" = root ]; then set -- "$1" "chown -R root: $home; cd $home && $2"; else set -- "$1" "cd $home && $2"; fi
    inside runuser -u "$1" -- env HOME="/home/new" sh -c "$2" >"$work/said" 2>&1
}
# commands USER: README's, each with its time and its last line
commands() {
    while read -r command; do
        began=$(date +%s)
        in_clone "$1" "$command" </dev/null || { cat "$work/said"; echo "$command: fails on a bare Debian as $1" >&2; exit 1; }
        printf '  %3d s  %s: %s\n' $(($(date +%s) - began)) "$command" "$(tail -1 "$work/said")"
    done <"$work/commands"
}
# says WHAT USER COMMAND: it fails, and that is among what it prints
says() {
    if in_clone "$2" "$3" </dev/null || ! grep -F -- "$1" "$work/said"; then
        cat "$work/said"
        echo "'$3' does not fail with '$1'" >&2
        exit 1
    fi
}
install() { inside sh -c "apt-get update -q && apt-get install -qy --no-install-recommends $*" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }; }

as_root() {
    begin gcc libc6-dev
    commands root
}
as_clang() {
    begin clang
    commands root
}
as_user() {
    begin gcc libc6-dev
    install check pkg-config
    commands new
}
# From the archive of Debian's package, which is that of the address which make deps names.
as_folder() {
    begin gcc libc6-dev
    in_clone new "make demo" || { cat "$work/said"; exit 1; }
    says 'make test CHECK=' new "make test"
    says 'make test CHECK=' new "make deps"
    sed -n 's/^    //p' "$work/said" >"$work/steps"
    url=$(sed -n 's/^wget //p' "$work/steps")
    install dpkg-dev
    inside sh -c "echo 'deb-src http://deb.debian.org/debian bookworm main' >/etc/apt/sources.list.d/source.list &&
        apt-get update -q && cd /home/new && apt-get source -q --download-only check && chmod a+r check_*
        mv check_*.orig.tar.gz attic/$(basename "$url")" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
    in_clone new "$(grep -v '^wget ' "$work/steps")" || { cat "$work/said"; exit 1; }
    tail -1 "$work/said"
}
as_bare() {
    begin gcc libc6-dev
    install bmake
    says 'attic is built by GNU make' new "bmake demo"
    inside dpkg --purge --force-depends libc6-dev >/dev/null 2>&1
    says 'No C library headers: install libc6-dev' new "make demo"
    inside dpkg --purge --force-depends gcc >/dev/null 2>&1
    says 'There is no C compiler cc: install gcc and libc6-dev, or clang' new "make demo"
    sed 's/^/  all it says: /' "$work/said"
    ! grep -q 'cc: [Nn]o' "$work/said" || { echo "'make demo' says more than once that there is no cc" >&2; exit 1; }
}

for as; do
    case $as in
    root | user | clang | folder | bare) echo "a bare Debian 12: $as" ;;
    *) echo "check-fresh.sh: '$as' is none of root, user, clang, folder, bare" >&2 && exit 2 ;;
    esac
    "as_$as"
done
