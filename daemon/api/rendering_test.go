//go:build linux

package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// secretive is a definition with a canary in everything that is secret.
const secretive = `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: secretive}
spec:
  users:
  - {name: alice, password: canary-clear-text, sshAuthorizedKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGg2Y0Jv shown"]}
  - {name: bob, passwordHash: "$6$saltsalt$canaryhashcanaryhashcanaryhashcanaryhashcanaryhashcanaryhashcanaryhash1234567890abcd"}
  environment:
  - {name: API_KEY, value: canary-environment}
  files:
  - {path: /etc/secret, mode: "0600", content: "canary-file"}
  - {path: /etc/motd, content: "shown"}
  ssh:
    hostKeys:
    - type: ed25519
      private: |
        -----BEGIN OPENSSH PRIVATE KEY-----
        canarykeycanarykeycanarykeycanarykeycanarykey
        -----END OPENSSH PRIVATE KEY-----
      public: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGg2Y0Jv host
  userData:
    layers:
    - data: |
        #cloud-config
        chpasswd:
          list: |
            carol:canary-list
        wireguard: {interfaces: [{name: wg0, content: "PrivateKey = canary-wg"}]}
        packages: [shown]
`

func (s *service) files(t *testing.T, q client.RenderRequest) ([]client.Seed, map[string]client.File) {
	t.Helper()
	result, err := s.Render(t.Context(), q)
	if err != nil || len(result.Seeds) == 0 {
		t.Fatalf("%+v, %v", result.Diagnostics, err)
	}
	out := map[string]client.File{}
	for _, x := range result.Seeds {
		for _, v := range x.Volumes {
			for _, f := range v.Files {
				out[x.DataSource+" "+f.Path] = f
			}
		}
		for _, f := range x.Firmware {
			out[x.DataSource+" "+f.Path] = f
		}
	}
	return result.Seeds, out
}

// TestRender shows the files of each data source, without their secrets unless they are asked for.
func TestRender(t *testing.T) {
	s := begin(t)
	q := client.RenderRequest{Documents: []client.Document{{Name: "vm.yaml", Text: secret.New(secretive)}}, DataSources: []string{"nocloud", "configdrive"}}
	seeds, files := s.files(t, q)
	if len(seeds) != 2 || seeds[0].DataSource != "nocloud" || seeds[1].DataSource != "configdrive" || seeds[0].Name != "secretive" || seeds[0].InstanceID == "" {
		t.Errorf("%+v", seeds)
	}
	for name, f := range files {
		if text := f.Content.Reveal(); strings.Contains(text, "canary") {
			t.Errorf("%s shows a secret:\n%s", name, text)
		}
	}
	user := files["nocloud user-data"]
	for _, want := range []string{"shown", "alice", "/etc/secret", "******", "packages"} {
		if !strings.Contains(user.Content.Reveal(), want) {
			t.Errorf("no %s in\n%s", want, user.Content.Reveal())
		}
	}
	if !user.Masked || user.Truncated || user.Binary || user.Size == 0 || user.Mode == "" {
		t.Errorf("%+v", user)
	}
	q.Reveal = true
	_, files = s.files(t, q)
	if text := files["nocloud user-data"].Content.Reveal(); !strings.Contains(text, "canary-list") || strings.Contains(text, "******") {
		t.Error("what was asked for is not shown")
	}
	if strings.Contains(fmt.Sprintf("%+v", files), "canary") {
		t.Error("files can be printed")
	}
}

// TestRenderTrees shows what guests fetch by HTTP: where it stands, what of it is withdrawn, and none of its secrets.
func TestRenderTrees(t *testing.T) {
	s := begin(t)
	q := client.RenderRequest{Documents: []client.Document{{Name: "vm.yaml", Text: secret.New(secretive)}}, DataSources: []string{"openstack", "ec2", "nocloud-net"}}
	seeds, _ := s.files(t, q)
	if len(seeds) != 3 {
		t.Fatalf("%d seeds", len(seeds))
	}
	user := map[string]string{"openstack": "user_data", "ec2": "user-data", "nocloud": "user-data"}
	for _, x := range seeds {
		if len(x.Trees) == 0 || len(x.Trees[0].Roots) == 0 || len(x.SMBIOS) == 0 || len(x.Volumes) > 0 {
			t.Fatalf("%s: trees %v, firmware %v", x.DataSource, x.Trees, x.SMBIOS)
		}
		found := false
		for _, tree := range x.Trees {
			for _, f := range tree.Files {
				if text := f.Content.Reveal(); strings.Contains(text, "canary") {
					t.Errorf("%s %s shows a secret:\n%s", x.DataSource, f.Path, text)
				}
				found = found || f.Path == user[x.DataSource] && f.Sealable && f.Masked && f.ContentType != ""
			}
		}
		if !found {
			t.Errorf("%s: there is no masked user-data that can be withdrawn", x.DataSource)
		}
	}
	if seeds[1].Trees[0].Tokens != "required" {
		t.Errorf("EC2's tree has tokens %q", seeds[1].Trees[0].Tokens)
	}
}

