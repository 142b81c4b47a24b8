#!/bin/sh
# Makes the volumes in this directory with other people's programs. See README.md.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/openstack/latest" "$tree/Mixed Case" "$tree/many" "$tree/1/2/3/4/5/6/7/8/9/10"
cd "$tree"
printf 'instance-id: foreign\n' >meta-data
printf '#cloud-config\n{}\n' >user-data
printf '#!/bin/sh\n' >openstack/latest/user_data
chmod 0755 openstack/latest/user_data
: >empty
printf mixed >'Mixed Case/CamelCase.Name.txt'
printf deep >1/2/3/4/5/6/7/8/9/10/deep
long=$(printf 'long-name.%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20)end
printf long >"$long"
printf 'ünïcode' >'ünïcode-名前.txt'
dd if=/dev/zero bs=5000 count=1 2>/dev/null | tr '\0' x >5000-bytes
for i in $(seq 100 199); do printf '%s' "$i" >"many/file-number-$i.conf"; done
ln -s ../../meta-data openstack/latest/link
ln -s /openstack/latest absolute
ln -s . "self-$(printf 'x%.0s' $(seq 200))"
ln -s "$(printf '././././././././././././././././%.0s' 1 2 3 4 5 6 7 8)meta-data" long-link
find . -exec touch -h -d '2020-02-29 12:34:56 UTC' {} +
chmod -R u+w .

cd "$work"
# make NAME PROGRAM ARGS...: run the program, which writes the file image, and keep the image as NAME.
make() {
    name=$1
    shift
    rm -f image
    "$@" >log 2>&1 || { cat log >&2; exit 1; }
    gzip -9n <image >"$here/$name.iso.gz"
}
geniso='genisoimage -no-pad -input-charset utf-8 -o image'
make genisoimage-rock-joliet $geniso -V cidata -R -J tree
make genisoimage-rock $geniso -V cidata -R tree
make genisoimage-joliet $geniso -V cidata -J -D tree
make genisoimage-plain $geniso -V CIDATA -D tree
make genisoimage-level4 genisoimage -no-pad -input-charset iso8859-1 -o image -V cidata -iso-level 4 -D tree/openstack
make xorrisofs-rock-joliet xorrisofs -no-pad -V config-2 -R -J -o image tree
make xorrisofs-rock xorrisofs -no-pad -V config-2 -R -o image tree
make xorrisofs-joliet xorrisofs -no-pad -V config-2 --norock -J -o image tree
make xorriso-rrip-1.12 xorriso -compliance new_rr -padding 0 -outdev image -volid config-2 -map tree / -commit
make xorriso-relocated xorriso -compliance deep_paths_off:long_paths_off -padding 0 -outdev image -volid config-2 \
    -map tree / -commit
rm -rf tree/[!mo]* tree/many tree/1
make genisoimage-small $geniso -V cidata -R -J tree
make xorrisofs-small xorrisofs -no-pad -V cidata -R -J -o image tree
