#!/bin/sh
# Run Ignition's stages fetch and files on a small root file system. Its stages
# for disks and mounts are never run: they would meet this machine's disks.
#
#   ignition.sh IGNITION DIR PLATFORM
#
# DIR holds the config as config.ign, which the platform file reads, and the
# arguments of the kernel as cmdline. Needs root's rights over files, if only
# those of a user name space, and a mount name space of its own. Printed: a tar
# archive of the tree; on standard error what Ignition logs. Exit status: 0; 11
# fetch failed; 12 files failed.
set -eu
umask 022
ignition=${1:?}
dir=${2:?}
platform=${3:?}
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
# The users and groups of Debian 12.
for user in root:0:0:/root:/bin/bash daemon:1:1:/usr/sbin: bin:2:2:/bin: sys:3:3:/dev: games:5:60:/usr/games: man:6:12:/var/cache/man: \
	mail:8:8:/var/mail: proxy:13:13:/bin: www-data:33:33:/var/www: backup:34:34:/var/backups: nobody:65534:65534:/nonexistent:; do
	name=${user%%:*} rest=${user#*:}
	shell=${rest##*:} rest=${rest%:*}
	echo "$name:x:${rest%:*}:$name:${rest##*:}:${shell:-/usr/sbin/nologin}"
done | put /etc/passwd
for group in root:0 daemon:1 bin:2 sys:3 adm:4 tty:5 disk:6 lp:7 mail:8 news:9 uucp:10 man:12 proxy:13 kmem:15 \
	dialout:20 fax:21 voice:22 cdrom:24 floppy:25 tape:26 sudo:27 audio:29 dip:30 www-data:33 backup:34 operator:37 \
	list:38 irc:39 src:40 shadow:42 utmp:43 video:44 sasl:45 plugdev:46 staff:50 games:60 users:100 _ssh:101 input:102 \
	sgx:103 kvm:104 render:105 messagebus:106 systemd-network:998 systemd-journal:999 nogroup:65534; do
	echo "${group%:*}:x:${group#*:}:"
done | put /etc/group
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
mount --bind "$dir/cmdline" /proc/cmdline
stage() {
	"$ignition" -platform "$platform" -root "$root" -config-cache "$dir/cache.json" -state-file "$dir/state" \
		-neednet "$dir/neednet" -log-to-stdout -stage "$1" >&2
}
status=0
stage fetch || status=11
[ "$status" != 0 ] || stage files || status=12
tar -c --numeric-owner -C "$root" .
exit "$status"