// TestRenderSettings changes what documents say, and keeps the places of what is wrong with them.
func TestRenderSettings(t *testing.T) {
	s := begin(t)
	documents := []client.Document{{Name: "user-data", Text: secret.New("#cloud-config\nhostname: h1\n")}}
	seeds, _ := s.files(t, client.RenderRequest{Documents: documents, Settings: client.Settings{Name: "named", Namespace: "lab", DataSource: "configdrive"}, Generation: 2})
	if seeds[0].Name != "named" || seeds[0].Namespace != "lab" || seeds[0].DataSource != "configdrive" || !strings.HasSuffix(seeds[0].InstanceID, "2") {
		t.Errorf("%+v", seeds[0])
	}
	result, err := s.Render(t.Context(), client.RenderRequest{Documents: documents, DataSources: []string{"no-such-source"}})
	if err != nil || len(result.Seeds) != 0 || len(result.Diagnostics) == 0 {
		t.Errorf("%+v, %v", result, err)
	}
	bad := []client.Document{{Name: "vm.yaml", Text: secret.New("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: x}\nspec:\n  nonsense: 1\n")}}
	found, err := s.Check(t.Context(), client.RenderRequest{Documents: bad})
	if err != nil || len(found) == 0 || found[0].Range.Start.Line != 5 || found[0].Severity != "error" {
		t.Errorf("%+v, %v", found, err)
	}
	// A warning of rendering has its place in the document, though a setting makes it another one.
	lost := []client.Document{{Name: "vm.yaml", Text: secret.New("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: x}\nspec:\n  storage:\n    raids: [{name: md0, level: raid1, devices: [/dev/vdb, /dev/vdc]}]\n")}}
	plain, err := s.Check(t.Context(), client.RenderRequest{Documents: lost})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := s.Check(t.Context(), client.RenderRequest{Documents: lost, Settings: client.Settings{Memory: 1 << 30}})
	if err != nil || len(changed) == 0 || len(plain) != len(changed) {
		t.Fatalf("%+v\n%+v, %v", plain, changed, err)
	}
	for i := range plain {
		if plain[i].Range != changed[i].Range || plain[i].Code != changed[i].Code {
			t.Errorf("%+v is now %+v", plain[i], changed[i])
		}
	}
}

// TestRenderMachine shows what a stored machine's guest reads: with its own id.
func TestRenderMachine(t *testing.T) {
	s := begin(t)
	made, err := s.Create(t.Context(), client.CreateRequest{Documents: documents("vm1", "", "#cloud-config\npassword: canary-pw\n")})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Machines[0].ID
	result, err := s.RenderMachine(t.Context(), id, client.RenderRequest{})
	if err != nil || len(result.Seeds) != 1 || result.Seeds[0].UUID != id || result.Seeds[0].Name != "vm1" {
		t.Fatalf("%+v, %v", result, err)
	}
	once, err := s.RenderMachine(t.Context(), id, client.RenderRequest{Documents: documents("other", "", "#cloud-config\npackages: [tree]\n"), DataSources: []string{"nocloud"}, Generation: 1})
	if err != nil || len(once.Seeds) != 1 || once.Seeds[0].UUID != id || once.Seeds[0].Name != "vm1" || once.Seeds[0].InstanceID == result.Seeds[0].InstanceID {
		t.Errorf("%+v, %v", once, err)
	}
}

