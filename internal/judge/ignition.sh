#!/bin/sh
# Run Ignition's stages fetch and files on a small root file system. Its stages
# for disks and mounts are never run: they would meet this machine's disks.
#
#   ignition.sh IGNITION DIR
#
# DIR holds the config as config.ign. Needs root's rights over files, if only
# those of a user name space, and a mount name space of its own. Printed: a tar
# archive of the tree; on standard error what Ignition logs. Exit status: 0; 11
# fetch failed; 12 files failed.
set -eu
umask 022
ignition=${1:?}
dir=${2:?}
# Ignition writes a user's keys as that user, who has to reach them.
root=/mnt
mount -t tmpfs -o mode=0755 tmpfs "$root"
mkdir "$dir/bin"

# put FILE: standard input becomes a file of the tree.
put() {
	mkdir -p "$(dirname "$root$1")"
	cat >"$root$1"
}

# As much of a Debian image as useradd and Ignition look at.
mkdir -p "$root/root" "$root/home" "$root/var" "$root/usr/bin" "$root/etc/skel" "$root/etc/systemd/system"
put /etc/passwd <<PASSWD
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
PASSWD
put /etc/group <<GROUP
root:x:0:
daemon:x:1:
adm:x:4:
sudo:x:27:
users:x:100:
GROUP
sed 's/:.*/:*:19000:0:99999:7:::/' "$root/etc/passwd" | put /etc/shadow
sed 's/:.*/:*::/' "$root/etc/group" | put /etc/gshadow
put /etc/login.defs <<DEFS
UID_MIN 1000
UID_MAX 60000
SYS_UID_MIN 100
SYS_UID_MAX 999
GID_MIN 1000
GID_MAX 60000
SYS_GID_MIN 100
SYS_GID_MAX 999
USERGROUPS_ENAB yes
ENCRYPT_METHOD YESCRYPT
DEFS
echo localhost | put /etc/hostname

# Debian compiles relabelling into Ignition, although its guests have no policy.
printf 'SELINUX=disabled\nSELINUXTYPE=none\n' | put /etc/selinux/config
printf '#!/bin/sh\ncat >/dev/null\n' >"$dir/bin/setfiles"
chmod 755 "$dir/bin/setfiles"

PATH=$dir/bin:/usr/sbin:/usr/bin:/sbin:/bin
IGNITION_CONFIG_FILE=$dir/config.ign
IGNITION_WRITE_AUTHORIZED_KEYS_FRAGMENT=false
export PATH IGNITION_CONFIG_FILE IGNITION_WRITE_AUTHORIZED_KEYS_FRAGMENT
stage() {
	"$ignition" -platform file -root "$root" -config-cache "$dir/cache.json" -state-file "$dir/state" \
		-neednet "$dir/neednet" -log-to-stdout -stage "$1" >&2
}
status=0
stage fetch || status=11
[ "$status" != 0 ] || stage files || status=12
tar -c --numeric-owner -C "$root" .
exit "$status"
