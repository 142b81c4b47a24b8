package ovirtapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Budgets of a search text: far above what anybody types, far below what costs time.
const (
	maxSearchBytes = 4096
	maxSearchTerms = 128
	maxSearchDepth = 16
	// defaultPageSize is how many objects a page has when a search names a page and the request no maximum.
	defaultPageSize = 100
)

// operator compares an object's value with that of a condition.
type operator string

const (
	opEqual          operator = "="
	opNotEqual       operator = "!="
	opLess           operator = "<"
	opLessOrEqual    operator = "<="
	opGreater        operator = ">"
	opGreaterOrEqual operator = ">="
)

// condition is one criterion. With an empty field it is free text, which any text field may contain.
type condition struct {
	field string
	op    operator
	value string
}

// query is a parsed search text: groups of conditions, of which one group must hold as a whole.
// A query without groups matches every object.
type query struct {
	groups     [][]condition
	sortBy     string
	descending bool
	// page counts from 1; 0 means that the text names no page.
	page int
}

// searchError is a search text that is not understood.
type searchError struct {
	// offset is the byte offset in the text.
	offset int
	what   string
}

func (e *searchError) Error() string {
	return fmt.Sprintf("column %d: %s", e.offset+1, e.what)
}

// parseSearch reads oVirt's search language: criteria of the form field, operator, value, joined by "and" and "or" ("and"
// binds tighter) and grouped by parentheses, free text, then "sortby FIELD [asc|desc]" and "page N". Values with blanks may
// stand in double quotes; without quotes a value ends at the next keyword. "*" in a value stands for any text. Keywords and
// field names are read in any case. A leading kind ("Vms:") is accepted, as people copy searches out of the web interface.
func parseSearch(text string) (query, error) {
	if len(text) > maxSearchBytes {
		return query{}, &searchError{0, fmt.Sprintf("the text is longer than %d bytes", maxSearchBytes)}
	}
	if !utf8.ValidString(text) {
		return query{}, &searchError{0, "the text is not valid UTF-8"}
	}
	p := &searchParser{text: text}
	p.kind()
	return p.query()
}

type searchParser struct {
	text  string
	at    int
	terms int
	// depth counts the parentheses that are open.
	depth int
}

// kind skips "Vms:" at the front.
func (p *searchParser) kind() {
	trimmed := strings.TrimLeftFunc(p.text, unicode.IsSpace)
	word := trimmed
	if i := strings.IndexFunc(trimmed, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		word = trimmed[:i]
	}
	rest := strings.TrimLeftFunc(trimmed[len(word):], unicode.IsSpace)
	if word == "" || !strings.HasPrefix(rest, ":") {
		return
	}
	switch strings.ToLower(word) {
	case "vm", "vms", "template", "templates", "storage", "disk", "disks", "cluster", "clusters", "datacenter", "host", "hosts",
		"event", "events", "user", "users", "network", "networks", "vnicprofile", "job", "jobs":
		p.at = len(p.text) - len(rest) + 1
	}
}

func (p *searchParser) query() (query, error) {
	var q query
	groups, err := p.groups(&q)
	q.groups = groups
	return q, err
}

// groups reads criteria up to the end of the text, with the tail that q gets, or up to the parenthesis that closes them.
func (p *searchParser) groups(q *query) ([][]condition, error) {
	var done [][]condition
	group := [][]condition{nil} // what "and" has joined so far, as alternatives
	joined := false             // "and" or "or" was read and waits for its right side
	for last := ""; ; {
		p.space()
		start := p.at
		if p.at == len(p.text) || p.depth > 0 && p.text[p.at] == ')' {
			if joined {
				return nil, &searchError{start, "a criterion is missing at the end"}
			}
			break
		}
		if word := p.peekWord(); p.depth > 0 && (isKeyword(word, "sortby") || isKeyword(word, "page") && p.isPage()) {
			return nil, &searchError{start, `"sortby" and "page" do not stand in parentheses`}
		}
		if tail, err := p.tail(q); err != nil {
			return nil, err
		} else if tail {
			if joined {
				return nil, &searchError{start, `a criterion is missing before "sortby" or "page"`}
			}
			break
		}
		if word := p.peekWord(); isKeyword(word, "and", "or") {
			if joined || group[0] == nil {
				return nil, &searchError{start, fmt.Sprintf("a criterion is missing before %q", word)}
			}
			p.at += len(word)
			if strings.EqualFold(word, "or") {
				done, group = append(done, group...), [][]condition{nil}
			}
			joined = true
			continue
		}
		if !joined && group[0] != nil && last != "" {
			return nil, &searchError{start, `"and" or "or" is missing between two criteria`}
		}
		right, field, err := p.criterion(q)
		if err != nil {
			return nil, err
		}
		if len(group)*len(right) > maxSearchTerms {
			return nil, &searchError{start, fmt.Sprintf("the parentheses come to more than %d alternatives", maxSearchTerms)}
		}
		group, joined, last = both(group, right), false, field
	}
	if group[0] != nil {
		done = append(done, group...)
	}
	return done, nil
}

// both joins two sides of an "and", each of which is a list of alternatives.
func both(left, right [][]condition) [][]condition {
	var all [][]condition
	for _, l := range left {
		for _, r := range right {
			all = append(all, slices.Concat(l, r))
		}
	}
	return all
}