func TestConvert(t *testing.T) {
	s := begin(t)
	out, err := s.Convert(t.Context(), client.ConvertRequest{Documents: []client.Document{{Name: "user-data", Text: secret.New("#cloud-config\npackages: [tree]\n")}},
		Settings: client.Settings{Name: "converted", Memory: 1 << 30}, To: "kubevirt"})
	if err != nil || len(out.Documents) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, want := range []string{"kind: VirtualMachine", "name: converted", "tree"} {
		if !strings.Contains(out.Documents[0].Text.Reveal(), want) {
			t.Errorf("no %q in\n%s", want, out.Documents[0].Text.Reveal())
		}
	}
	bad, err := s.Convert(t.Context(), client.ConvertRequest{Documents: []client.Document{{Text: secret.New("kind: [")}}, To: "native"})
	if err != nil || len(bad.Documents) != 0 || len(bad.Diagnostics) == 0 {
		t.Errorf("%+v, %v", bad, err)
	}
}

// TestTruncated cuts what is too large for an answer, and says so.
func TestTruncated(t *testing.T) {
	s := begin(t)
	text := "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: large}\nspec:\n  files:\n  - path: /x\n    content: \"" + strings.Repeat("größer ", 400_000) + "\"\n"
	_, files := s.files(t, client.RenderRequest{Documents: []client.Document{{Text: secret.New(text)}}, Reveal: true})
	if f := files["nocloud user-data"]; !f.Truncated || f.Binary || f.Size < 4<<20 || f.Content.Len() > 4<<20 || f.Content.Len() < 4<<20-4 {
		t.Errorf("%d bytes of %d", f.Content.Len(), f.Size)
	}
}

// TestSeedOrder keeps the order of seeds that of the data sources asked for.
func TestSeedOrder(t *testing.T) {
	s := begin(t)
	seeds, _ := s.files(t, client.RenderRequest{Documents: append(documents("a", "", ""), documents("b", "", "")...), DataSources: []string{"configdrive", "nocloud"}})
	var got []string
	for _, x := range seeds {
		got = append(got, x.DataSource+" "+x.Name)
	}
	if want := []string{"configdrive a", "configdrive b", "nocloud a", "nocloud b"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestPlacesBeside: what is said of a user-data stands at its lines also when the request names the machine beside it, which the
// daemon writes into a document of its own.
func TestPlacesBeside(t *testing.T) {
	s := begin(t)
	for text, want := range map[string]string{
		"#cloud-config\nusers:\n- name: alice\n  sudoo: x\n":                "user-data:4:3",
		"#cloud-config\nhostname: döme\nwrite_files:\n- {path: /a, é: 1}\n": "user-data:4:14",
		"#cloud-config\nusers:\n- name: alice\nbroken\n":                    "user-data:",
	} {
		for _, settings := range []client.Settings{{}, {Name: "web"}, {Name: "web", CPUs: 2}} {
			r, err := s.Render(t.Context(), client.RenderRequest{Documents: []client.Document{{Name: "user-data", Text: secret.New(text)}}, Settings: settings})
			if err != nil {
				t.Fatal(err)
			}
			var places []string
			for _, d := range client.List(r.Diagnostics) {
				if d.Severity != diag.Note {
					places = append(places, d.Range.String())
				}
			}
			found := slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(p, want) })
			if !found || slices.Contains(places, "user-data:1:1") {
				t.Errorf("%+v: %q is remarked at %q, want %s", settings, text, places, want)
			}
		}
	}
}

// TestUnderscore makes a machine whose host name guests take and DNS does not, as clients of oVirt do, and what it is converted to.
func TestUnderscore(t *testing.T) {
	s := begin(t)
	own := []client.Document{{Name: "vm.xml", Text: secret.New("<vm><name>web_1</name><initialization><host_name>web_1</host_name></initialization></vm>")}}
	converted, err := s.Convert(t.Context(), client.ConvertRequest{Documents: own, To: "native"})
	if err != nil || len(converted.Documents) != 1 {
		t.Fatal(converted, err)
	}
	for name, documents := range map[string][]client.Document{"oVirt's": own, "native": converted.Documents} {
		made, err := s.Create(t.Context(), client.CreateRequest{Documents: documents})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(made.Diagnostics, func(d client.Diagnostic) bool {
			return d.Field == "identity.hostname" && d.Severity == "warning" && d.Code == machine.CodeHostName.String()
		}) {
			t.Errorf("%s: nothing is said about the host name: %+v", name, made.Diagnostics)
		}
	}
}
