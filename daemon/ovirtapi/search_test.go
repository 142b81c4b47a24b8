package ovirtapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

type thing struct{ name, status, memory, description, start string }

func things() ([]thing, searchable[thing]) {
	return []thing{
			{"fcos", "up", "1024", "the first", "2026-01-02T03:04:05Z"},
			{"fcosvm", "down", "512", "a Virtual machine", "2026-02-02T03:04:05Z"},
			{"My VM", "image_locked", "2048", "or and page", "2025-12-31T23:59:59.5Z"},
			{"web-1", "up", "4096", "", ""},
			{"WEB-2", "powering_up", "100", "x=y", "2026-03-01T00:00:00+02:00"},
		}, searchable[thing]{noun: "things", fields: map[string]field[thing]{
			"name":        value(func(t thing) string { return t.name }),
			"status":      value(func(t thing) string { return t.status }),
			"memory":      value(func(t thing) string { return t.memory }),
			"description": value(func(t thing) string { return t.description }),
			"start":       value(func(t thing) string { return t.start }),
		}, absent: []string{"quota"}, text: []string{"name", "description"}}
}

func TestSearch(t *testing.T) {
	const all = "fcos,fcosvm,My VM,web-1,WEB-2"
	for _, c := range []struct{ search, want string }{
		{"", all},
		{"   ", all},
		{"name=fcos", "fcos"},
		{"name = fcos", "fcos"},
		{"NAME=FCOS", "fcos"},
		{`name="fcos"`, "fcos"},
		{`name="*"`, all},
		{"name=fcos*", "fcos,fcosvm"},
		{"name=*vm", "fcosvm,My VM"},
		{"name=*c*v*", "fcosvm"},
		{"name=f*s", "fcos"},
		{"name=co", ""},
		{`name="My VM"`, "My VM"},
		{"name=My VM", "My VM"},
		{"name=My VM and status=up", ""},
		{"name=My VM sortby name", "My VM"},
		{"name!=fcos", "fcosvm,My VM,web-1,WEB-2"},
		{"name != fcos*", "My VM,web-1,WEB-2"},
		{"status=up", "fcos,web-1"},
		{"status=imagelocked", "My VM"},
		{"status=image_locked", "My VM"},
		{"status=up or status=down", "fcos,fcosvm,web-1"},
		{"name=fcosvm or status=up and memory>2000", "fcosvm,web-1"},
		{"status=up and memory>2000 or name=fcosvm", "fcosvm,web-1"},
		{"name=fcos AND status=up", "fcos"},
		{"(status=up OR status=down) AND (name != web-1)", "fcos,fcosvm"},
		{"name=fcosvm or (status=up and (memory>2000 or name = fcos))", "fcos,fcosvm,web-1"},
		{"(name=web-1) sortby name", "web-1"},
		{"( status = powering_up )", "WEB-2"},
		{"(web) and (page)", ""},
		{"memory>=1024", "fcos,My VM,web-1"},
		{"memory < 1024", "fcosvm,WEB-2"},
		{"memory<=512", "fcosvm,WEB-2"},
		{"start > 2026-01-15", "fcosvm,WEB-2"},
		{"start<2026-01-01", "My VM"},
		{`start < "2026-01-02T03:04:06Z"`, "fcos,My VM"},
		{"quota=x", ""},
		{"quota!=x", all},
		{"fcos", "fcos,fcosvm"},
		{"virtual machine", "fcosvm"},
		{`"or and page"`, "My VM"},
		{"page", "My VM"},
		{"description=x=y", "WEB-2"},
		{"web and status=powering_up", "WEB-2"},
		{"sortby name", "My VM,WEB-2,fcos,fcosvm,web-1"},
		{"sortby name desc", "web-1,fcosvm,fcos,WEB-2,My VM"},
		{"status=up sortby memory desc", "web-1,fcos"},
		{"sortby memory asc page 1", "WEB-2,fcosvm,fcos,My VM,web-1"},
		{"page 1", all},
		{"page 2", ""},
		{"page 1 sortby memory", "WEB-2,fcosvm,fcos,My VM,web-1"},
		{"Vms: name=fcos", "fcos"},
		{"vms :status=down", "fcosvm"},
		{"sortby quota", all},
	} {
		objects, kind := things()
		found, err := kind.search(objects, c.search, false, -1)
		if err != nil {
			t.Errorf("%q: %v", c.search, err)
			continue
		}
		if got := names(found); got != c.want {
			t.Errorf("%q finds %q, want %q", c.search, got, c.want)
		}
	}
}

func names(found []thing) string {
	var list []string
	for _, f := range found {
		list = append(list, f.name)
	}
	return strings.Join(list, ",")
}

func TestSearchCase(t *testing.T) {
	objects, kind := things()
	for search, want := range map[string]string{"name=web*": "web-1", "name=WEB-2": "WEB-2", "VIRTUAL": "", "STATUS=UP": "fcos,web-1"} {
		found, err := kind.search(objects, search, true, -1)
		if err != nil || names(found) != want {
			t.Errorf("case-sensitive %q finds %q (%v), want %q", search, names(found), err, want)
		}
	}
}

