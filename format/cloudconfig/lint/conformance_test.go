//go:build conformance

package lint

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/internal/judge"
)

// schemaCodes are the findings that cloud-init's schema would have too. The others are traps that it does not know.
var schemaCodes = []diag.Code{CodeUnknownKey, CodeUnknownField, CodeType, CodeMissing, CodeValue, CodeRelease}

// example is one document that cloud-init publishes.
type example struct {
	name string
	data []byte
}

// examples returns the published documents of a release.
func examples(t *testing.T, r *judge.Release) []example {
	var out []example
	first, second := r.ExampleDocs()
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err == nil && strings.HasSuffix(path, ".gz") {
				data, err = bounded.Gunzip(data, 1<<20)
			}
			name, _ := filepath.Rel(filepath.Dir(dir), path)
			out = append(out, example{name, data})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func guestOf(t testing.TB, r *judge.Release) Guest {
	g, err := ParseGuest("cloud-init=" + r.Name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// difference is a document on which the lint and the schema differ, and why the lint is right.
type difference struct {
	release string // empty for all
	doc     string // a file, or "generated" for all generated documents
	// schema says whether the schema is content with the document; codes is what the lint says to that.
	schema bool
	codes  []diag.Code
	why    string
}

var differences = []difference{
	{"", "examples/cloud-config-add-apt-repos.txt", true, []diag.Code{bounded.CodeDuplicateKey},
		"the example has the key apt twice, of which cloud-init drops the first silently"},
	{"22.4", "examples/cloud-config-disk-setup.txt.gz", true, []diag.Code{bounded.CodeDuplicateKey},
		"the example has the key disk_setup several times, of which cloud-init drops all but the last silently"},
	{"25.1", "examples/cloud-config-disk-setup.txt", true, []diag.Code{bounded.CodeDuplicateKey},
		"the example has the key disk_setup several times, of which cloud-init drops all but the last silently"},
	{"22.4", "examples/cloud-config-ansible-controller.txt.gz", true, []diag.Code{CodeUnknownKey},
		"packages_update is no key of any module; the schema of 22.4 accepts every top-level key"},
	{"22.4", "examples/cloud-config-ansible-pull.txt", true, []diag.Code{CodeUnknownKey},
		"packages_update is no key of any module; the schema of 22.4 accepts every top-level key"},
	{"22.4", "examples/cloud-config-datasources.txt", true, []diag.Code{CodeUnknownKey},
		"datasource is configuration of the image, without effect in user-data; the schema of 22.4 accepts every top-level key"},
	{"22.4", "examples/cloud-config.txt.gz", true, []diag.Code{CodeUnknownKey},
		"debconf_selections moved into apt long ago; the schema of 22.4 accepts every top-level key"},
	{"25.1", "examples/cloud-config-archive.txt", true, []diag.Code{cloudconfig.CodeNotMapping},
		"the schema does not look into archives; plain text in one counts as a cloud-config, which a guest drops"},
	{"25.1", "examples/cloud-config-archive-launch-index.txt", true, []diag.Code{cloudconfig.CodeNotMapping},
		"the schema does not look into archives; plain text in one counts as a cloud-config, which a guest drops"},
	{"25.1", "generated", true, []diag.Code{CodeHow},
		"the schema accepts any text as merge_how; a text that names no merger makes cloud-init drop the part"},
	{"22.4", "generated", false, nil,
		"the command crashes when it compares bytes with a pattern; in a guest the value is used"},
}

// verdict is what the lint finds that a schema could find, and what it finds deprecated.
func verdict(data []byte, g Guest) (wrong diag.List, old []string) {
	for _, d := range UserData(diag.File("f"), data, g) {
		numeric := d.Code == CodeFile && strings.Contains(d.Summary, "permissions are a number") ||
			strings.Contains(d.Summary, "permissions are the decimal")
		switch {
		case d.Code == CodeDeprecated:
			old = append(old, strings.NewReplacer("[", ".", "]", "").Replace(d.Field))
		case d.Severity == diag.Error, slices.Contains(schemaCodes, d.Code), numeric:
			wrong = append(wrong, d)
		}
	}
	slices.Sort(old)
	return wrong, slices.Compact(old)
}

func TestAgreesOnPublishedExamples(t *testing.T) {
	for _, r := range judge.Releases(t) {
		t.Run(r.Name, func(t *testing.T) {
			var docs []example
			for _, e := range examples(t, r) {
				// The command of 22.4 refuses every other kind of user-data unseen.
				if r.Name != "22.4" || cloudconfig.Recognise(e.data) == cloudconfig.CloudConfig {
					docs = append(docs, e)
				}
			}
			if len(docs) < 25 {
				t.Fatalf("the package has only %d documents", len(docs))
			}
			compare(t, r, docs, false)
		})
	}
}

func TestAgreesOnGeneratedDocuments(t *testing.T) {
	keys, err := keyTable()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range judge.Releases(t) {
		t.Run(r.Name, func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(1, 2)), guestOf(t, r).version()}
			var docs []example
			for range 1500 {
				docs = append(docs, example{"generated", g.document(keys)})
			}
			compare(t, r, docs, true)
		})
	}
}

// compare fails on every difference that is not in the table, and on every one in the table that is none.
func compare(t *testing.T, r *judge.Release, docs []example, generated bool) {
	var texts [][]byte
	for _, e := range docs {
		texts = append(texts, e.data)
	}
	g := guestOf(t, r)
	used := map[int]bool{}
	valid, agree := 0, 0
	for i, result := range r.Schema(t, judge.CloudConfig, texts) {
		wrong, old := verdict(docs[i].data, g)
		var theirs []string
		for _, p := range result.Deprecations {
			theirs = append(theirs, p.Path)
		}
		slices.Sort(theirs)
		theirs = slices.Compact(theirs)
		if result.OK() && !slices.Equal(theirs, old) {
			t.Errorf("%s: deprecated: schema %v, lint %v\n%s", docs[i].name, theirs, old, head(docs[i].data))
		}
		if result.OK() {
			valid++
		}
		if result.OK() == (len(wrong) == 0) {
			agree++
			continue
		}
		if n := explained(r, docs[i].name, result.OK(), wrong); n >= 0 {
			used[n] = true
			continue
		}
		t.Errorf("%s: schema %v, lint %+v\n%s", docs[i].name, result.Errors, wrong, head(docs[i].data))
	}
	for n, d := range differences {
		if !used[n] && (d.release == "" || d.release == r.Name) && (d.doc == "generated") == generated {
			t.Errorf("the difference about %s is none any more: %s", d.doc, d.why)
		}
	}
	t.Logf("cloud-init %s: %d documents, %d of them valid, %d agree, %d differ for a reason", r.Version, len(docs), valid, agree, len(docs)-agree)
}

// explained returns the row of the table that explains a difference, or -1.
func explained(r *judge.Release, doc string, ok bool, wrong diag.List) int {
	var codes []diag.Code
	for _, d := range wrong {
		codes = append(codes, d.Code)
	}
	slices.Sort(codes)
	codes = slices.Compact(codes)
	return slices.IndexFunc(differences, func(d difference) bool {
		return (d.release == "" || d.release == r.Name) && d.doc == doc && d.schema == ok && slices.Equal(d.codes, codes)
	})
}

func head(data []byte) []byte { return bytes.TrimSpace(data[:min(len(data), 600)]) }
