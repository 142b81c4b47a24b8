#!/bin/sh
# Fetch the cloud-init of two Debian releases, netplan's generator,
# NetworkManager's nmcli and Ignition, and unpack them side by side. Nothing is
# installed: an installed cloud-init would enable its own boot services on the
# machine that runs the tests.
#
# Printed, one line for each tree: NAME VERSION ROOT
# Exit status: 0 all trees are there; 69 they cannot be had here (the reason is
# on standard error).
set -eu

# NAME SUITE UPSTREAM-VERSION PACKAGES
trees='22.4 bookworm 22.4.2 cloud-init
25.1 trixie 25.1.4 cloud-init
netplan bookworm 0.106 netplan.io libnetplan0
nmcli bookworm 1.42.4 network-manager libnm0
ignition bookworm 2.14.0+ds1 ignition'

cache=${VMSEED_CACHE:-${XDG_CACHE_HOME:-${HOME:?neither VMSEED_CACHE nor HOME is set}/.cache}}/vmseed/cloud-init

unavailable() {
	echo "$*" >&2
	exit 69
}

# The tree of a cloud-init is named for its version alone.
root_of() {
	case $1 in
	[0-9]*) echo "$cache/$2" ;;
	*) echo "$cache/$1-$2" ;;
	esac
}

# A tree is complete when its stamp exists: it is written before the rename that
# makes the tree visible.
list() {
	echo "$trees" | while read -r name _ version _; do
		root=$(root_of "$name" "$version")
		[ -f "$root/.version" ] || exit 1
		read -r full <"$root/.version"
		echo "$name $full $root"
	done
}

if list 2>/dev/null >/dev/null; then
	list
	exit 0
fi

for tool in apt-get dpkg dpkg-deb flock python3; do
	command -v "$tool" >/dev/null || unavailable "$tool is not installed"
done

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock -w 900 9 || unavailable "another process holds $cache/.lock"
if list 2>/dev/null >/dev/null; then
	list
	exit 0
fi

# apt's own idea of where the host's packages come from: no mirror is named here.
mirror=$(apt-get indextargets --format '$(CREATED_BY) $(COMPONENT) $(CODENAME) $(REPO_URI)' |
	awk '$1 == "Packages" && $2 == "main" && $3 !~ /-/ { print $4; exit }')
[ -n "$mirror" ] || unavailable "apt has no package index (run apt-get update)"

work=$(mktemp -d "$cache/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/debs"

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
signed=
[ ! -f "$keyring" ] || signed="[signed-by=$keyring] "
echo "$trees" | while read -r _ suite _; do
	echo "deb $signed$mirror $suite main"
done | sort -u >"$work/sources.list"

# A private apt: it sees no installed package, touches no index of the host and
# loads nothing but the package lists.
cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$work/state";
Dir::State::status "/dev/null";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
END
export APT_CONFIG="$work/apt.conf"
apt-get -qq update >"$work/log" 2>&1 || unavailable "apt-get update: $(tail -n 1 "$work/log")"

echo "$trees" | while read -r name suite version packages; do
	root=$(root_of "$name" "$version")
	[ ! -f "$root/.version" ] || continue
	mkdir "$work/$name" "$work/debs/$name"
	for package in $packages; do
		(cd "$work/debs/$name" && apt-get -qq download "$package/$suite") >"$work/log" 2>&1 ||
			unavailable "apt-get download $package/$suite: $(tail -n 1 "$work/log")"
	done
	for deb in "$work/debs/$name"/*.deb; do
		full=$(dpkg-deb -f "$deb" Version)
		case $full in
		"$version"-*) ;;
		*) unavailable "$suite has $full of $deb, not $version" ;;
		esac
		dpkg -x "$deb" "$work/$name"
		echo "$full" >"$work/$name/.version"
	done
	# Compiled once here, so that each judge starts in a fraction of a second.
	modules=$work/$name/usr/lib/python3/dist-packages
	[ ! -d "$modules" ] || /usr/bin/python3 -I -m compileall -q -s "$modules" "$modules" >/dev/null
	rm -rf "$root"
	mv "$work/$name" "$root"
done

list
