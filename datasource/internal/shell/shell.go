// Package shell makes text for the guest's shell out of data. Whoever writes a script or an environment file quotes with it.
package shell

import (
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/machine"
)

// plain are the characters that mean themselves everywhere.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_"

// Word makes one word of s.
func Word(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Words makes a command line of an argument vector.
func Words(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = Word(a)
	}
	return strings.Join(out, " ")
}

// Value is the value of a variable in a file that sh and systemd's EnvironmentFile read alike. It is put into double
// quotes where it needs them. A line break stays a line break inside the quotes, so it cannot begin a variable of its own.
func Value(s string) string {
	if strings.Trim(s, plain) == "" {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
}

// CheckVariable says what is wrong with a variable in words that do not show its value, and what to do about it. Both are
// empty for one that an environment can hold.
func CheckVariable(v machine.Variable) (wrong, remedy string) {
	value := v.Value.Reveal()
	switch {
	case v.Name == "", strings.ContainsFunc(v.Name, func(r rune) bool { return r <= ' ' || r == '=' || r == 0x7f }):
		return "%q cannot be the name of a variable", "use letters, digits and underscores"
	case strings.ContainsRune(value, 0), !utf8.ValidString(value):
		return "the value of variable %q is no text", "put the value into a file"
	}
	return "", ""
}
