//go:build linux

package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
)

// TestLinkedImages: an image that is a link out of the repository can be imported, and is not offered to documents, which may not
// name it.
func TestLinkedImages(t *testing.T) {
	s := begin(t)
	outside := filepath.Join(t.TempDir(), "outside.img")
	if err := os.WriteFile(outside, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(s.dir, "images")
	for from, to := range map[string]string{"link.img": outside, "within.img": filepath.Join(repository, "disk.img")} {
		if err := os.Symlink(to, filepath.Join(repository, from)); err != nil {
			t.Fatal(err)
		}
	}
	images, err := s.Images(t.Context())
	if err != nil || len(images) != 3 {
		t.Fatalf("%+v, %v", images, err)
	}
	for _, i := range images {
		linked := i.File == "link.img"
		if (i.Path == "") != linked || (len(i.Problems) > 0) != linked {
			t.Errorf("%+v", i)
		}
		document := strings.Replace(documents(strings.TrimSuffix(i.File, ".img"), "", "")[0].Text.Reveal(), "{blank: true}", "{image: "+filepath.Join(repository, i.File)+"}", 1)
		found, err := s.Check(t.Context(), client.RenderRequest{Documents: []client.Document{{Name: "vm.yaml", Text: secret.New(document)}}})
		if refused := client.List(found).HasErrors(); err != nil || refused != linked {
			t.Errorf("%s named by a document: %+v, %v", i.File, found, err)
		}
		if linked {
			if _, err := s.Import(t.Context(), client.ImportRequest{Image: i.ID, Name: "linked"}); err != nil {
				t.Error(err)
			}
		}
	}
}
