package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestShowIsBounded: a small config that holds far more is not unpacked beyond the bounds.
func TestShowIsBounded(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(bytes.Repeat([]byte("CANARY\n"), maxUnpacked/7/3)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var files []string
	for i := range 20 {
		files = append(files, fmt.Sprintf(`{"path": "/f%d", "contents": {"compression": "gzip", "source": "data:;base64,%s"}}`, i,
			base64.StdEncoding.EncodeToString(packed.Bytes())))
	}
	config := `{"ignition": {"version": "3.1.0"}, "storage": {"files": [` + strings.Join(files, ",") + `]}}`
	nested := `{"ignition": {"version": "3.1.0"}, "x": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`
	for name, text := range map[string]string{"files": config, "nested": nested} {
		var out strings.Builder
		showIgnition(&out, text)
		if out.Len() > maxUnpacked+2*len(text)+10_000 {
			t.Errorf("%s: %d bytes become %d", name, len(text), out.Len())
		}
		if shown := strings.Count(out.String(), "\n### file"); name == "files" && shown != 20 {
			t.Errorf("%d files are named, not 20", shown)
		}
	}
}
