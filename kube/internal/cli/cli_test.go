package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	core "github.com/vmseed/vmseed/internal/cli"
	"github.com/vmseed/vmseed/kube/provider"
	"github.com/vmseed/vmseed/kube/subresources"
)

// call runs a command line.
func call(args ...string) (status int, out, problems string) {
	var o, e bytes.Buffer
	status = Main(append([]string{"vmseed-kube"}, args...), core.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

func TestUsage(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	vm := filepath.Join(t.TempDir(), "vm.yaml")
	if err := os.WriteFile(vm, []byte("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		status int
		say    string
	}{
		"node":                                                          {2, "node needs --kubeconfig or --bootstrap-kubeconfig"},
		"node x":                                                        {2, `unknown command "x"`},
		"node --kubeconfig k --log-level loud":                          {2, "--log-level takes debug"},
		"node --kubeconfig k --log-format xml":                          {2, "--log-format takes text or json"},
		"node --kubeconfig k --node-ip here":                            {2, `--node-ip: "here" is no IP address`},
		"node --kubeconfig k --cluster-dns 10.0.0.300":                  {2, "--cluster-dns"},
		"node --kubeconfig k --reserve cpu=much":                        {2, `--reserve: cpu: "much" is no quantity`},
		"node --kubeconfig k --tls-cert-file c":                         {2, "go together"},
		"node --kubeconfig k --reserve memroy=1Gi":                      {2, `not "memroy"`},
		"node --kubeconfig k --reserve memory=-1Gi":                     {2, `"-1Gi" is no quantity`},
		"node --kubeconfig k --max-pods 0":                              {2, "--max-pods is at least 1"},
		"node --kubeconfig k --drain -1s":                               {2, "--drain is a time"},
		"node --kubeconfig k --node-labels node-role.kubernetes.io/vm=": {2, "may not give itself"},
		"node --kubeconfig k --node-labels a=b/c":                       {2, "--node-labels: a=b/c"},
		"node --kubeconfig k --tls-cert-file c --tls-private-key-file k --rotate-server-certificates": {2, "gives already"},
		"node --kubeconfig k --register-with-taint a=b":                                               {2, "KEY[=VALUE]:EFFECT"},
		"node --kubeconfig /nonexistent --state-dir " + t.TempDir():                                   {3, "nonexistent"},
		"controller --kubeconfig /nonexistent":                                                        {3, "nonexistent"},
		"check --kubeconfig /nonexistent " + vm:                                                       {2, "no such file"},
		"check --context none " + vm:                                                                  {3, `context "none" does not exist`},
		"check " + vm:                                                                                 {0, ""},
		"explain VS8000":                                                                              {0, ""},
		"explain VS1205":                                                                              {0, ""},
		"run x":                                                                                       {2, `no command "run"`},
		"version":                                                                                     {0, ""},
		"supervise --state-dir /nonexistent":                                                          {3, "nonexistent"},
	} {
		status, _, problems := call(strings.Fields(line)...)
		if status != want.status || !strings.Contains(problems, want.say) {
			t.Errorf("%s: %d, %s", line, status, problems)
		}
	}
}

// TestHelp names this program where it speaks of itself, and shows the flags that only it has.
func TestHelp(t *testing.T) {
	for command, want := range map[string]string{"render": "vmseed-kube render -o seed.iso", "check": "--kubeconfig", "node": "--image-mapping", "controller": "--beside-kubevirt",
		"completion bash": "vmseed-kube"} {
		status, out, problems := call(append(strings.Fields(command), "--help")...)
		if command == "completion bash" {
			status, out, problems = call(strings.Fields(command)...)
		}
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d, %s%s", command, status, out, problems)
		}
	}
}

// TestWords: what the subresources say to nodes is what nodes understand.
func TestWords(t *testing.T) {
	for word, understood := range map[string]string{subresources.PauseCommand: provider.PauseCommand, subresources.UnpauseCommand: provider.UnpauseCommand,
		subresources.ResetCommand: provider.ResetCommand} {
		if word != understood {
			t.Errorf("%s is said, and %s understood", word, understood)
		}
	}
}
