//go:build conformance

package parts

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/mimepart"
	"github.com/vmseed/vmseed/internal/judge"
)

// effect is what user-data does to a guest: the keys of the merged configuration and the names of programs. Names
// that cloud-init invents are left out.
func effect(r judge.ConsumeResult) (keys, programs []string) {
	keys = r.Config.Keys()
	for name, f := range r.Files {
		if strings.Contains(name, "/scripts/") || strings.Contains(name, "/boothooks/") || strings.Contains(name, "/handlers/") {
			programs = append(programs, path.Base(path.Dir(name))+" "+string(f.Content))
		}
	}
	slices.Sort(keys)
	slices.Sort(programs)
	return keys, programs
}

// expected is what our reading of the same user-data predicts.
func expected(t *testing.T, data []byte) (keys, programs []string) {
	pieces, _ := Unpack(diag.File("f"), data)
	var configs []cloudconfig.Part
	for _, p := range pieces {
		text := strings.ReplaceAll(string(p.Data), "\r\n", "\n")
		switch p.Kind {
		case cloudconfig.CloudConfig:
			if d, _ := cloudconfig.Parse(p.Origin, p.Data); d != nil {
				configs = append(configs, cloudconfig.Part{Document: d, MergeType: p.MergeType})
			}
		case cloudconfig.Script:
			programs = append(programs, "scripts "+text)
		case cloudconfig.ScriptPerBoot:
			programs = append(programs, "per-boot "+text)
		case cloudconfig.ScriptPerInstance:
			programs = append(programs, "per-instance "+text)
		case cloudconfig.ScriptPerOnce:
			programs = append(programs, "per-once "+text)
		case cloudconfig.Boothook:
			body := strings.TrimLeft(text, " \n")
			if strings.HasPrefix(strings.ToLower(body), "#cloud-boothook") {
				_, body, _ = strings.Cut(body, "\n")
			}
			programs = append(programs, "boothooks "+body)
		}
	}
	merged, _ := cloudconfig.MergeParts(configs...)
	keys = merged.Keys()
	slices.Sort(keys)
	slices.Sort(programs)
	return keys, programs
}

