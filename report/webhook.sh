#!/bin/sh
# Added by vmseed: has cloud-init tell the host how the first boot goes. It changes nothing in this guest outside /run.
# cloud-init reads the file anew in every stage, and it is gone at the next boot: from then on there is nobody to tell.
config=${1:-/run/cloud-init/cloud.cfg}
instance=${2:-/var/lib/cloud/instance}
# The mark of a module that runs once for an instance, behind the user's scripts where the image has it: they may reboot.
mark=config_scripts_user
grep -qs 'ssh[-_]authkey[-_]fingerprints' "${3:-/etc/cloud/cloud.cfg}" && mark=config_ssh_authkey_fingerprints
[ ! -e "$instance/sem/$mark" ] || exit 0
grep -qs '^reporting:' "$config" && exit 0
cat >>"$config" <<'END-OF-CONFIG'

@CONFIG@
END-OF-CONFIG
exit 0
