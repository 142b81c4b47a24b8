package web

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
)

//go:embed templates ui/src/texts
var sources embed.FS

// page is what a template shows.
type page struct {
	// template is the file with the content.
	template string
	// Name is how the script knows the page; without one it has no script.
	Name string
	// Title is what the browser calls it: the key of a text, or a text where Own is set.
	Title string
	Own   bool
	// Nav is the key of the link in the head that leads here.
	Nav string
	// Data is for the script.
	Data map[string]any
	// View is for the template.
	View any

	// User is who sees it.
	User string
}

// pages are the templates and their texts.
type pages struct {
	templates map[string]*template.Template
	texts     map[string]string
}

func openPages(a *assets) (*pages, error) {
	p := &pages{templates: map[string]*template.Template{}, texts: map[string]string{}}
	if err := p.readTexts(); err != nil {
		return nil, fmt.Errorf("the texts of the page: %w", err)
	}
	layout, err := template.New("layout.html").Funcs(p.functions(a)).ParseFS(sources, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(sources, "templates/*.html")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		t, err := layout.Clone()
		if err == nil {
			t, err = t.ParseFS(sources, file)
		}
		if err != nil {
			return nil, err
		}
		p.templates[name] = t
	}
	return p, nil
}

// readTexts reads all texts. A key is file.name, or the name alone of those that are everywhere and of those that are the server's.
func (p *pages) readTexts() error {
	files, err := fs.Glob(sources, "ui/src/texts/*.json")
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := sources.ReadFile(file)
		var tree map[string]any
		if err == nil {
			err = json.Unmarshal(data, &tree)
		}
		if err != nil {
			return err
		}
		prefix := strings.TrimSuffix(path.Base(file), ".json") + "."
		if prefix == "common." || prefix == "server." {
			prefix = ""
		}
		p.flatten(prefix, tree)
	}
	return nil
}

// flatten keeps the texts of a tree, a_b for the text b in the tree a.
func (p *pages) flatten(prefix string, tree map[string]any) {
	for key, v := range tree {
		switch v := v.(type) {
		case string:
			p.texts[prefix+key] = v
		case map[string]any:
			p.flatten(prefix+key+"_", v)
		}
	}
}

// functions are what templates may call.
func (p *pages) functions(a *assets) template.FuncMap {
	return template.FuncMap{
		"t":      p.text,
		"asset":  a.url,
		"style":  a.style,
		"script": a.main,
		"needed": a.needed,
		"time":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"bytes":  showBytes,
		"day":    func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"rest":   func(list []string) string { return strconv.Itoa(len(list) - 1) },
		"status": p.status,
		"head":   func(id string) string { return id[:min(8, len(id))] },
		"state":  p.state,
		"boot":   p.boot,
	}
}

// text returns a text with values in the place of {names}, which are given in pairs.
func (p *pages) text(key string, values ...string) string {
	text, ok := p.texts[key]
	if !ok {
		return key
	}
	for i := 0; i+1 < len(values); i += 2 {
		values[i] = "{" + values[i] + "}"
	}
	return strings.NewReplacer(values...).Replace(text)
}

// showBytes writes a size with a binary unit, as the script does: with one digit behind the point where that says something.
func showBytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n), 0
	for size >= 1023.95 && unit < 5 {
		size, unit = size/1024, unit+1
	}
	digits := 1
	if size >= 100 {
		digits = 0
	}
	return strings.TrimSuffix(strconv.FormatFloat(size, 'f', digits, 64), ".0") + " " + string(" KMGTP"[unit]) + "iB"
}

// policy is what a page may load and do: the daemon's own files, and nothing that stands in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// protect sets what holds for all answers. Files that never change say so themselves.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	// With less than this a browser does not say from which origin a form comes.
	h.Set("Referrer-Policy", "same-origin")
}

// write sends a page to a user. It is never compressed: it holds what a user searched for next to the key of the drafts, and the size of
// the two packed together would say something about either.
func (s *site) write(w http.ResponseWriter, status int, p page, id auth.Identity) error {
	p.User = id.Name
	if p.Name != "" {
		key, err := s.options.Guard.DraftKey(id)
		if err != nil {
			return err
		}
		p.Data["user"], p.Data["draftKey"] = id.Name, base64.StdEncoding.EncodeToString([]byte(key.Reveal()))
	}
	if !p.Own {
		p.Title = s.pages.text(p.Title)
	}
	var b bytes.Buffer
	if err := s.pages.templates[p.template].Execute(&b, p); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
	return nil
}

// show sends a page that does not depend on the user.
func (s *site) show(w http.ResponseWriter, r *http.Request, status int, p page) {
	id, _ := auth.FromContext(r.Context())
	if err := s.write(w, status, p, id); err != nil {
		s.options.Log.Error("a page cannot be shown", "path", r.URL.Path, "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	}
}

// refuse sends the page of an error.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, status int) {
	s.show(w, r, status, page{template: "error", Title: "error" + strconv.Itoa(status), View: status})
}

// licences shows those of the libraries in the script.
func (s *site) licences(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(s.assets.licences)
}