// TestKindsAsCloudInit hands user-data of every kind and wrapping to cloud-init and compares what comes of it.
func TestKindsAsCloudInit(t *testing.T) {
	script := "#!/bin/sh\necho größe\n"
	part := func(kind, name, data string) mimepart.Part {
		return mimepart.Part{ContentType: kind, Filename: name, Data: []byte(data)}
	}
	inputs := map[string][]byte{
		"cloud-config":       []byte(config),
		"blank lines":        []byte("\n \t\n" + config),
		"capitals":           []byte("#Cloud-CONFIG\na: 1"),
		"more letters":       []byte("#cloud-configfoo\na: 1"),
		"CRLF":               []byte("#cloud-config\r\na: 1\r\nb: |\r\n  x\r\n"),
		"byte order mark":    []byte("\ufeff" + config),
		"blank":              []byte("# cloud-config\na: 1"),
		"no header":          []byte("a: 1"),
		"Ignition":           []byte(`{"ignition": {"version": "3.4.0"}}`),
		"base64":             []byte(base64.StdEncoding.EncodeToString([]byte(config))),
		"header alone":       []byte("#cloud-config\n"),
		"list":               []byte("#cloud-config\n- a"),
		"bad YAML":           []byte("#cloud-config\na: ["),
		"two documents":      []byte("#cloud-config\na: 1\n---\n"),
		"MIME in a comment":  []byte("#cloud-config\n# MIME-Version: 1.0\na: 1"),
		"script":             []byte(script),
		"script in DOS form": []byte("#!/bin/sh\r\necho\r\n"),
		"text":               []byte("echo hello\n"),
		"boothook":           []byte("#cloud-boothook\n#!/bin/sh\n:\n"),
		"empty":              nil,
		"gzip":               gz(t, config),
		"gzip of a script":   gz(t, script),
		"archive": []byte("#cloud-config-archive\n- |\n  #!/bin/sh\n  :\n- type: text/cloud-config\n  content: \"b: 2\"\n" +
			"- \"c: 3\"\n- 5\n- content: \"#include http://127.0.0.1:1/\"\n"),
		"broken archive":       []byte("#cloud-config-archive\na: 1\n"),
		"single message":       []byte("Content-Type: text/cloud-config\nMIME-Version: 1.0\n\na: 1\n"),
		"message without type": []byte("MIME-Version: 1.0\n\n" + config),
		"multipart": build(t, part("text/cloud-config", "", "a: 1\n"), part("text/x-shellscript", "größe 1.sh", script),
			part("text/plain", "", config), part("text/plain", "", "nothing"), part("text/x-unknown", "", "x"),
			part("text/x-shellscript", "", "b: 2"), part("text/x-shellscript", "", "#cloud-config\nc: 3"),
			part("text/x-shellscript-per-boot", "p", "#!/bin/sh\nboot\n"), part("text/x-shellscript-per-once", "p", "#!/bin/sh\nonce\n"),
			part("text/x-shellscript-per-instance", "p", "#!/bin/sh\ninstance\n"), part("text/cloud-boothook", "h", "#!/bin/sh\n:\n"),
			part("application/gzip", "", string(gz(t, "#cloud-config\nd: 4"))), part("text/cloud-config", "", "e: größe\r\n"),
			part("text/x-shellscript", "long", "#!/bin/sh\n# "+strings.Repeat("x", 5000)+"\n"), part("text/cloud-config", "", "")),
		"compressed multipart": gz(t, string(build(t, part("text/plain", "", script), part("text/plain", "", config)))),
		"nested": []byte("Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n\npreamble\n--a\nContent-Type: multipart/mixed; boundary=\"b c\"\n\n" +
			"--b c\nContent-Type: text/cloud-config\n\na: 1\n--b c\n\n#!/bin/sh\nx\n\n--b c--\n--a\nContent-Transfer-Encoding: quoted-printable\n\n#!/bin/sh=0Ay=\nz\n--a--\nepilogue\n"),
		"not closed": []byte("Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n\n--a\n\n#!/bin/sh\nx\n"),
		"merge headers": build(t, mimepart.Part{ContentType: "text/cloud-config", Data: []byte("a: {x: 1}\nruncmd: [a]\n")},
			mimepart.Part{ContentType: "text/cloud-config", MergeType: "nonsense()", Data: []byte("lost: 1\n")},
			mimepart.Part{ContentType: "text/cloud-config", Header: []mimepart.Field{{Name: "merge-type", Value: "nonsense()"}}, Data: []byte("kept: 1\n")}),
	}
	var names []string
	var items []judge.UserDataInput
	for name, data := range inputs {
		names = append(names, name)
		items = append(items, judge.UserDataInput{UserData: data})
	}
	for _, r := range judge.Releases(t) {
		for i, result := range r.UserDataBatch(t, items) {
			keys, programs := effect(result)
			wantKeys, wantPrograms := expected(t, items[i].UserData)
			if !slices.Equal(keys, wantKeys) || !slices.Equal(programs, wantPrograms) {
				t.Errorf("cloud-init %s, %s:\nguest %q %q\nwe    %q %q\n%v", r.Name, names[i], keys, programs, wantKeys, wantPrograms, result.Err)
			}
		}
	}
	t.Logf("%d inputs", len(inputs))
}

// TestBuildReachesTheGuest sends scripts with hostile contents and names in one message.
func TestBuildReachesTheGuest(t *testing.T) {
	contents := []string{"plain\n", "no line end", "\n\n\n", "--boundary\n--boundary--\n", "From here\n", "größe \U0001f600\n", "tab\tand blank \n", "a\x00b\n",
		"=3D=\n", strings.Repeat("long ", 500) + "\n", "Content-Type: text/plain\n\nbody\n", ".\n.\n", "\u2028\u0085\n", "last\n\n"}
	names := []string{"a", "b c", `d"e`, "größe", "f;g", "h=i", "k'l", "m%20n", "o\\p", "q", "r", "s", "t", "u"}
	var parts []mimepart.Part
	for i, c := range contents {
		parts = append(parts, mimepart.Part{ContentType: "text/x-shellscript", Filename: fmt.Sprintf("%02d %s", i, names[i]), Data: []byte("#!/bin/sh\n" + c)})
	}
	data := build(t, parts...)
	for _, r := range judge.Releases(t) {
		result := r.UserData(t, data, nil)
		found := map[string]string{}
		for name, f := range result.Files {
			found[path.Base(name)] = string(f.Content)
		}
		for _, p := range parts {
			// The guest takes characters out of file names that it does not like, and writes text with LF alone.
			clean := strings.Map(func(c rune) rune {
				if strings.ContainsRune("-_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", c) {
					return c
				}
				return -1
			}, strings.ReplaceAll(p.Filename, "/", "_"))
			if got, ok := found[clean]; !ok || got != string(p.Data) {
				t.Errorf("cloud-init %s: %q: the guest has %q, %t", r.Name, p.Filename, got, ok)
			}
		}
		if t.Failed() {
			t.Logf("files: %q, log %v", found, judge.Problems(result.Log))
		}
	}
}
