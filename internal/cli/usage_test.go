package cli

import (
	"os"
	"strings"
	"testing"
)

// TestUsageErrors: what is wrong on the command line is said in the user's words, with what was probably meant.
func TestUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"u":      "#cloud-config\nhostname: x\n",
		"m.yaml": "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: web}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"chekc m.yaml":                               `there is no command "chekc"; did you mean "check"?`,
		"frobnicate":                                 `there is no command "frobnicate"; see vmseed --help`,
		"check --gest x m.yaml":                      "there is no flag --gest; did you mean --guest?",
		"check --kubecontext x m.yaml":               "unknown flag: --kubecontext",
		"check --guest debian12 m.yaml":              `did you mean "debian-12"?`,
		"check --guest plan9 m.yaml":                 "known are cloud-init=VERSION, debian-11, debian-12",
		"run --cpus two m.yaml":                      `--cpus takes a whole number, not "two"; see vmseed run --help`,
		"run --cpus 99999999999999999999 m.yaml":     "--cpus takes a smaller number",
		"run --timeout 5 m.yaml":                     `--timeout takes a time with its unit, such as 90s or 15m, not "5"`,
		"check --strict=perhaps m.yaml":              `--strict takes true or false, not "perhaps"`,
		"check .":                                    ". is a directory; name the files in it",
		"check m.yaml --user-data u":                 "--user-data is for plain files instead of a definition, and makes a machine of its own here: default/web, default/u",
		"check m.yaml --kubeconfig x":                "vmseed itself does not speak to clusters",
		"render -o none/s.iso m.yaml":                "there is no directory none",
		"render -o none/tree --format dir m.yaml":    "there is no directory none",
		"render -o none/s.ign --guest fcos u m.yaml": "there is no directory none",
	} {
		ends(t, exitUsage, want, strings.Fields(line)...)
	}
	if left := listing(t); len(left) != 3 { // the directory and the two files
		t.Errorf("files: %q", left)
	}
	if help := ends(t, exitDone, "", "check", "--help"); strings.Contains(help, "kube") && strings.Contains(help, "--context") {
		t.Error("check --help offers flags that it refuses")
	}
	two := "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: a}\n---\napiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: b}\n"
	if err := os.WriteFile("two.yaml", []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, exitDone, "the input has 2 machines, so s.iso is a directory; in it are default_a.iso, default_b.iso", "render", "-o", "s.iso", "two.yaml")
	// A plain file and the documents that belong to it are one machine.
	ends(t, exitDone, "", "check", "u", "--vendor-data", "u")
	// A machine that is picked by its name may be either.
	ends(t, exitDone, "", "check", "m.yaml", "--user-data", "u", "--name", "web")
}
