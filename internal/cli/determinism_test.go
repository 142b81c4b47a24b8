package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asCommand makes the test's own program the command vmseed when it holds a command line.
const asCommand = "VMSEED_TEST_COMMAND"

func TestMain(m *testing.M) {
	if line := os.Getenv(asCommand); line != "" {
		os.Exit(Main(strings.Fields(line), Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// TestSameBytesEverywhere renders one machine in 50 processes of different surroundings.
func TestSameBytesEverywhere(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const examples = "../../examples/virtlet/"
	zones, locales, masks := []string{"UTC", "Asia/Kathmandu", "America/St_Johns", ""}, []string{"C", "tr_TR.UTF-8", "de_CH.UTF-8"}, []string{"0", "022", "077", "0777"}
	for _, source := range []string{"nocloud", "configdrive"} {
		line := fmt.Sprintf("vmseed render -o - --datasource %s --cni-result %scni-result.json %sextended-pod.yaml %sextended-objects.yaml %sextended-keys.yaml",
			source, examples, examples, examples, examples)
		hashes := map[string]string{}
		for i := range 25 {
			cmd := exec.Command(sh, "-c", `umask "$1"; exec "$0"`, self, masks[i%len(masks)])
			surroundings := []string{"TZ=" + zones[i%len(zones)], "LC_ALL=" + locales[i%len(locales)], fmt.Sprintf("GOMAXPROCS=%d", 1+i%4), fmt.Sprintf("HOME=/h%d", i)}
			cmd.Env = append([]string{asCommand + "=" + line}, surroundings...)
			out, err := cmd.Output()
			if err != nil || len(out) == 0 {
				t.Fatalf("%v: %v, %d bytes", surroundings, err, len(out))
			}
			hashes[fmt.Sprintf("%x", sha256.Sum256(out))] = strings.Join(surroundings, " ")
		}
		if len(hashes) != 1 {
			t.Errorf("%s: %d different images: %v", source, len(hashes), hashes)
		}
	}
}
