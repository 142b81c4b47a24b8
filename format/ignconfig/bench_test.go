package ignconfig

import (
	"fmt"
	"strings"
	"testing"

	v3 "github.com/coreos/ignition/v2/config/v3_6"

	"github.com/vmseed/vmseed/diag"
)

// node is a config of the size that clusters have: a hundred files of a few KiB.
func node() []byte {
	var files []string
	for i := range 100 {
		files = append(files, fmt.Sprintf(`{"path": "/etc/app/%d", "mode": 420, "contents": {"source": "data:;base64,%s"}}`, i, strings.Repeat("QUJD", 1000)))
	}
	return []byte(with(`"storage": {"files": [` + strings.Join(files, ",\n") + `]}`))
}

// The official parser is the yardstick: what is added to it is places, plausibility and the look into data: URLs.
func BenchmarkParse(b *testing.B) {
	text := node()
	b.Run("official", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, _, err := v3.ParseCompatibleVersion(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("here", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, l := Parse(diag.File("f"), text); len(l) > 0 {
				b.Fatal(l)
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	c := mustParse(b, string(node()))
	for b.Loop() {
		if _, l := Build(c.Types()); len(l) > 0 {
			b.Fatal(l)
		}
	}
}
