# shellcheck shell=sh
# Shared by the scripts of this directory, which source it. They say what they
# need with need(), run apt apart from the host's with private_apt(), and keep
# what they made under a name that holds the hash of their recipe.

suite=bookworm
arch=amd64

say() {
	echo "$*" >&2
}

# need TOOL PACKAGE...: exit 3 and name every package that is missing, at once.
need() {
	missing=
	while [ $# -gt 0 ]; do
		case $1 in
		/*) [ -e "$1" ] || missing="$missing $2" ;;
		*) command -v "$1" >/dev/null || missing="$missing $2" ;;
		esac
		shift 2
	done
	[ -n "$missing" ] || return 0
	missing=$(echo "$missing" | tr ' ' '\n' | sort -u | tr '\n' ' ')
	missing=${missing# }
	say "these Debian packages are missing: $missing"
	say "install them with: apt-get install --no-install-recommends $missing"
	exit 3
}

cache_dir() {
	if [ -n "${VMSEED_CACHE:-}" ]; then
		echo "$VMSEED_CACHE/vmseed/guest"
	else
		echo "${XDG_CACHE_HOME:-${HOME:?set HOME, XDG_CACHE_HOME or VMSEED_CACHE}/.cache}/vmseed/guest"
	fi
}

# recipe_hash FILE...: what the result depends on, in 16 hexadecimal digits.
recipe_hash() {
	cat "$@" | sha256sum | cut -c1-16
}

# sources: apt source lines for $suite from the mirrors that this host uses
# itself, so that a site's own mirror is honoured and none is named here.
sources() {
	signed=
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[ ! -f "$keyring" ] || signed="[arch=$arch signed-by=$keyring] "
	# shellcheck disable=SC2016 # the $(…) are apt's format, not the shell's
	apt-get indextargets --format '$(CREATED_BY)|$(COMPONENT)|$(ORIGIN)|$(LABEL)|$(CODENAME)|$(REPO_URI)' |
		awk -F'|' -v suite="$suite" -v signed="$signed" '
			$1 != "Packages" || $2 != "main" || $3 != "Debian" { next }
			$4 == "Debian" && $5 !~ /-/ { line["main"] = $6 " " suite }
			$4 == "Debian" && $5 ~ /-updates$/ { line["updates"] = $6 " " suite "-updates" }
			$4 == "Debian-Security" { line["security"] = $6 " " suite "-security" }
			END { for (k in line) print "deb " signed line[k] " main" }' | sort
}

# check_sources FILE: stop when sources() has found nothing.
check_sources() {
	grep -q " $suite main" "$1" && return 0
	say "apt knows no Debian mirror here: this needs a Debian host after apt-get update"
	exit 3
}

# private_apt DIR: an apt that sees no installed package, touches no index of
# the host and runs none of its hooks, but keeps its proxies. Sets APT_CONFIG.
private_apt() {
	mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial"
	sources >"$1/sources.list"
	check_sources "$1/sources.list"
	{
		apt-config dump Acquire | grep '::' || true
		cat <<-END
			APT::Architecture "$arch";
			APT::Architectures { "$arch"; };
			APT::Sandbox::User "";
			Dir::Etc::main "/dev/null";
			Dir::Etc::parts "/dev/null";
			Dir::Etc::sourcelist "$1/sources.list";
			Dir::Etc::sourceparts "-";
			Dir::State "$1/state";
			Dir::State::status "/dev/null";
			Dir::Cache "$1/cache";
			Acquire::Languages "none";
			Acquire::Retries "3";
		END
	} >"$1/apt.conf"
	APT_CONFIG=$1/apt.conf
	export APT_CONFIG
}

# privileged COMMAND...: with root's powers over the files of a guest's tree.
privileged() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		unshare --map-root-user --map-auto "$@"
	fi
}

# need_privileges: exit 3 where privileged() cannot work.
need_privileges() {
	[ "$(id -u)" != 0 ] || return 0
	need newuidmap uidmap unshare util-linux
	unshare --map-root-user --map-auto true 2>/dev/null && return 0
	say "$(id -un) has no subordinate ids, or may not use them: run this as root,"
	say "or let root run: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"
	exit 3
}

# bootstrap PACKAGES HOOK: make the tree $work/root of the packages that a file
# lists, one a line, and run a script of customize hooks on it.
bootstrap() {
	sources >"$work/sources.list"
	check_sources "$work/sources.list"
	apt-config dump Acquire | grep -i proxy >"$work/apt.conf" || true
	say "installing the guest's packages"
	# INITRD=No keeps the kernel package from building an initramfs before
	# everything that belongs into it is there. The kernel fills /dev, and an
	# unprivileged user could not unpack device files.
	INITRD=No mmdebstrap --quiet --variant=minbase --architectures="$arch" \
		--include="$(sed '/^#/d; /^$/d' "$1" | tr '\n' ,)" \
		--aptopt="$work/apt.conf" --aptopt='Acquire::Retries "3"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-include=/usr/share/locale/locale.alias' \
		--customize-hook="$(cat "$2")" \
		--skip=output/dev --format=tar \
		"$suite" "$work/root.tar" "$work/sources.list" >&2
	mkdir "$work/root"
	privileged tar -x --numeric-owner -f "$work/root.tar" -C "$work/root"
	privileged mkdir -p "$work/root/dev"
	rm "$work/root.tar"
}

# clean_work: the owners of a guest's tree are out of an ordinary user's reach.
clean_work() {
	if [ -d "$work/root" ]; then
		privileged rm -rf "$work"
	else
		rm -rf "$work"
	fi
}

# open_work DIR NAME: take the lock of the cache and make a work directory beside the
# results, so that a result appears by one rename. Sets work.
open_work() {
	mkdir -p "$1"
	exec 9>"$1/.lock-$2"
	if ! flock -n 9; then
		say "another build is running, waiting for it"
		flock 9
	fi
	# The lock is ours, so whatever lies here was left by a build that was killed.
	rm -rf "$1/.work-$2".*
	work=$(mktemp -d "$1/.work-$2.XXXXXX")
	trap clean_work EXIT
	trap 'exit 130' HUP INT TERM
}

# The layout of a disk that boots by itself: GPT; partition 15 the EFI system partition, holding the kernel and two boot
# loaders, syslinux for BIOS and systemd-boot for UEFI; partition 1 the root file system, last on the disk so that it can
# grow.
esp_start=1 # all in MiB
esp_size=127
root_start=$((esp_start + esp_size))
gptmbr=/usr/lib/SYSLINUX/gptmbr.bin
efi_loader=/usr/lib/systemd/boot/efi/systemd-bootx64.efi

need_boot_loaders() {
	need sfdisk fdisk mkfs.fat dosfstools mcopy mtools syslinux syslinux "$gptmbr" syslinux "$efi_loader" systemd-boot-efi
}

# make_esp CMDLINE: make $work/esp.img with the kernel and the initramfs of $work/out.
make_esp() {
	esp=$work/esp.img
	truncate -s "${esp_size}M" "$esp"
	mkfs.fat --invariant -F 32 -s 2 -n EFI "$esp" >&2
	mmd -i "$esp" ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries
	mcopy -i "$esp" "$work/out/vmlinuz" "$work/out/initrd.img" ::/

	syslinux --install "$esp"
	mcopy -i "$esp" - ::/syslinux.cfg <<-END
		DEFAULT debian
		LABEL debian
		LINUX /vmlinuz
		INITRD /initrd.img
		APPEND $1
	END

	mcopy -i "$esp" "$efi_loader" ::/EFI/BOOT/BOOTX64.EFI
	echo "timeout 0" | mcopy -i "$esp" - ::/loader/loader.conf
	mcopy -i "$esp" - ::/loader/entries/debian.conf <<-END
		title Debian
		linux /vmlinuz
		initrd /initrd.img
		options $1
	END
}

# assemble DISK: make a disk with $work/esp.img and room for a root file system of $root_size MiB.
assemble() {
	truncate -s "$((root_start + root_size + 1))M" "$1"
	sfdisk --quiet "$1" >&2 <<-END
		label: gpt
		$(basename "$1")15 : start=${esp_start}MiB, size=${esp_size}MiB, type=uefi, attrs=LegacyBIOSBootable
		$(basename "$1")1 : start=${root_start}MiB, size=${root_size}MiB, type=linux
	END
	dd if="$gptmbr" of="$1" conv=notrunc status=none
	dd if="$work/esp.img" of="$1" bs=1M seek="$esp_start" conv=notrunc,sparse status=none
}
