//go:build linux

package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/vmseed/vmseed/daemon/auth"
)

// maxWeight is what a page may weigh before the console and the editor are asked for, compressed, in bytes: the script and the modules
// that it needs at once, and the look.
const maxWeight = 300_000

// entry is what the build says about an entry point.
type entry struct {
	File    string
	Imports []string
}

func manifest(t *testing.T) map[string]entry {
	t.Helper()
	data, err := os.ReadFile("dist/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]entry
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestWeight weighs what a browser gets for each page.
func TestWeight(t *testing.T) {
	s := begin(t, auth.Options{})
	m := manifest(t)
	always := append([]string{m["main.js"].File, m["style.css"].File}, m["main.js"].Imports...)
	for _, page := range []string{"machines", "machine", "compose", "images"} {
		files := slices.Concat(always, []string{m[page+".js"].File}, m[page+".js"].Imports)
		slices.Sort(files)
		total := 0
		for _, name := range slices.Compact(files) {
			a := s.do(t, http.MethodGet, "/assets/"+name, "", "Accept-Encoding", "gzip")
			if a.StatusCode != http.StatusOK {
				t.Fatal(name, a.Status)
			}
			total += len(a.text)
		}
		t.Logf("%s weighs %d bytes", page, total)
		if total > maxWeight || total < 5_000 {
			t.Errorf("%s weighs %d bytes", page, total)
		}
	}
}

// TestAssets gets every file of the page once, for good.
func TestAssets(t *testing.T) {
	s := begin(t, auth.Options{})
	files, err := os.ReadDir("dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "manifest.json" || f.Name() == "licences.txt" {
			continue
		}
		want, err := os.ReadFile(filepath.Join("dist", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		path := "/assets/" + f.Name()
		plain, packed := s.do(t, http.MethodGet, path, "", "Accept-Encoding", "identity"), s.do(t, http.MethodGet, path, "", "Accept-Encoding", "br;q=1, gzip; q=0.8")
		got := []byte(packed.text)
		if packed.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(bytes.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			if got, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		} else if len(want) > 1000 {
			t.Errorf("%s is not compressed", path)
		}
		kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}[filepath.Ext(path)]
		if plain.text != string(want) || !bytes.Equal(got, want) || plain.Header.Get("Content-Type") != kind || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %v, %v", path, plain.Header, packed.Header)
		}
		for _, a := range []answer{plain, packed} {
			if a.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || a.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %v", path, a.Header)
			}
			again := s.do(t, http.MethodGet, path, "", "If-None-Match", `"x", W/`+a.Header.Get("ETag"), "Accept-Encoding", map[bool]string{true: "gzip", false: "identity"}[a.Header.Get("Content-Encoding") != ""])
			if again.StatusCode != http.StatusNotModified || again.text != "" || again.Header.Get("ETag") != a.Header.Get("ETag") {
				t.Errorf("%s: again: %s, %v", path, again.Status, again.Header)
			}
		}
		if head := s.do(t, http.MethodHead, path, "", "Accept-Encoding", "gzip;q=0"); head.text != "" || head.ContentLength != int64(len(want)) {
			t.Errorf("%s: the head says %d bytes", path, head.ContentLength)
		}
	}
}

// The patterns are what the policy would stop, or trusted types would. The framework has a way to set HTML, which the sources do not use.
var (
	code = regexp.MustCompile(`document\.write\(|\beval\(|new Function\(|\bimportScripts\(|insertAdjacentHTML\(`)
	html = regexp.MustCompile(`(?i)innerHTML|outerHTML|setAttribute\(.style|createContextualFragment|javascript:\w`)
	// address is a URL of another host, as a text.
	address = regexp.MustCompile("[\"'`](?:https?:)?//[A-Za-z0-9-]+\\.[^\"'`]*")
	// names are identifiers that are written as URLs, and examples: nothing that is asked for.
	names = regexp.MustCompile(`^https?://(www\.w3\.org|libosinfo\.org|ovirt\.org|vmseed\.dev|schemas\.dmtf\.org|example\.(org|com|net))/`)
)

// TestBundle looks for what could run or load anything else than the page's own files.
func TestBundle(t *testing.T) {
	built, err := filepath.Glob("dist/*.*s*")
	if err != nil || len(built) < 4 {
		t.Fatal(built, err)
	}
	for _, file := range built {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range code.FindAllIndex(data, -1) {
			t.Errorf("%s: …%s…", file, data[max(0, found[0]-80):min(len(data), found[1]+80)])
		}
		for _, found := range address.FindAll(data, -1) {
			if text := string(found[1:]); !names.MatchString(text) {
				t.Errorf("%s: %s", file, text)
			}
		}
		if filepath.Ext(file) == ".css" && (bytes.Contains(data, []byte("@import")) || bytes.Contains(data, []byte("url(http"))) {
			t.Errorf("%s loads more", file)
		}
	}
	sources := 0
	err = filepath.WalkDir("ui/src", func(file string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(file); err != nil || ext != ".ts" && ext != ".tsx" {
			return err
		}
		sources++
		data, err := os.ReadFile(file)
		if found := html.Find(data); found != nil {
			t.Errorf("%s: %s", file, found)
		}
		return err
	})
	if err != nil || sources < 20 {
		t.Errorf("%d sources, %v", sources, err)
	}
}
