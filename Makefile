# make build          bin/vmseed
# make demo           boot the example pod and show what the guest made of it
# make test           everything: unit, cross, conformance, e2e, interop, kube; ends with a table
# make unit           the tests that need nothing but Go
# make conformance    the tests that ask cloud-init, xorriso, Linux and others
# make e2e            the tests that boot whole guests
# make virtctl        build KubeVirt's command virtctl, which the tests of the module kube run, and print its path
# make crds           write the definitions of KubeVirt's kinds (kube/config/crd) anew
# make deb            build the Debian package of a node; make deb-check installs it on a copy of this host, as root
# make controller-image  write the controller's container image, as an OCI layout
# make kube           the tests of the module kube, on a control plane that it builds first
# make kube-extended  the longest of them; make test runs them when it has the time
# make interop        other people's clients, run against vmseed serve and booted guests
# make web            the page: types, units, and that daemon/web/dist is what daemon/web/ui gives
# make page           build daemon/web/dist anew
# make screenshots    click through the page with real guests, and make the pictures of docs/how-to/page.md anew
# make kube-up        run a cluster with vmseed on this machine until Ctrl-C; FLAGS are those of its nodes
# make fuzz           run every fuzz target for FUZZTIME (60s)
# make bench          benchmarks, beside other tools and libraries
# make golden         rewrite the expected files of tests and the generated docs
# make tools          install what conformance and e2e need (Debian, as root)
# make guest          build the Debian guest image of e2e and demo
# make guest-ignition build the Debian guest image whose initramfs runs Ignition

SHELL := /bin/bash
.DEFAULT_GOAL := build
.PHONY: check-go build tools guest guest-ignition demo unit cross conformance e2e interop screenshots page web kube kube-extended kube-up virtctl crds deb deb-check controller-image fuzz bench golden test clean

FUZZTIME ?= 60s
E2E_TIMEOUT ?= 60m
# After so many seconds of make test, kube-extended is left to those who have the time.
EXTENDED_WITHIN ?= 3600

# Every fuzz target, as directory:function. internal/archtest holds it complete.
FUZZ = \
	./daemon/mask:FuzzMask \
	./daemon/ovirtapi:FuzzSearch \
	./daemon/server:FuzzExpect \
	./datasource/internal/ignition:FuzzCompose \
	./datasource/internal/translate:FuzzCloudConfig \
	./datasource/internal/userdata:FuzzUserData \
	./delivery/metadata:FuzzFile \
	./delivery/metadata:FuzzPath \
	./format/cloudconfig:FuzzMerge \
	./format/cloudconfig:FuzzParse \
	./format/cloudconfig:FuzzRecognise \
	./format/cloudconfig:FuzzValue \
	./format/cloudconfig/lint:FuzzLint \
	./format/element:FuzzJSON \
	./format/element:FuzzXML \
	./format/fat:FuzzReader \
	./format/fat:FuzzWriteRead \
	./format/ignconfig:FuzzParse \
	./format/ignconfig:FuzzParseButane \
	./format/iso9660:FuzzReader \
	./format/iso9660:FuzzWriteRead \
	./format/kubeobject:FuzzRead \
	./format/mimepart:FuzzMultipart \
	./format/netconfig:FuzzParse \
	./format/qcow2:FuzzParse \
	./format/tree:FuzzTree \
	./frontend/cniresult:FuzzRead \
	./frontend/kubevirt:FuzzRead \
	./frontend/native:FuzzNative \
	./frontend/native:FuzzNativeText \
	./frontend/ovirt:FuzzRead \
	./frontend/plain:FuzzPlain \
	./frontend/virtlet:FuzzRead \
	./image:FuzzLayers \
	./image:FuzzParseReference \
	./internal/autoconf:FuzzAnswer \
	./internal/bounded:FuzzJSON \
	./internal/bounded:FuzzYAML \
	./internal/metadataservice:FuzzLeases \
	./machine:FuzzPlace \
	./report:FuzzHTTP \
	./report:FuzzParse

# Debian packages that the tests need beside those which guests and judges list.
# Of names with a comma between them any will do.
PACKAGES = amazon-ec2-utils busybox,busybox-static ca-certificates chromium cloud-guest-utils cloud-image-utils containernetworking-plugins curl dosfstools e2fsprogs fonts-dejavu-core genisoimage iproute2 isc-dhcp-client libvirt-clients libvirt-daemon libvirt-daemon-driver-qemu libxml2-utils \
	mtools ndisc6 nftables openssh-client p7zip-full python3-boto3 qemu-efi-aarch64 qemu-guest-agent qemu-system-arm skopeo swtpm xorriso

SUMMARY = go run ./internal/testsummary
# The packages with tests behind a build tag.
tagged = $(shell grep -rl --include='*_test.go' '^//go:build .*$(1)' . | grep -vE '^./(bench|interop|kube|tools)/' | xargs -r -n1 dirname | sort -u)

