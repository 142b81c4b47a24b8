package ignition

import (
	"fmt"
	"strings"
)

// unitText writes a value of a unit, in which a percent sign begins a specifier (systemd.unit(5)). The value stands on
// one line and is not split into words.
func unitText(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// unitWord writes one word of a list of words, in quotes and with the escapes of C (systemd.syntax(7)).
func unitWord(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '%':
			b.WriteString("%%")
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escapePath makes the name of a unit of a path, as systemd-escape --path does (systemd.unit(5)): slashes become hyphens,
// anything but letters, digits, colons, underscores and dots, and a dot at the beginning, becomes \xNN.
func escapePath(path string) string {
	s := strings.Trim(path, "/")
	if s == "" {
		return "-"
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '/':
			b.WriteByte('-')
		case c == '.' && i == 0:
			b.WriteString(`\x2e`)
		case strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// escapeUdev writes a label as udev does in the names of links (udev_util_encode_string): what is no letter, digit or one of
// #+-.:=@_ becomes \xNN, other than UTF-8.
func escapeUdev(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 || strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789#+-.:=@_", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// oneLine reports whether texts can stand on a line of a unit.
func oneLine(texts ...string) bool { return !strings.ContainsAny(strings.Join(texts, ""), "\r\n\x00") }
