//go:build conformance && linux

package supervisor

import "testing"

// networkd runs the system's own in the guest's namespace until it has learned all that $1 lists, each line a fixed
// string, or two minutes have passed, and prints what it has. A /sys that cannot be written tells it that there is no udev.
const networkd = `set -e
mount --make-rprivate / && mount -o remount,ro /sys
for d in /run /etc/systemd/network; do mkdir -p $d; mount -t tmpfs -o mode=755 none $d; done
printf '[Match]\nName=eth0\n[Network]\nDHCP=yes\nIPv6AcceptRA=yes\n[DHCPv4]\nUseMTU=yes\nUseDomains=yes\n[DHCPv6]\nUseDomains=yes\n' >/etc/systemd/network/eth0.network
chmod 644 /etc/systemd/network/eth0.network
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network /run/systemd/netif
/lib/systemd/systemd-networkd >/run/log 2>&1 &
for round in $(seq 240); do
	(ip address show dev eth0; ip route; ip -6 route; cat /run/systemd/netif/links/* /run/log) >/run/facts 2>/dev/null || true
	echo "$1" | (while read -r wanted; do grep -qF -e "$wanted" /run/facts || exit 1; done) && break
	sleep 0.5
done
cat /run/facts
`

// systemd-networkd, which Ubuntu's guests and images without cloud-init have.
func TestTapNetworkd(t *testing.T) {
	tools(t, "unshare util-linux", "/lib/systemd/systemd-networkd systemd")
	c := connect(t)
	end := c.supervise(t, config(), "")
	defer end()
	want := []string{"mtu 1450", "inet 10.244.1.5/24", "inet6 fd00:10:244:1::5/128", "default via 10.244.1.1 dev eth0", "10.96.0.0/12 via 10.244.1.1",
		"default via fe80::5894:eeff:fef4:105", "fd00:10:244:1::/64 dev eth0", "DNS=10.96.0.10 fd00:10:96::a", "DOMAINS=default.svc.cluster.local cluster.local"}
	lines := ""
	for _, w := range want {
		lines += w + "\n"
	}
	wantAll(t, in(t, c.guest, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", networkd, "networkd", lines[:len(lines)-1]), want...)
}
