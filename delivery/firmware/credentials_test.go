package firmware

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// credentials makes a seed of credentials with sizes by their names.
func credentials(sizes map[string]int) seed.Seed {
	s := seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, DataSource: "credentials"}
	for name, n := range sizes {
		s.Firmware.Credentials = append(s.Firmware.Credentials, seed.Credential{Name: name, Content: secret.New(strings.Repeat("\x00", n))})
	}
	return s
}

// TestCredentials: each is a private file that holds one string, and reads back as it was, empty ones and binary ones too.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	want := map[string]string{"ssh.authorized_keys.root": "ssh-ed25519 AAAA canary\n", "systemd.extra-unit.off.service": "", "binary": "\x00=\xff\n"}
	s := seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}}
	for name, content := range want {
		s.Firmware.Credentials = append(s.Firmware.Credentials, seed.Credential{Name: name, Content: secret.New(content)})
	}
	r, err := SMBIOS().Deliver(t.Context(), s, delivery.Target{Path: filepath.Join(dir, "seed.smbios")})
	if err != nil || len(r.Attachments) != len(want) {
		t.Fatalf("%d attachments, %v", len(r.Attachments), err)
	}
	for _, a := range r.Attachments {
		text, err := os.ReadFile(a.Path)
		if err != nil {
			t.Fatal(err)
		}
		if a.Kind != seed.SMBIOSRow || a.Type != 11 || a.Value != "" {
			t.Errorf("%s is attached as %+v", a.Name, a)
		}
		if w := "io.systemd.credential.binary:" + a.Name + "=" + base64.StdEncoding.EncodeToString([]byte(want[a.Name])); string(text) != w {
			t.Errorf("%s: the string is %q, not %q", a.Name, text, w)
		}
		if info, err := os.Stat(a.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", a.Name, info.Mode(), err)
		}
		back, err := SMBIOS().Open(a.Path)
		if err != nil || len(back.Firmware.Credentials) != 1 || back.Firmware.Credentials[0].Content.Reveal() != want[a.Name] {
			t.Errorf("%s does not read back: %v", a.Name, err)
		}
	}
	if err := SMBIOS().Remove(t.Context(), r); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestLimits are those of the tables, of the firmware configuration device and of systemd. What is refused leaves nothing, and
