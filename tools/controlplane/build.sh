#!/bin/bash
# Builds the control plane of Kubernetes, unless it is in the cache, and prints the path of the program. The name of its
# directory is a hash of what it is made of. The first build takes some minutes and 3 GiB of memory. Where no etcd is
# installed, that of Debian is unpacked beside it: installing the package would start a server on this machine.
# Exit status: 0 there; 3 something must be installed first; 1 it failed.
set -euo pipefail
cd "$(dirname "$0")"
version=v$(sed -n 's|^\tk8s.io/kubernetes v||p' go.mod)
hash=$({ cat go.mod go.sum main.go build.sh; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/vmseed/controlplane/$hash
program=$dir/controlplane
if [ ! -x "$program" ] || [ ! -x "$dir/etcd" ]; then
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock 9
	if [ ! -x "$program" ]; then
		echo "building the control plane of Kubernetes $version, which takes some minutes" >&2
		rm -f "$program".*
		minor=${version#v1.}
		info=k8s.io/component-base/version
		# -p 2: the largest packages need a gigabyte each.
		go build -p 2 -o "$program.$$" -ldflags "-s -w -X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=${minor%%.*} \
			-X k8s.io/client-go/pkg/version.gitVersion=$version" .
		for name in kube-apiserver kube-scheduler kube-controller-manager kubectl; do ln -sf controlplane "$dir/$name"; done
		mv "$program.$$" "$program"
	fi
	if [ ! -x "$dir/etcd" ]; then
		if etcd=$(command -v etcd); then
			ln -sf "$etcd" "$dir/etcd"
		elif command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
			rm -rf "$dir/unpacked" && mkdir "$dir/unpacked"
			(cd "$dir/unpacked" && apt-get -q download etcd-server >&2 && dpkg-deb -x etcd-server_*.deb .)
			mv "$dir/unpacked/usr/bin/etcd" "$dir/etcd"
			rm -rf "$dir/unpacked"
		else
			echo "there is no etcd; install it (the package etcd-server on Debian)" >&2
			exit 3
		fi
	fi
fi
echo "$program"
