#!/bin/sh
# Run a release's ds-identify on a machine described by a directory.
#
#   dsidentify.sh DS-IDENTIFY ROOT BLKID-OUTPUT
#
# ROOT has what the script reads of a guest's sys, proc and etc. BLKID-OUTPUT is
# what "blkid -o export" would print there. The exit status is ds-identify's: 0
# enables cloud-init, 1 disables it.
script=$1
PATH_ROOT=$2
PATH_RUN=$2/run
export PATH_ROOT PATH_RUN
export DEBUG_LEVEL=2 DI_LOG="$PATH_ROOT/log" DI_MAIN=noop
blkid_output=$3
set --

# shellcheck source=/dev/null
. "$script"

# The two questions that ds-identify asks of programs.
blkid() {
	cat "$blkid_output"
}
detect_virt() {
	_RET=kvm
	return 0
}

main --force
