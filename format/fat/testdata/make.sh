#!/bin/sh
# Makes the volumes in this directory with other people's programs. See README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export MTOOLS_SKIP_CHECK=1 TZ=UTC

mkdir -p tree/openstack/latest tree/many
printf 'instance-id: foreign\n' >tree/meta-data
printf '#cloud-config\n{}\n' >tree/user-data
printf '#!/bin/sh\n' >tree/openstack/latest/user_data
: >tree/empty
printf short >tree/short.txt
printf upper >tree/UPPER.TXT
printf mixed >tree/CamelCase.Name.txt
printf 'ünïcode' >'tree/ünïcode-名前.txt'
dd if=/dev/zero bs=5000 count=1 2>/dev/null | tr '\0' x >tree/5000-bytes
for i in $(seq 100 199); do printf '%s' "$i" >"tree/many/file-number-$i.conf"; done
find . -exec touch -d '2020-02-29 12:34:56 UTC' {} +

# make NAME MKFS-ARGS...: a volume of the tree. Two files are written first and one of them deleted again, so that
# deleted entries are in the way and 5000-bytes has its clusters in two places.
make() {
    name=$1
    shift
    rm -f image
    mkfs.vfat -C image "$@" >/dev/null
    dd if=/dev/zero of=filler bs=2048 count=1 2>/dev/null
    mcopy -i image filler ::gone.txt
    mcopy -i image filler ::another-long-name-that-stays.bin
    mdel -i image ::gone.txt
    mcopy -i image -m tree/5000-bytes ::
    for f in openstack many empty meta-data user-data short.txt UPPER.TXT CamelCase.Name.txt 'ünïcode-名前.txt'; do
        mcopy -i image -s -m "tree/$f" ::
    done
    mdel -i image ::another-long-name-that-stays.bin
    gzip -9n <image >"$here/$name.img.gz"
}
LC_ALL=C.UTF-8
export LC_ALL
make mkfs-fat12 -n CIDATA -i 12345678 1440
make mkfs-fat12-lower -n cidata -F 12 512
make mkfs-fat16 -n CONFIG-2 -F 16 -s 1 4096
make mkfs-fat32 -n CONFIG-2 -F 32 -s 1 34000
make mkfs-sector-4096 -n CIDATA -S 4096 4096
make mkfs-no-label 1440

# A short root directory and no long names at all.
rm -f image
mkfs.vfat -C image -n CIDATA -r 16 64 >/dev/null
mcopy -m -i image tree/UPPER.TXT ::
mmd -i image ::DIR
mcopy -m -i image tree/short.txt ::DIR/SHORT.TXT
gzip -9n <image >"$here/mkfs-small.img.gz"
