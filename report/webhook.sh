#!/bin/sh
# Added by vmseed: has cloud-init tell the host how the first boot goes. It changes nothing in this guest outside /run.
# cloud-init reads the file anew in every stage, and it is gone at the next boot: from then on there is nobody to tell.
config=${1:-/run/cloud-init/cloud.cfg}
instance=${2:-/var/lib/cloud/instance}
last=config_scripts_user
grep -qs 'phone[-_]home' "${3:-/etc/cloud/cloud.cfg}" && last=config_phone_home
[ ! -e "$instance/sem/$last" ] || exit 0
grep -qs '^reporting:' "$config" && exit 0
cat >>"$config" <<'END-OF-CONFIG'

@CONFIG@
END-OF-CONFIG
exit 0
