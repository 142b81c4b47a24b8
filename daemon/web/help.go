package web

import (
	"net/http"
	"strings"
)

// span is a part of a text, which is code or not.
type span struct {
	Text string
	Code bool
}

// helpView is what the page of a diagnostic shows.
type helpView struct {
	Code, Title string
	Paragraphs  [][]span
}

// help is the page of what a diagnostic means and how to mend it.
func (s *site) help(r *http.Request) (page, error) {
	code := strings.ToUpper(r.PathValue("code"))
	for _, e := range s.options.Explanations {
		if e.Code.String() == code {
			v := helpView{Code: code, Title: e.Title}
			for _, p := range strings.Split(e.Text, "\n") {
				if strings.TrimSpace(p) != "" {
					v.Paragraphs = append(v.Paragraphs, spans(p))
				}
			}
			return page{template: "help", Title: code + ": " + e.Title, Own: true, View: v}, nil
		}
	}
	return page{}, &refusal{http.StatusNotFound}
}

// spans splits a text at the backquotes around code, which is all that explanations use of Markdown.
func spans(text string) []span {
	var out []span
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			out = append(out, span{part, i%2 == 1})
		}
	}
	return out
}
