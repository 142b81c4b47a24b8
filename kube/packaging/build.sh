#!/bin/bash
# Builds the Debian package of a node into DIR (bin/ of the repository unless given) and prints its path.
# VERSION and ARCH may be set; the same source gives the same bytes.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../../bin}")
cd "$(dirname "$0")"
export ARCH=${ARCH:-$(go env GOARCH)}
export VERSION=${VERSION:-0.1.0}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct -- .. 2>/dev/null || echo 0)}
case $ARCH in # a node runs guests of its own architecture
amd64) export QEMU=qemu-system-x86 FIRMWARE=ovmf ;;
arm64) export QEMU=qemu-system-arm FIRMWARE=qemu-efi-aarch64 ;;
*) echo "build.sh: no node runs on $ARCH" >&2 && exit 1 ;;
esac
mkdir -p "$out"
export WORK
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export BINARY=${BINARY:-$WORK/vmseed-kube}
if [ ! -e "$BINARY" ]; then
	(cd .. && CGO_ENABLED=0 GOARCH=$ARCH go build -trimpath -ldflags "-s -w" -o "$BINARY" ./cmd/vmseed-kube)
fi
program=$BINARY
if [ "$ARCH" != "$(go env GOHOSTARCH)" ]; then # what it says of itself comes from one that runs here
	program=$WORK/host
	(cd .. && GOARCH=$(go env GOHOSTARCH) go build -o "$program" ./cmd/vmseed-kube)
fi
"$program" completion bash >"$WORK/completion"
{
	echo '.TH VMSEED-KUBE 1'
	echo '.SH NAME'
	echo 'vmseed-kube \- Kubernetes node whose pods are virtual machines'
	echo '.SH SYNOPSIS'
	echo '.B vmseed-kube node'
	echo '[\fIflags\fR]'
	for command in "" node; do
		echo ".SH VMSEED-KUBE ${command^^}"
		echo '.nf'
		"$program" $command --help | sed -e 's/\\/\\\\/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"
		echo '.fi'
	done
} | gzip -9n >"$WORK/vmseed-kube.1.gz"
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
printf 'vmseed-kube (%s) unstable; urgency=medium\n\n  * See https://github.com/vmseed/vmseed/blob/main/CHANGELOG.md\n\n -- The vmseed developers <vmseed@users.noreply.github.com>  %s\n' \
	"$VERSION" "$date" | gzip -9n >"$WORK/changelog.gz"
{
	printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: vmseed\nSource: https://github.com/vmseed/vmseed\n\n'
	printf 'Files: *\nCopyright: 2026 The vmseed authors\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
} >"$WORK/copyright"
package=$out/vmseed-kube_${VERSION}_${ARCH}.deb
nfpm=${NFPM:-$WORK/nfpm}
[ -n "${NFPM:-}" ] || (cd ../../tools/nfpm && go build -o "$nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm)
"$nfpm" package --config nfpm.yaml --packager deb --target "$package" >&2
echo "$package"
