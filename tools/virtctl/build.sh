#!/bin/bash
# Builds KubeVirt's virtctl, unless it is in the cache, and prints the path of the program. The name of its directory is
# a hash of what it is made of.
set -euo pipefail
cd "$(dirname "$0")"
version=$(go list -m -f '{{.Version}}' kubevirt.io/kubevirt)
hash=$({ cat go.mod go.sum main.go build.sh; go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/vmseed/virtctl/$hash
program=$dir/virtctl
if [ ! -x "$program" ]; then
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock 9
	if [ ! -x "$program" ]; then
		echo "building virtctl $version of KubeVirt, which takes some minutes" >&2
		rm -f "$program".*
		# Its versions of Kubernetes' libraries are others than vmseed's, so all of them are compiled for it alone. What is not
		# optimised, and has nothing for debuggers, compiles in half the time.
		flags=()
		for domain in github.com go.opentelemetry.io go.uber.org go.yaml.in golang.org google.golang.org gopkg.in k8s.io kubevirt.io sigs.k8s.io; do
			flags+=("-gcflags=$domain/...=-N -l -dwarf=false")
		done
		go build -p 2 "${flags[@]}" -o "$program.$$" -ldflags "-s -w -X kubevirt.io/client-go/version.gitVersion=$version" .
		mv "$program.$$" "$program"
	fi
fi
echo "$program"
