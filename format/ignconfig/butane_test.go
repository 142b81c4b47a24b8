package ignconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

const fcos = "variant: fcos\nversion: 1.5.0\n"

func TestButane(t *testing.T) {
	c, l := ParseButane(diag.File("c.bu"), []byte(fcos+`passwd:
  users:
    - name: core
      ssh_authorized_keys:
        - `+key+`
storage:
  files:
    - path: /etc/motd
      mode: 0644
      contents:
        inline: hello
systemd:
  units:
    - name: a.service
      mask: true
`))
	want := `{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["` + key + `"]}]},` +
		`"storage":{"files":[{"path":"/etc/motd","contents":{"compression":"","source":"data:,hello"},"mode":420}]},"systemd":{"units":[{"mask":true,"name":"a.service"}]}}`
	if d := cmp.Diff(want, string(c.Text())); d != "" || len(l) > 0 {
		t.Errorf("%s, %v", d, l)
	}
	if c.Stated() != "fcos 1.5.0" || c.Version() != "3.4.0" || !c.Translated() || len(c.Types().Storage.Files) != 1 {
		t.Errorf("got %s from %s", c.Version(), c.Stated())
	}
}

// Every version that messages offer is one that the library has, and gives the specification that is stated here.
func TestVariants(t *testing.T) {
	for _, v := range variants {
		for i, version := range v.versions {
			text := fmt.Sprintf("variant: %s\nversion: %s\n", v.name, version)
			if v.name == "openshift" {
				text += "metadata:\n  name: a\n  labels:\n    machineconfiguration.openshift.io/role: worker\n"
			}
			c, l := ParseButane(diag.File("c.bu"), []byte(text))
			if l.HasErrors() || c.Version() != spec(v.minor[i]) || c.Stated() != v.name+" "+version {
				t.Errorf("%s %s: version %q of %q, %v", v.name, version, c.Version(), c.Stated(), l)
			}
			if Recognise([]byte(text)) != Butane || Variant([]byte(text)) != v.name {
				t.Errorf("%s %s is not recognised", v.name, version)
			}
		}
	}
}