func TestSearchPages(t *testing.T) {
	objects, kind := things()
	for _, c := range []struct {
		search string
		max    int
		want   string
	}{
		{"", 0, ""},
		{"", 2, "fcos,fcosvm"},
		{"page 2", 2, "My VM,web-1"},
		{"page 3", 2, "WEB-2"},
		{"page 4", 2, ""},
		{"page 9223372036854775807", 2, ""},
		{"status=up page 1", 1, "fcos"},
		{"status=up page 2", 1, "web-1"},
	} {
		found, err := kind.search(objects, c.search, false, c.max)
		if err != nil || names(found) != c.want {
			t.Errorf("%q with max %d finds %q (%v), want %q", c.search, c.max, names(found), err, c.want)
		}
	}
	var many []thing
	for i := range 250 {
		many = append(many, thing{name: fmt.Sprint("t", i)})
	}
	if found, _ := kind.search(many, "page 3", false, -1); len(found) != 50 {
		t.Errorf("page 3 of 250 has %d objects, want 50", len(found))
	}
}

func TestSearchErrors(t *testing.T) {
	for search, want := range map[string]string{
		"name=":                  "column 6: a value is missing",
		"=fcos":                  `column 1: the name of a field is missing before "="`,
		"!= x":                   `column 1: the name of a field is missing before "!="`,
		`name="fcos`:             "column 6: the quote is not closed",
		"name=a and":             "column 11: a criterion is missing at the end",
		"and name=a":             `column 1: a criterion is missing before "and"`,
		"name=a or or name=b":    `column 11: a criterion is missing before "or"`,
		"name=a status=up":       `column 8: "and" or "or" is missing`,
		`name="a" status=up`:     `column 10: "and" or "or" is missing`,
		"name=a sortby":          `column 14: "sortby" needs the name`,
		"name=a page 0":          `column 13: "page" needs a number from 1`,
		"page -1":                `column 6: "page" needs a number from 1`,
		"sortby name status=up":  `column 13: nothing but "sortby" and "page"`,
		"name=a and sortby name": "column 12: a criterion is missing before",
		"(name=a":                "column 1: the parenthesis is not closed",
		"(name=a and)":           "column 12: a criterion is missing at the end",
		"name=a and ()":          "column 12: there is nothing in the parentheses",
		"(name=a) (name=b)":      `column 10: "and" or "or" is missing`,
		"(name=a sortby name)":   `column 9: "sortby" and "page" do not stand in parentheses`,
		"(name=a sortby name":    `column 9: "sortby" and "page" do not stand in parentheses`,
		strings.Repeat("(", 20):  "column 17: more than 16 parentheses",
		strings.Repeat("(name=a or name=b or name=c or name=d) and ", 4) + "name=e": "more than 128 alternatives",
		"colour=red":                 `things have no field "colour"`,
		"name=a sortby colour":       `things have no field "colour" to sort by`,
		"name=\xff":                  "column 1: the text is not valid UTF-8",
		strings.Repeat("x", 5000):    "longer than 4096 bytes",
		strings.Repeat("name ", 200): "more than 128 criteria",
	} {
		objects, kind := things()
		found, err := kind.search(objects, search, false, -1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q finds %q with error %v, want one with %q", search, names(found), err, want)
		}
	}
}

func TestWildcard(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"*", "", true}, {"**", "x", true}, {"a*", "a", true}, {"a*b", "ab", true}, {"a*b", "a", false},
		{"*ab", "aab", true}, {"*a*a*", "a", false}, {"a", "ab", false}, {"ab", "a", false}, {"*", "é*", true},
	} {
		if got := wildcard(c.pattern, c.text); got != c.want {
			t.Errorf("wildcard(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
	// A pattern that makes naive matchers take exponential time.
	if wildcard(strings.Repeat("*a", 40)+"b", strings.Repeat("a", 4000)) {
		t.Error("a text without b matches a pattern that ends in b")
	}
}

// FuzzSearch: no text makes the parser fail otherwise than with an error, and what a parsed text finds are objects it
// was given, each at most once.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{"", "name=fcos", `name="a b" and status!=up or memory>=5 sortby name desc page 2`, "Vms: x y", "(a=b or (c)) and d", "a*b", "page page", "=", `"`} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, caseSensitive bool) {
		objects, kind := things()
		found, err := kind.search(objects, text, caseSensitive, -1)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		seen := map[string]bool{}
		for _, o := range found {
			if seen[o.name] || !slices.Contains(objects, o) {
				t.Errorf("%q finds %q twice or out of nowhere", text, o.name)
			}
			seen[o.name] = true
		}
		again, err := kind.search(objects, text, caseSensitive, -1)
		if err != nil || !slices.Equal(found, again) {
			t.Errorf("%q finds something else the second time", text)
		}
	})
}
