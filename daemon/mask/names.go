package mask

import (
	"strings"
	"unicode/utf8"
)

// telling are the names that word stands for. Looking for them first spares the expressions the lines in which they find nothing,
// which are nearly all: a preview is masked at each key stroke.
var telling = []string{"password", "passwd", "passphrase", "secret", "token", "private", "credential", "apikey", "api_key", "accesskey", "access_key"}

// tells reports whether a text may hold one of those names. Letters beyond ASCII may stand for others in any case.
func tells(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf {
			return true
		}
		switch c | 0x20 {
		case 'a', 'c', 'p', 's', 't':
			for _, name := range telling {
				if len(text)-i >= len(name) && strings.EqualFold(text[i:i+len(name)], name) {
					return true
				}
			}
		}
	}
	return false
}

// inLines replaces those lines of a text that may hold such a name by what a function makes of them.
func inLines(text string, replace func(line string) string) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		if old := text[at:end]; tells(old) {
			if masked := replace(old); masked != old {
				b.WriteString(text[done:at])
				b.WriteString(masked)
				done = end
			}
		}
		at = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// nextTelling is where the first line from a place on begins that may hold such a name, or -1. The place is the begin of a line.
func nextTelling(text string, at int) int {
	for at < len(text) {
		end := lineEnd(text, at)
		if tells(text[at:end]) {
			return at
		}
		at = end
	}
	return -1
}

// lineEnd is the place behind a line.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