func TestWrongButane(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "# nothing\n", "error[VS3416]: a Butane document is one YAML mapping; write variant: fcos and version: 1.5.0, and what is wanted below"},
		{"two documents", fcos + "---\n" + fcos, "error[VS3416]: a Butane document is one YAML mapping; write variant: fcos and version: 1.5.0, and what is wanted below"},
		{"no YAML", "variant: fcos\nversion: [1.5.0\n‸", "error[VS1204]: this is not YAML: did not find expected ',' or ']'; check indentation, quotes and brackets around this line"},
		{"a key twice", fcos + "‸variant: r4e\n", `error[VS1205]: key "variant" stands twice in one mapping; remove one of the two`},
		{"no variant", "version: 1.5.0\n", "error[VS3416]: variant: the document names no variant; write one of fcos, flatcar, openshift, r4e, fiot"},
		{"no version", "variant: fcos\n", "error[VS3416]: version: the document states no version; write version: 1.5.0"},
		{"other variant", "variant: ‸ubuntu\nversion: 1.0.0\n", "error[VS3416]: variant: Butane has no such variant; write one of fcos, flatcar, openshift, r4e, fiot"},
		{"rhcos", "variant: ‸rhcos\nversion: 0.1.0\n", "error[VS3416]: variant: the variant rhcos was removed from Butane; write variant: openshift and the version of OpenShift, such as 4.18.0"},
		{"other version", "variant: flatcar\nversion: ‸9.9.0\n", "error[VS3416]: version: Butane has no such version of the variant flatcar; write one of 1.0.0, 1.1.0"},
		{"short version", "variant: flatcar\nversion: ‸1.1\n", "error[VS3416]: version: a version has three numbers; write 1.1.0"},
		{"experimental", "variant: fiot\nversion: ‸1.1.0-experimental\n", "error[VS3416]: version: experimental versions change from release to release, and their configs are accepted by a single release of Ignition; write one of 1.0.0"},
		{"file beside the document", fcos + "storage: {files: [{path: /x, contents: {local: ‸x}}]}\n",
			"error[VS3416]: storage.files[0].contents.local: Butane documents are read without their files here; write the content into the document, as inline: or contents:, or translate it with the command butane first"},
		{"keys beside the document", fcos + "passwd: {users: [{name: a, ssh_authorized_keys_local: ‸[x]}]}\n",
			"error[VS3416]: passwd.users[0].ssh_authorized_keys_local: Butane documents are read without their files here; write the content into the document, as inline: or contents:, or translate it with the command butane first"},
		{"decimal mode", fcos + "storage: {files: [{path: /x, mode: ‸644}]}\n", "warning[VS3416]: storage.files[0].mode: the mode is odd as a decimal number, and usual as an octal one; write a zero in front, such as 0644"},
		{"misspelt key", fcos + "passwd: {users: [{name: a, ‸ssh_authorised_keys: []}]}\n", `warning[VS3405]: passwd.users[0].ssh_authorised_keys: Butane does not know this key here and ignores it; did you mean "ssh_authorized_keys"?`},
		{"Ignition's key", fcos + "passwd: {users: [{name: a, ‸sshAuthorizedKeys: []}]}\n", `warning[VS3405]: passwd.users[0].sshAuthorizedKeys: Butane does not know this key here and ignores it; did you mean "ssh_authorized_keys"?`},
		{"text for a number", fcos + "passwd:\n  users:\n    - name: a\n      uid: ‸canary-secret\n", "error[VS3403]: passwd.users[0].uid: this should be a whole number, not a text; see Butane's specification of this variant"},
		{"number for true", fcos + "passwd:\n  users:\n    - name: a\n      system: ‸7\n", "error[VS3403]: passwd.users[0].system: this should be true or false, not a number; see Butane's specification of this variant"},
		{"list for a text", fcos + "passwd:\n  users:\n    - name: a\n      shell:\n        ‸- b\n", "error[VS3403]: passwd.users[0].shell: this should be a text, not a list; see Butane's specification of this variant"},
		{"text for a mapping", fcos + "passwd: ‸canary-secret\n", "error[VS3403]: passwd: this should be a mapping, not a text; see Butane's specification of this variant"},
		{"mapping for a list", fcos + "passwd:\n  users:\n    ‸name: a\n", "error[VS3403]: passwd.users: this should be a list, not a mapping; see Butane's specification of this variant"},
		{"relative path", fcos + "storage: {files: [{path: ‸x}]}\n", "error[VS3416]: storage.files[0].path: the path is not absolute; begin it with a slash, such as /etc/motd"},
		{"password in the clear", fcos + "passwd: {users: [{name: a, password_hash: ‸canary-secret}]}\n",
			"warning[VS3410]: passwd.users[0].password_hash: this is not a hash of crypt(5), so no password fits it; a password in clear text is not hashed here; hash it with mkpasswd or openssl passwd -6"},
		{"key", fcos + "passwd: {users: [{name: a, ssh_authorized_keys: [‸x]}]}\n", "warning[VS3409]: passwd.users[0].ssh_authorized_keys[0]: this is not a public key: the type, such as ssh-ed25519, is missing; give the line of the file that ends in .pub"},
		{"OpenShift's own", "variant: openshift\nversion: 4.18.0\nmetadata: {name: a, labels: {machineconfiguration.openshift.io/role: worker}}\nopenshift: {fips: ‸true}\n",
			"warning[VS3416]: openshift.fips: this goes into a MachineConfig, and the guest reads the Ignition config alone; apply it to the cluster"},
	}
	for _, tt := range tests {
		in, places := marked(tt.in)
		c, l := ParseButane(diag.File("c.bu"), []byte(in))
		at := diag.Pos{Line: 1, Column: 1}
		if len(places) > 0 {
			at = places[0]
		}
		want := fmt.Sprintf("c.bu:%d:%d: %s", at.Line, at.Column, tt.want)
		if len(l) == 0 || l[len(l)-1].Error() != want {
			t.Errorf("%s: got %v\nwant %s", tt.name, l, want)
		}
		for _, d := range l {
			if strings.Contains(d.Error(), "canary") {
				t.Errorf("%s: a message quotes a value", tt.name)
			}
		}
		if c.IsZero() != l.HasErrors() {
			t.Errorf("%s: there is a config (%v) beside an error (%v)", tt.name, !c.IsZero(), l.HasErrors())
		}
	}
}