check-go:
	@command -v go >/dev/null || { echo "vmseed needs Go 1.26 or newer; there is no go in PATH" >&2; exit 1; }
	@version=$$(go env GOVERSION); minor=$${version#go1.}; minor=$${minor%%[!0-9]*}; \
	if [ "$${version#go1.}" = "$$version" ] || [ "$${minor:-0}" -lt 26 ]; then \
		echo "vmseed needs Go 1.26 or newer; this is $$version" >&2; exit 1; fi

build: check-go
	go build -trimpath -o bin/vmseed ./cmd/vmseed

tools:
	@if ! command -v dpkg-query >/dev/null; then \
		echo "This is no Debian system; see the package lists named in Makefile (target tools)" >&2; exit 1; fi; \
	missing=; for p in $$(sed '/^#/d; /^$$/d' e2e/guest/packages.txt internal/judge/packages.txt | sort -u) $(PACKAGES); do \
		dpkg-query -W -f '$${Status}' $${p//,/ } 2>/dev/null | grep -q 'ok installed' || missing="$$missing $${p%%,*}"; done; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "Missing; run as root: apt-get install$$missing" >&2; exit 1; fi; \
	echo "installing$$missing"; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get -q -o DPkg::Lock::Timeout=600 update && \
	apt-get -q -y -o DPkg::Lock::Timeout=600 --no-install-recommends install $$missing

guest:
	./e2e/guest/build.sh

guest-ignition:
	./e2e/guest/build-ignition.sh

demo: build tools guest
	./e2e/demo.sh

unit: check-go
	@$(SUMMARY) step unit gofmt bash -c 'out=$$(gofmt -l .); echo -n "$$out"; [ -z "$$out" ]'
	@$(SUMMARY) step unit vet go vet -tags conformance,e2e ./...
	@$(SUMMARY) step unit bench bash -c 'cd bench && go vet ./... && go test ./...'
	@$(SUMMARY) test unit -count=1 -vet=off -shuffle=on ./...

# The command builds everywhere, and what a user without QEMU needs also with its
# tests, for one architecture of each system. The result is not run, so the compiler
# need not optimise, except for this platform, where the other phases have compiled
# it already.
PORTABLE = . ./cmd/... ./datasource/... ./delivery/... ./diag/... ./format/... ./frontend/... ./image/... ./machine/... \
	./secret/... ./seed/... ./internal/atomicfile/... ./internal/bounded/... ./internal/cli/...
cross: check-go
	@host=$$(go env GOHOSTOS)/$$(go env GOHOSTARCH); \
	for os in linux darwin windows; do for arch in amd64 arm64; do \
		target=(env GOOS=$$os GOARCH=$$arch); \
		[ $$os/$$arch = $$host ] || target+=(CGO_ENABLED=0 "GOFLAGS='-gcflags=all=-N -l' '-ldflags=-s -w'"); \
		$(SUMMARY) step cross $$os/$$arch "$${target[@]}" go build -o /dev/null ./cmd/vmseed || exit 1; \
		case $$os/$$arch in darwin/amd64 | linux/arm64 | windows/arm64) continue ;; esac; \
		$(SUMMARY) step cross $$os/$$arch-tests "$${target[@]}" go vet $(PORTABLE) || exit 1; \
	done; done

conformance: check-go
	@$(SUMMARY) test conformance -count=1 -vet=off -timeout 30m -tags conformance $(call tagged,conformance)

# One package at a time: the tests inside boot two guests at once. What is vetted once, as unit does, need not be again.
e2e: check-go
	@$(SUMMARY) test e2e -count=1 -vet=off -timeout $(E2E_TIMEOUT) -p 1 -tags e2e $(call tagged,e2e)

# The page of the daemon is built from daemon/web/ui into daemon/web/dist, which is embedded and kept in the repository, so
# that a build of the program needs no npm.
NPM = npm --no-audit --no-fund --prefix
page:
	$(NPM) daemon/web/ui ci
	cd daemon/web/ui && node build.mjs

web:
	@$(SUMMARY) step web packages $(NPM) daemon/web/ui ci
	@$(SUMMARY) step web types bash -c 'cd daemon/web/ui && npx tsc --noEmit'
	@$(SUMMARY) step web units bash -c 'cd daemon/web/ui && node test.mjs'
	@$(SUMMARY) step web bundle bash -c 'cd daemon/web/ui && rm -rf ../../../bin/dist && node build.mjs ../../../bin/dist && \
		{ diff -rq ../dist ../../../bin/dist || { echo "daemon/web/dist is not what its sources give: make page" >&2; exit 1; }; }'

# A module of its own, whose clients take a minute to compile. Its vet is that of go test, which compiles them once.
interop: check-go
	@$(SUMMARY) step interop browser $(NPM) interop/browser ci
	@$(SUMMARY) test interop -C interop -count=1 -timeout $(E2E_TIMEOUT) -parallel 2 -tags e2e ./...

# Pictures of every page go to bin/screenshots whenever the tests of the page run; these are the few that the how-to shows.
screenshots: check-go
	$(NPM) interop/browser ci
	VMSEED_ILLUSTRATIONS=$(CURDIR)/docs/how-to/images go test -C interop -count=1 -timeout $(E2E_TIMEOUT) -parallel 2 -tags e2e -run '^TestPage' .
	@large=$$(find docs/how-to/images -size +60k) && { [ -z "$$large" ] || { echo "larger than 60 KiB: $$large" >&2; exit 1; }; }

# A module of its own as well. The control plane of Kubernetes is built once, which takes some minutes.
crds: check-go
	cd tools/crdgen && go run .

deb: check-go
	@kube/packaging/build.sh bin

deb-check: check-go
	@package=$$(kube/packaging/build.sh bin) && kube/packaging/check.sh "$$package"

controller-image: check-go
	cd kube && CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o ../bin/vmseed-kube ./cmd/vmseed-kube
	rm -rf bin/controller-image
	cd tools/ociimage && go run . -arch "$$(go env GOARCH)" -program ../../bin/vmseed-kube -out ../../bin/controller-image

kube: check-go
	@$(SUMMARY) step kube control-plane ./tools/controlplane/build.sh
	@$(SUMMARY) test kube -C kube -count=1 -timeout $(E2E_TIMEOUT) -p 2 '-ldflags=-s -w' -tags conformance,e2e ./...

# What takes longest of the module: KubeVirt's own client, which takes minutes to build, and guests on CNI networks with their
# persistent disks.
kube-extended: check-go
	@$(SUMMARY) step kube-extended control-plane ./tools/controlplane/build.sh
	@$(SUMMARY) step kube-extended virtctl ./tools/virtctl/build.sh
	@$(SUMMARY) test kube-extended -C kube -count=1 -timeout $(E2E_TIMEOUT) -p 2 '-ldflags=-s -w' -tags conformance,e2e,extended \
		-run '^(TestVirtctl|TestGuests|TestDiscovery|TestLifecycle|TestConsole|TestForward|TestGuest|TestPause|TestRefused|TestCallers)$$' ./subresources ./e2e ./e2e/network

virtctl: check-go
	@./tools/virtctl/build.sh

kube-up: check-go tools
	@echo "the control plane …"; ./tools/controlplane/build.sh >/dev/null
	@./kube/kube-up.sh $(FLAGS)

fuzz: check-go
	@set -e; for target in $(FUZZ); do echo "== $$target"; \
		go test -run '^$$' -fuzz "^$${target##*:}$$" -fuzztime $(FUZZTIME) "$${target%:*}"; done

bench: check-go
	go test -run '^$$' -bench . -benchmem ./format/... ./image
	cd bench && go run . && go run ./imds
	cd kube && dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && go build -o "$$dir" ./cmd/vmseed-kube && go run ./bench -program "$$dir/vmseed-kube"
	cd interop && go test -run '^$$' -bench . -benchmem ./...

# Packages whose tests have the flag -update.
golden: check-go
	go test $$(grep -rlE --include='*_test.go' 'flag.Bool\("update"' . | grep -v '^./kube/' | xargs -n1 dirname | sort -u) -update
	cd kube && go test $$(grep -rlE --include='*_test.go' 'flag.Bool\("update"' . | xargs -n1 dirname | sort -u) -update

# All phases run even when one fails; the table at the end fails then.
test: check-go
	@rm -rf bin/summary && mkdir -p bin/summary && touch bin/summary/begun
	-@$(SUMMARY) step tools tools $(MAKE) --no-print-directory tools
	-@$(MAKE) --no-print-directory unit
	-@$(MAKE) --no-print-directory web
	-@$(MAKE) --no-print-directory cross
	-@$(MAKE) --no-print-directory conformance
	-@$(SUMMARY) step guest image $(MAKE) --no-print-directory guest
	-@$(SUMMARY) step guest ignition $(MAKE) --no-print-directory guest-ignition
	-@$(MAKE) --no-print-directory e2e
	-@$(MAKE) --no-print-directory interop
	-@$(MAKE) --no-print-directory kube
	-@if [ $$(($$(date +%s) - $$(stat -c %Y bin/summary/begun))) -lt $(EXTENDED_WITHIN) ]; then $(MAKE) --no-print-directory kube-extended; else \
		$(SUMMARY) step kube-extended 'left out: this run has taken over $(EXTENDED_WITHIN) s; make kube-extended runs it' true; fi
	@$(SUMMARY) total tools unit web cross conformance guest e2e interop kube kube-extended

clean:
	rm -rf bin
