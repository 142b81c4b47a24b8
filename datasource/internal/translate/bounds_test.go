package translate_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource/internal/translate"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestUnpackedIsBounded: what compressed contents hold together has a bound, not each alone.
func TestUnpackedIsBounded(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(make([]byte, 15<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	item := "- {path: /f, encoding: gz+b64, content: " + base64.StdEncoding.EncodeToString(packed.Bytes()) + "}\n"
	for count, fits := range map[int]bool{4: true, 5: false} {
		_, l := translate.CloudConfig(machine.Layer{Data: secret.New("#cloud-config\nwrite_files:\n" + strings.Repeat(item, count))}, machine.Machine{})
		if l.HasErrors() == fits {
			t.Errorf("%d files of 15 MiB: %v", count, l)
		}
	}
}
