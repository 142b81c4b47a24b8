package ignconfig

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

// unpacked returns the JSON of a config with the contents of data: URLs in clear, without the stated version: what a guest
// makes of it.
func unpacked(t *testing.T, c Config) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(c.Text(), &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			delete(v, "version")
			var l diag.List
			method := "gzip"
			if text, ok := v["source"].(string); ok && strings.HasPrefix(text, "data:") && v["verification"] == nil {
				data, _ := DecodeData(text)
				if v["compression"] == "gzip" {
					data, _ = source{list: &l}.content(types.Resource{Source: &text, Compression: &method}, dataPath{})
				}
				delete(v, "compression")
				v["source"] = string(data)
			}
			for k := range v {
				if v[k] = walk(v[k]); v[k] == nil {
					delete(v, k)
				}
			}
			if len(v) == 0 {
				return nil
			}
		}
		return v
	}
	return walk(v)
}

// TestButaneAndBack writes configs as Butane, and lets the official library translate that back.
func TestButaneAndBack(t *testing.T) {
	long := url.PathEscape(strings.Repeat("a line of text that is worth to be compressed\\n", 100))
	for name, text := range map[string]string{
		"users": `{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA k"],
			"passwordHash": "$6$a$b", "noCreateHome": true, "primaryGroup": "g", "homeDir": "/h"}], "groups": [{"name": "g", "gid": 5}]}}`,
		"files": `{"ignition": {"version": "3.1.0"}, "storage": {"files": [{"path": "/a", "mode": 420, "overwrite": true, "contents": {"source": "data:,hello%0Aworld%0A"}},
			{"path": "/b", "contents": {"source": "data:;base64,AAH/"}}, {"path": "/c", "append": [{"source": "https://example.org/x", "verification": {"hash": "sha512-` + strings.Repeat("0", 128) + `"}}]},
			{"path": "/d", "contents": {"source": "data:,` + long + `"}}], "links": [{"path": "/l", "target": "/a", "hard": true}],
			"directories": [{"path": "/dir", "user": {"name": "core"}, "mode": 493}]}}`,
		"units": `{"ignition": {"version": "3.0.0"}, "systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"},
			{"name": "b.service", "mask": true, "dropins": [{"name": "1.conf", "contents": "[Unit]\n"}]}]}}`,
		"disks": `{"ignition": {"version": "3.2.0"}, "storage": {"disks": [{"device": "/dev/vdb", "wipeTable": true, "partitions": [{"number": 1, "sizeMiB": 100, "startMiB": 1,
			"typeGuid": "0FC63DAF-8483-4772-8E79-3D69D8477DE4", "wipePartitionEntry": true, "label": "x"}]}],
			"filesystems": [{"device": "/dev/disk/by-partlabel/x", "format": "ext4", "path": "/var", "wipeFilesystem": true, "mountOptions": ["noatime"]}],
			"luks": [{"name": "l", "device": "/dev/vdc", "keyFile": {"source": "data:,secret"}}]}}`,
		"kernel arguments": `{"ignition": {"version": "3.3.0", "timeouts": {"httpTotal": 5}, "proxy": {"httpsProxy": "https://proxy"}}, "kernelArguments": {"shouldExist": ["quiet"]}}`,
		"newest":           `{"ignition": {"version": "3.6.0", "security": {"tls": {"certificateAuthorities": [{"source": "https://example.org/ca", "httpHeaders": [{"name": "User-Agent", "value": "v"}]}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, l := Parse(diag.Origin{}, []byte(text))
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			document, l := c.Butane("fcos")
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			back, l := ParseButane(diag.Origin{}, document)
			if l.HasErrors() {
				t.Fatalf("%v\n%s", l.Err(), document)
			}
			if diff := cmp.Diff(unpacked(t, c), unpacked(t, back)); diff != "" {
				t.Errorf("the guest gets something else (- original, + back):\n%s\n%s", diff, document)
			}
		})
	}
}

func TestFlat(t *testing.T) {
	parent := build(t, `{"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "contents": {"source": "data:,one"}}]}}`)
	child := build(t, `{"ignition": {"version": "3.3.0"}, "storage": {"files": [{"path": "/etc/hostname", "overwrite": true, "contents": {"source": "data:,two"}}]},
		"kernelArguments": {"shouldExist": ["quiet"]}}`)
	flat, l := Wrap(parent, child).Flat()
	if l.HasErrors() || flat.Version() != "3.3.0" || len(flat.Types().Ignition.Config.Merge) != 0 {
		t.Fatalf("%v\n%s", l, flat.Text())
	}
	if got := *flat.Types().Storage.Files[0].Contents.Source; got != "data:,two" {
		t.Errorf("the later config must win, got %s", got)
	}
	if _, l := flat.Butane("openshift"); !l.HasErrors() {
		t.Error("openshift 4.21 carries no kernelArguments of Ignition, but nothing is said")
	}
}

func build(t *testing.T, text string) Config {
	t.Helper()
	c, l := Parse(diag.Origin{}, []byte(text))
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return c
}
