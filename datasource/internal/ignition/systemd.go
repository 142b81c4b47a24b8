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
	var out []string
	for part := range strings.SplitSeq(s, "/") {
		out = append(out, escape(part, letters+":_."))
	}
	if name := strings.Join(out, "-"); name[0] != '.' {
		return name
	}
	return `\x2e` + strings.Join(out, "-")[1:]
}

// letters are those of the names of units that are escaped nowhere.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// escape writes the bytes that are not in safe as \xNN.
func escape(s, safe string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// escapeName makes a part of the name of a unit, and of a file, of any text.
func escapeName(s string) string { return escape(s, letters+":_.-") }

// escapeUdev writes a label as udev does in the names of links (udev_util_encode_string): what is no letter, digit or one of
// #+-.:=@_ becomes \xNN, other than UTF-8.
func escapeUdev(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteString(escape(string(r), letters+"#+-.:=@_"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// oneLine reports whether texts can stand on a line of a unit.
func oneLine(texts ...string) bool { return !strings.ContainsAny(strings.Join(texts, ""), "\r\n\x00") }