// criterion reads one condition, whose field it returns, or what stands in parentheses.
func (p *searchParser) criterion(q *query) (alternatives [][]condition, field string, err error) {
	start := p.at
	if p.text[p.at] != '(' {
		c, err := p.condition()
		if p.terms++; err == nil && p.terms > maxSearchTerms {
			err = &searchError{start, fmt.Sprintf("more than %d criteria", maxSearchTerms)}
		}
		return [][]condition{{c}}, c.field, err
	}
	if p.depth++; p.depth > maxSearchDepth {
		return nil, "", &searchError{start, fmt.Sprintf("more than %d parentheses inside each other", maxSearchDepth)}
	}
	p.at++
	if alternatives, err = p.groups(q); err != nil {
		return nil, "", err
	}
	switch {
	case p.at == len(p.text):
		return nil, "", &searchError{start, "the parenthesis is not closed"}
	case len(alternatives) == 0:
		return nil, "", &searchError{start, "there is nothing in the parentheses"}
	}
	p.at++
	p.depth--
	return alternatives, ")", nil
}

// tail reads "sortby" and "page" with what belongs to them; nothing but each other may follow them.
func (p *searchParser) tail(q *query) (bool, error) {
	found := false
	for {
		p.space()
		start := p.at
		word := p.peekWord()
		switch {
		case isKeyword(word, "sortby") && q.sortBy == "":
			p.at += len(word)
			p.space()
			field := p.peekWord()
			if field == "" {
				return false, &searchError{p.at, `"sortby" needs the name of a field`}
			}
			p.at += len(field)
			q.sortBy = strings.ToLower(field)
			p.space()
			if order := p.peekWord(); isKeyword(order, "asc", "desc") {
				p.at += len(order)
				q.descending = strings.EqualFold(order, "desc")
			}
			found = true
		case isKeyword(word, "page") && p.isPage():
			p.at += len(word)
			p.space()
			number := p.peekWord()
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				return false, &searchError{p.at, `"page" needs a number from 1 on`}
			}
			p.at += len(number)
			q.page = n
			found = true
		case !found:
			return false, nil
		case p.at == len(p.text):
			return true, nil
		default:
			return false, &searchError{start, `nothing but "sortby" and "page" may stand here`}
		}
	}
}

// isPage says whether the word "page" at the cursor begins a page number: as free text the word is followed by
// something else.
func (p *searchParser) isPage() bool {
	rest := strings.TrimLeftFunc(p.text[p.at+len("page"):], unicode.IsSpace)
	return rest != "" && (rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9')
}

// condition reads one criterion or one piece of free text.
func (p *searchParser) condition() (condition, error) {
	start := p.at
	if p.text[p.at] == '"' {
		text, err := p.quoted()
		return condition{op: opEqual, value: text}, err
	}
	word := p.peekWord()
	p.at += len(word)
	after := p.at
	p.space()
	op := p.operator()
	switch {
	case op == "" && word == "":
		return condition{}, &searchError{start, "the name of a field or a text is missing"}
	case op == "":
		p.at = after
		return condition{op: opEqual, value: word}, nil
	case word == "":
		return condition{}, &searchError{start, fmt.Sprintf("the name of a field is missing before %q", string(op))}
	}
	p.space()
	value, err := p.value()
	if err != nil {
		return condition{}, err
	}
	return condition{field: strings.ToLower(word), op: op, value: value}, nil
}

// value reads what stands after an operator: a quoted text, or words up to the next keyword.
func (p *searchParser) value() (string, error) {
	if p.at == len(p.text) {
		return "", &searchError{p.at, "a value is missing at the end"}
	}
	if p.text[p.at] == '"' {
		return p.quoted()
	}
	start, end := p.at, p.at
	for {
		p.at = end
		p.space()
		word := p.rawWord()
		if word == "" || end > start && (p.endsValue(word)) {
			p.at = end
			return p.text[start:end], nil
		}
		end = p.at + len(word)
	}
}

// endsValue says whether a word after the first of a value is no longer part of it.
func (p *searchParser) endsValue(word string) bool {
	if isKeyword(word, "and", "or", "sortby") || isKeyword(word, "page") && p.isPage() || word[0] == '"' {
		return true
	}
	// "name=a status=up": the second word is the next criterion, to which a joining word is missing.
	if strings.ContainsAny(word, "=<>") {
		return true
	}
	rest := strings.TrimLeftFunc(p.text[p.at+len(word):], unicode.IsSpace)
	return rest != "" && (strings.ContainsRune("=<>", rune(rest[0])) || strings.HasPrefix(rest, "!="))
}

func (p *searchParser) quoted() (string, error) {
	start := p.at
	end := strings.IndexByte(p.text[start+1:], '"')
	if end < 0 {
		return "", &searchError{start, "the quote is not closed"}
	}
	p.at = start + 1 + end + 1
	return p.text[start+1 : start+1+end], nil
}

func (p *searchParser) operator() operator {
	for _, op := range [...]operator{opNotEqual, opLessOrEqual, opGreaterOrEqual, opEqual, opLess, opGreater} {
		if strings.HasPrefix(p.text[p.at:], string(op)) {
			p.at += len(op)
			return op
		}
	}
	return ""
}

func (p *searchParser) space() {
	rest := strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace)
	p.at = len(p.text) - len(rest)
}

// rawWord is the text at the cursor up to the next blank, or up to the parenthesis that closes an open one.
func (p *searchParser) rawWord() string {
	rest := p.text[p.at:]
	if i := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == ')' && p.depth > 0 }); i >= 0 {
		return rest[:i]
	}
	return rest
}

// peekWord is the text at the cursor up to the next blank, quote or operator.
func (p *searchParser) peekWord() string {
	word := p.rawWord()
	if i := strings.IndexAny(word, `"=<>`); i >= 0 {
		word = word[:i]
		if strings.HasPrefix(p.text[p.at+i:], "=") {
			word = strings.TrimSuffix(word, "!")
		}
	}
	return word
}

func isKeyword(word string, keywords ...string) bool {
	for _, k := range keywords {
		if strings.EqualFold(word, k) {
			return true
		}
	}
	return false
}
