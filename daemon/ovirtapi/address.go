package ovirtapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Prefix is the path below which oVirt's API lives. Both SDKs keep scheme, host and port of the URL they are given and
// set some paths themselves, so it cannot be another.
const Prefix = "/ovirt-engine/api"

// address is what the URL and the headers of a request say, apart from its body.
type address struct {
	// segments are the names of the path below Prefix, without the version.
	segments []string
	// params are query and matrix parameters ("vms;max=5") together, by lower-case name.
	params url.Values
}

// parseAddress reads a path below Prefix. Empty segments are dropped: SDKs whose base URL ends in "/" ask for
// "/ovirt-engine/api//vms".
func parseAddress(u *url.URL, header http.Header) (address, *fault) {
	a := address{params: url.Values{}}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, badSyntax("the query string is malformed: " + err.Error())
	}
	for name, values := range query {
		a.add(name, values...)
	}
	version := header.Get("Version")
	rest, below := strings.CutPrefix(collapse(u.EscapedPath()), Prefix)
	if !below || rest != "" && rest[0] != '/' && rest[0] != ';' {
		return a, notFound()
	}
	for i, raw := range strings.Split(strings.Trim(rest, "/"), "/") {
		name, matrix, _ := strings.Cut(raw, ";")
		if name, err = url.PathUnescape(name); err != nil {
			return a, badSyntax("the path is malformed: " + err.Error())
		}
		if err := a.matrix(matrix); err != nil {
			return a, badSyntax("the path is malformed: " + err.Error())
		}
		if i == 0 && len(name) > 1 && name[0] == 'v' && allDigits(name[1:]) {
			version = name[1:]
			continue
		}
		if name != "" {
			a.segments = append(a.segments, name)
		}
	}
	if version != "" && version != "4" {
		return a, &fault{status: http.StatusBadRequest, reason: "Unsupported version",
			detail: fmt.Sprintf("API version %q is not offered; ask for version 4", version)}
	}
	return a, nil
}

// collapse makes one slash of several.
func collapse(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

func allDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

func (a *address) add(name string, values ...string) {
	name = strings.ToLower(name)
	a.params[name] = append(a.params[name], values...)
}

// matrix reads "max=5;case_sensitive" behind a path segment.
func (a *address) matrix(text string) error {
	for pair := range strings.SplitSeq(text, ";") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.PathUnescape(name)
		if err != nil {
			return err
		}
		if value, err = url.PathUnescape(value); err != nil {
			return err
		}
		a.add(name, value)
	}
	return nil
}

// text is a parameter's value, "" without one. A parameter given several times has its first value.
func (a *address) text(name string) string { return a.params.Get(name) }

// list is what a parameter names, separated by commas, in one parameter or several.
func (a *address) list(name string) []string {
	var list []string
	for _, value := range a.params[name] {
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" && !slices.Contains(list, part) {
				list = append(list, part)
			}
		}
	}
	return list
}

// flag is a parameter of two values. A parameter without a value is true; without the parameter it is otherwise.
func (a *address) flag(name string, otherwise bool) (bool, *fault) {
	values, given := a.params[name]
	if !given {
		return otherwise, nil
	}
	value, ok := parseFlag(values[0])
	if !ok {
		return false, badValue(fmt.Sprintf("parameter %s: %q is not a boolean; use true or false", name, values[0]))
	}
	return value, nil
}

func parseFlag(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "", "true", "t", "yes", "y", "1":
		return true, true
	case "false", "f", "no", "n", "0":
		return false, true
	}
	return false, false
}

// number is a parameter that counts; without it the result is otherwise.
func (a *address) number(name string, otherwise int) (int, *fault) {
	values, given := a.params[name]
	if !given {
		return otherwise, nil
	}
	n, err := strconv.Atoi(values[0])
	if err != nil {
		return 0, badValue(fmt.Sprintf("parameter %s: %q is not a number", name, values[0]))
	}
	return n, nil
}
