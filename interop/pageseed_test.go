//go:build e2e

package interop

import (
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

// webName is the machine that is made by clicking.
const webName = "web"

// TestPageSeed004 clicks through both test cases of oVirt's page on cloud-init, and looks into the guest after each.
func TestPageSeed004(t *testing.T) {
	t.Parallel()
	requireBrowser(t)
	requireGuests(t)
	s := serve(t, debianImages(t))
	dataCD(t, s)
	key := keyPair(t)

	begin := now()
	s.browse(t, "seed004.mjs", "PAGE_PART=first", "PAGE_KEY="+key)
	t.Logf("first test case: %.0f s", since(begin))
	s.examine(t, webName, testguest.Login{User: "alice", Password: "changed-by-hand"}, []testguest.Check{
		is("cloud-init's own verdict", "cloud-init status", "status: done"),
		is("host name", "hostname", "web-1"),
		is("time zone", "readlink -f /etc/localtime", "/usr/share/zoneinfo/Europe/Berlin"),
		is("key", "awk '{print $NF}' /home/alice/.ssh/authorized_keys", "operator@interop"),
		is("custom script", "cat /etc/typed-by-hand", "in the custom script"),
		is("no CD", "ls /dev/disk/by-label | grep -c -x DATA", "0"),
	})

	begin = now()
	s.browse(t, "seed004.mjs", "PAGE_PART=second", "PAGE_KEY="+key)
	t.Logf("test case with a CD: %.0f s", since(begin))
	if !testguest.Refuses(t, s.console(t, webName), testguest.Login{User: "alice", Password: "changed-by-hand"}) {
		t.Error("the first password still opens the console")
	}
	s.examine(t, webName, testguest.Login{User: "alice", Password: "changed-again"}, []testguest.Check{
		is("the CD", "ls /dev/disk/by-label | grep -c -x DATA", "1"),
		is("the seed beside it", "ls /dev/disk/by-label | grep -c -i -x cidata", "1"),
		is("a new instance", "ls /var/lib/cloud/instances | wc -l", "2"),
		is("host name", "hostname", "web-2"),
		is("time zone", "readlink -f /etc/localtime", "/usr/share/zoneinfo/Asia/Tokyo"),
		is("static address", "ip -o -4 address show dev eth0 | awk '{print $4}'", "192.168.100.10/24"),
		is("custom script", "cat /etc/typed-by-hand", "in the second script"),
	})
	s.browse(t, "seed004.mjs", "PAGE_PART=end")
}

// TestPageSeed001 pastes the config of oVirt's page on Ignition into the custom script of a new machine.
func TestPageSeed001(t *testing.T) {
	t.Parallel()
	requireBrowser(t)
	requireGuests(t)
	s := serve(t, ignitionImages(t))
	begin := now()
	s.browse(t, "seed001.mjs", "PAGE_IMAGE="+fedoraCoreOS, "PAGE_IGNITION="+ignition)
	t.Logf("seed 001: %.0f s", since(begin))
	if !testguest.Refuses(t, s.console(t, "fcosvm"), testguest.Login{User: "core", Password: "changeyou"}) {
		t.Error("any password opens the console")
	}
	s.examine(t, "fcosvm", testguest.Login{User: "core", Password: "changeme"}, []testguest.Check{
		is("password hash of core", "getent shadow core | cut -d: -f2", "$y$j9T$skCa2x5kFis7p58gYjz3C1$ykelHfCckRToZKAVYK7GDdLOCi3pcF2WMioI.vmYkj5"),
		is("host name", "hostname", "fcosvm"),
	})
}
