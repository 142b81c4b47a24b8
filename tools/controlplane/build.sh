#!/bin/bash
# Builds the control plane of Kubernetes, unless it is in the cache, and prints the path of the program. The name of its
# directory is a hash of what it is made of. The first build takes some minutes and 3 GiB of memory.
set -euo pipefail
cd "$(dirname "$0")"
version=v$(sed -n 's|^\tk8s.io/kubernetes v||p' go.mod)
hash=$({ cat go.mod go.sum main.go build.sh; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/vmseed/controlplane/$hash
program=$dir/controlplane
if [ ! -x "$program" ]; then
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
fi
echo "$program"
