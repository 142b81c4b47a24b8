#!/bin/sh
# Fetch a Debian kernel and its modules, unpacked: all that a guest needs which
# boots from an initramfs made by a test. Takes seconds where disk.img takes a
# minute, and needs no root.
#
# usage: kit.sh [cloud|generic]
#   cloud    linux-image-cloud, the kernel of disk.img (default)
#   generic  linux-image, which also has 9p and AHCI
#
# Standard output: the directory that holds vmlinuz and modules/.
# Exit status: 0 there; 3 something must be installed first; 1 it failed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

flavour=${1:-cloud}
case $flavour in
cloud) meta=linux-image-cloud-$arch ;;
generic) meta=linux-image-$arch ;;
*)
	say "usage: kit.sh [cloud|generic]"
	exit 2
	;;
esac

cache=$(cache_dir)
kit=$cache/kit-$flavour-$(recipe_hash "$here/kit.sh" "$here/lib.sh")
if [ -d "$kit" ]; then
	echo "$kit"
	exit 0
fi

need apt-get apt dpkg-deb dpkg flock util-linux tar tar xz xz-utils sha256sum coreutils
open_work "$cache" "kit-$flavour"
if [ -d "$kit" ]; then
	echo "$kit"
	exit 0
fi

private_apt "$work"
say "reading the package index"
apt-get -qq update >&2
package=$(apt-cache show --no-all-versions "$meta" | sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p')
say "fetching $package"
(cd "$work" && apt-get -qq download "$package" >&2)

mkdir "$work/root" "$work/kit"
dpkg-deb --fsys-tarfile "$work/$package"_*.deb |
	tar -x -C "$work/root" --wildcards --no-same-owner './boot/vmlinuz-*' './lib/modules/*'
mv "$work/root/boot"/vmlinuz-* "$work/kit/vmlinuz"
mv "$work/root/lib/modules"/* "$work/kit/modules"
mv "$work/kit" "$kit"
echo "$kit"
