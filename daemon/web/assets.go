package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed dist static
var embedded embed.FS

// The files that the server itself names.
const (
	iconFile     = "icon.svg"
	licencesFile = "licences.txt"
	manifestFile = "manifest.json"
)

// asset is an embedded file.
type asset struct {
	content     []byte
	contentType string
	etag        string
	// packed returns the content compressed, or nil where that is not worth it.
	packed func() []byte
}

// assets are the embedded files by their public names, each of which has a digest of the content in it.
type assets struct {
	files map[string]*asset
	// public are the names by those that the files have among the sources.
	public map[string]string
	// licences are those of the libraries in the script.
	licences []byte
	// manifest says what each page loads.
	manifest map[string]entry
}

// entry is what the manifest of the build says about an entry point.
type entry struct {
	File    string   `json:"file"`
	Imports []string `json:"imports"`
}

// The entry points of the build. Each page of the script has one of its own, named after it.
const (
	mainEntry  = "main.js"
	styleEntry = "style.css"
)

func openAssets() (*assets, error) {
	a := &assets{files: map[string]*asset{}, public: map[string]string{}}
	err := fs.WalkDir(embedded, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(file)
		if err != nil {
			return err
		}
		switch name := path.Base(file); name {
		case manifestFile:
			return json.Unmarshal(data, &a.manifest)
		case licencesFile:
			a.licences = data
		default:
			a.add(name, data, path.Dir(file) == "dist")
		}
		return nil
	})
	if err == nil && (a.manifest[mainEntry].File == "" || a.manifest[styleEntry].File == "") {
		err = fmt.Errorf("%s names no %s or %s", manifestFile, mainEntry, styleEntry)
	}
	for _, e := range a.manifest {
		for _, name := range append(e.Imports, e.File) {
			if a.files[name] == nil {
				err = errors.Join(err, fmt.Errorf("%s is missing", name))
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the page is not whole: %w", err)
	}
	return a, nil
}

// main is where the script is that every page loads, and style where the look is.
func (a *assets) main() string  { return pathAssets + a.manifest[mainEntry].File }
func (a *assets) style() string { return pathAssets + a.manifest[styleEntry].File }

// needed are the files that a page's script will ask for one after the other, unless it is given them at once.
func (a *assets) needed(page string) []string {
	own := a.manifest[page+".js"]
	all := slices.Concat(a.manifest[mainEntry].Imports, []string{own.File}, own.Imports)
	var out []string
	for _, name := range all {
		if name != "" && !slices.Contains(out, pathAssets+name) && name != a.manifest[mainEntry].File {
			out = append(out, pathAssets+name)
		}
	}
	return out
}

// add adds a file. Those of the build have a digest in their names already.
func (a *assets) add(name string, data []byte, built bool) {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:8])
	public := name
	if !built {
		ext := path.Ext(name)
		public = strings.TrimSuffix(name, ext) + "-" + digest + ext
	}
	f := &asset{content: data, contentType: contentType(name), etag: digest}
	f.packed = sync.OnceValue(func() []byte { return pack(data) })
	a.files[public], a.public[name] = f, public
}

// contentType does not ask the host, whose tables may say anything.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	}
	return "application/octet-stream"
}

// pack compresses a file, or returns nil when that saves nothing.
func pack(data []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a good one
	_, _ = z.Write(data)                                  // a Buffer takes everything
	_ = z.Close()
	if b.Len() >= len(data) {
		return nil
	}
	return b.Bytes()
}

// url is where a file of the sources is served.
func (a *assets) url(name string) string { return pathAssets + a.public[name] }

// ServeHTTP serves a file. Its name says what is in it, so a browser asks for it once.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := a.files[r.PathValue("name")]
	if f == nil {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", f.contentType)
	h.Set("Vary", "Accept-Encoding")
	content, etag := f.content, f.etag
	if packed := f.packed(); packed != nil && acceptsGzip(r) {
		content, etag = packed, etag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+etag+`"`)
	if matches(r.Header.Get("If-None-Match"), etag) {
		h.Del("Content-Type")
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(content)
	}
}

// acceptsGzip reads Accept-Encoding (RFC 9110 section 12.5.3) as far as browsers use it.
func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, found := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			v, err := strconv.ParseFloat(q, 64)
			return !found || err == nil && v > 0
		}
	}
	return false
}

// matches reads If-None-Match (RFC 9110 section 13.1.2).
func matches(header, etag string) bool {
	for _, part := range strings.Split(header, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if part == "*" || part == `"`+etag+`"` {
			return true
		}
	}
	return false
}
