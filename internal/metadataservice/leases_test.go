package metadataservice

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dnsmasqFile has leases as dnsmasq 2.90 writes them: of IPv4 with and without a name, one that never expires, one of another
// hardware than Ethernet, and those of DHCPv6 behind the server's own id.
const dnsmasqFile = `1700000600 52:54:00:AA:00:01 192.168.122.11 web 01:52:54:00:aa:00:01
1700000900 52:54:00:aa:00:02 192.168.122.12 * ff:56:50:4d:98:00:02:00:00:ab:11:3b
0 52:54:00:aa:00:03 192.168.122.13 never *
1700000900 06-01-02-03 192.168.122.14 * *
duid 00:01:00:01:2d:0b:3e:6c:52:54:00:f1:5d:9e
1700000900 4893201 fd00::12 web 00:01:00:01:2d:0b:3e:70:52:54:00:aa:00:01
`

const libvirtFile = `[
  {
    "ip-address": "192.168.122.11",
    "mac-address": "52:54:00:aa:00:01",
    "hostname": "web",
    "client-id": "01:52:54:00:aa:00:01",
    "expiry-time": 1700000600
  },
  {
    "ip-address": "fd00::12",
    "mac-address": "52:54:00:aa:00:01",
    "expiry-time": 1700000900
  },
  {
    "ip-address": "192.168.122.13",
    "mac-address": "52:54:00:aa:00:03"
  }
]
`

func TestParseLeases(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	a := netip.MustParseAddr
	for name, tt := range map[string]struct {
		text string
		want []lease
		bad  int
	}{
		"dnsmasq": {dnsmasqFile, []lease{{"52:54:00:aa:00:01", a("192.168.122.11"), at(1700000600)},
			{"52:54:00:aa:00:02", a("192.168.122.12"), at(1700000900)}, {"52:54:00:aa:00:03", a("192.168.122.13"), time.Time{}}}, 0},
		"libvirt": {libvirtFile, []lease{{"52:54:00:aa:00:01", a("192.168.122.11"), at(1700000600)},
			{"52:54:00:aa:00:03", a("192.168.122.13"), time.Time{}}}, 0},
		"nothing":         {"", nil, 0},
		"no lease":        {"[\n]\n", nil, 0},
		"CRLF":            {"0 52:54:00:aa:00:01 192.0.2.1 x *\r\n", []lease{{"52:54:00:aa:00:01", a("192.0.2.1"), time.Time{}}}, 0},
		"cut off":         {"0 52:54:00:aa:00:01 192.0.2.1 x *\n0 52:54:00:aa:0", []lease{{"52:54:00:aa:00:01", a("192.0.2.1"), time.Time{}}}, 1},
		"no time":         {"x 52:54:00:aa:00:01 192.0.2.1 x *", nil, 1},
		"negative":        {"-1 52:54:00:aa:00:01 192.0.2.1 x *", nil, 1},
		"no address":      {"0 52:54:00:aa:00:01 web x *", nil, 1},
		"no MAC":          {"0 52:54:00:aa:00 192.0.2.1 x *", nil, 1},
		"broken JSON":     {`[{"ip-address": "192.0.2.1"`, nil, 1},
		"JSON, no MAC":    {`[{"ip-address": "192.0.2.1"}]`, nil, 1},
		"another JSON":    {`{"leases": []}`, nil, 1},
		"NUL in the file": {"\x00\x00", nil, 1},
	} {
		got, bad := parseLeases([]byte(tt.text))
		if len(got) != len(tt.want) || len(bad) != tt.bad {
			t.Errorf("%s: %v, %q", name, got, bad)
			continue
		}
		for i := range got {
			if got[i].mac != tt.want[i].mac || got[i].address != tt.want[i].address || !got[i].expires.Equal(tt.want[i].expires) {
				t.Errorf("%s: got %v, want %v", name, got[i], tt.want[i])
			}
		}
	}
}

// TestLeaseFiles reads what changes, and lets leases end.
func TestLeaseFiles(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	var log bytes.Buffer
	f := newLeaseFiles([]string{one, two}, slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Unix(1700000000, 0)
	if !f.changed(now) || len(f.valid(now)) != 0 || f.changed(now) {
		t.Error("files that are not there")
	}
	if strings.Count(log.String(), "leases cannot be read") != 2 {
		t.Errorf("the log has %s", log.String())
	}
	write(t, one, dnsmasqFile)
	write(t, two, libvirtFile)
	if !f.changed(now) || len(f.valid(now)) != 5 || f.changed(now) {
		t.Errorf("leases %v", f.valid(now))
	}
	if now = time.Unix(1700000600, 0); !f.changed(now) || len(f.valid(now)) != 3 || f.changed(now) {
		t.Errorf("when two leases have ended: %v", f.valid(now))
	}
	write(t, one, dnsmasqFile[:100])
	if !f.changed(now) || !strings.Contains(log.String(), one) {
		t.Errorf("the log has %s", log.String())
	}
	if err := os.Remove(two); err != nil {
		t.Fatal(err)
	}
	if !f.changed(now) || len(f.valid(now)) != 0 {
		t.Errorf("leases of a file that is gone: %v", f.valid(now))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	// A new file, so that one of the same size and time is not taken for the old one.
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func FuzzLeases(f *testing.F) {
	f.Add([]byte(dnsmasqFile))
	f.Add([]byte(libvirtFile))
	f.Fuzz(func(t *testing.T, data []byte) {
		leases, _ := parseLeases(data)
		for _, l := range leases {
			if _, ok := ethernet(l.mac); !ok || !l.address.IsValid() {
				t.Errorf("%+v", l)
			}
		}
	})
}