// the error says what to do and no content.
func TestLimits(t *testing.T) {
	many := func(n int, form string) map[string]int {
		out := map[string]int{}
		for i := range n {
			out[fmt.Sprintf(form, i)] = 1
		}
		return out
	}
	// What a string needs beside the content: prefix, name, equals sign and NUL.
	room := maxTables - len(stringPrefix) - len("x=") - 1
	page := pageOfTables - len(stringPrefix) - len("x=") - 1
	of := func(systemd int, sizes map[string]int) seed.Seed {
		s := credentials(sizes)
		s.Firmware.Systemd = systemd
		return s
	}
	for name, c := range map[string]struct {
		d    Firmware
		s    seed.Seed
		want string // part of the error
	}{
		"the tables are full":          {SMBIOS(), credentials(map[string]int{"x": room / 4 * 3}), ""},
		"a byte more":                  {SMBIOS(), credentials(map[string]int{"x": room/4*3 + 1}), "deliver them by fw_cfg"},
		"all numbers":                  {SMBIOS(), credentials(many(254, "x%d")), ""},
		"one more":                     {SMBIOS(), credentials(many(255, "x%d")), "have room for 254"},
		"large by fw_cfg":              {FwCfg(), credentials(map[string]int{"tmpfiles.extra": 200 << 10, "systemd.extra-unit.vmseed-runcmd.service": 100}), ""},
		"more than there are places":   {FwCfg(), credentials(many(40, "x%d")), ""},
		"large with a long name":       {FwCfg(), credentials(map[string]int{"systemd.extra-unit.vmseed-runcmd.service": 100 << 10}), "at most 28 characters"},
		"all that systemd takes":       {FwCfg(), credentials(map[string]int{"tmpfiles.extra": 1 << 20}), ""},
		"more than systemd takes":      {FwCfg(), credentials(map[string]int{"tmpfiles.extra": 1 << 20, "x": 1}), "fetch large files itself"},
		"no name":                      {SMBIOS(), credentials(map[string]int{"": 1}), "no name"},
		"a name with an equals sign":   {SMBIOS(), credentials(map[string]int{"a=b": 1}), "no name"},
		"a name that leads elsewhere":  {FwCfg(), credentials(map[string]int{"../escape": 1}), "no name"},
		"a name with a colon":          {SMBIOS(), credentials(map[string]int{"systemd.extra-unit.a:b.service": 1}), "no name"},
		"a name of an escaped unit":    {SMBIOS(), credentials(map[string]int{`systemd.extra-unit.a\x20b.service`: 1}), ""},
		"a name with a line break":     {SMBIOS(), credentials(map[string]int{"a\nb": 1}), "no name"},
		"Ignition's own block device":  {VirtioBlk(), credentials(map[string]int{"x": 1}), "no systemd"},
		"a plain file of an Ignition":  {Ign(), credentials(map[string]int{"x": 1}), "no Ignition config"},
		"a page of systemd 252":        {SMBIOS(), of(252, map[string]int{"x": page / 4 * 3}), ""},
		"more than systemd 252 reads":  {SMBIOS(), of(252, map[string]int{"x": page/4*3 + 1}), "systemd 252 reads 4090 of them; deliver them by fw_cfg"},
		"what systemd 257 reads":       {SMBIOS(), of(257, map[string]int{"x": room / 4 * 3}), ""},
		"long names, for systemd 256":  {FwCfg(), of(256, map[string]int{"systemd.extra-unit.vmseed-runcmd.service": page}), "at most 28 characters"},
		"strings of the seed, as well": {SMBIOS(), withString(credentials(map[string]int{"x": room / 4 * 3})), "OEM strings"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, err := c.d.Deliver(t.Context(), c.s, delivery.Target{Path: filepath.Join(dir, "seed")})
			if c.want == "" {
				items := 0
				for _, a := range r.Attachments {
					if a.Kind == seed.FwCfgFile {
						items++
					}
				}
				if err != nil || len(r.Attachments) != len(c.s.Firmware.Credentials) || items > maxItems || c.d == FwCfg() && items == 0 {
					t.Errorf("%d attachments, %d of them items, %v", len(r.Attachments), items, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
	if FitsSMBIOS(credentials(map[string]int{"x": page/4*3 + 1})) || !FitsSMBIOS(credentials(map[string]int{"x": page / 4 * 3})) {
		t.Error("FitsSMBIOS does not keep to what every systemd reads")
	}
	if _, err := SMBIOS().Deliver(t.Context(), credentials(many(256, "x%d")), delivery.Target{Path: filepath.Join(t.TempDir(), "x")}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func withString(s seed.Seed) seed.Seed {
	s.Firmware.SMBIOS = []seed.SMBIOS{{Type: 11, Field: "value", Value: "more"}}
	return s
}

// TestUncertain: only of a guest whose systemd is not known is it uncertain whether it reads all strings.
func TestUncertain(t *testing.T) {
	unit := "systemd.extra-unit.vmseed-runcmd.service"
	for name, c := range map[string]struct {
		d       Firmware
		systemd int
		sizes   map[string]int
		want    bool
	}{
		"small":               {SMBIOS(), 0, map[string]int{"x": 1000}, false},
		"large":               {SMBIOS(), 0, map[string]int{"x": 10_000}, true},
		"by fw_cfg":           {FwCfg(), 0, map[string]int{"x": 10_000}, false},
		"long name by fw_cfg": {FwCfg(), 0, map[string]int{unit: 10_000}, true},
		"known":               {SMBIOS(), 257, map[string]int{"x": 10_000}, false},
	} {
		s := credentials(c.sizes)
		s.Firmware.Systemd = c.systemd
		if got := c.d.Uncertain(s); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
