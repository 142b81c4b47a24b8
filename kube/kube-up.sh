#!/bin/bash
# Runs a cluster with vmseed on this machine until Ctrl-C: builds what it needs, and gives both nodes the guest images of the
# tests under the names that the examples use, so that nothing is fetched from a registry.
# Further arguments are flags of the nodes, such as --accel kvm. What CNI networks this machine has is left alone, and each VM gets
# a network of its own, unless --cni-conf-dir is among them.
set -euo pipefail
cd "$(dirname "$0")"
state=${XDG_STATE_HOME:-$HOME/.local/state}/vmseed/kube
images=$state/images
mkdir -p "$images/cloud-images.ubuntu.com/xenial/current" "$images/kubevirt"
echo "the guest images …"
debian=$(../e2e/guest/build.sh)
ignition=$(../e2e/guest/build-ignition.sh)
ln -sf "$debian" "$images/debian-12.img"
ln -sf "$debian" "$images/cloud-images.ubuntu.com/xenial/current/xenial-server-cloudimg-amd64-disk1.img"
ln -sf "$debian" "$images/kubevirt/cirros-container-disk-demo:devel.img"
ln -sf "$(dirname "$ignition")/bootable.img" "$images/kubevirt/fedora-cloud-container-disk-demo.img"
echo "vmseed-kube, which takes some minutes the first time …"
go build -o ../bin/vmseed-kube ./cmd/vmseed-kube
go build -o ../bin/kubeup ./internal/cluster/kubeup
# Two clusters of one directory would spoil it for each other, and the port is the same.
if (exec 3<>/dev/tcp/127.0.0.1/16443) 2>/dev/null; then
	echo "something listens on 127.0.0.1:16443 already: is another make kube-up running?" >&2
	exit 1
fi
exec ../bin/kubeup --dir "$state" --program "$PWD/../bin/vmseed-kube" -- --image-dir "$images" "$@"
