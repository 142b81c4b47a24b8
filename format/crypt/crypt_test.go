package crypt

import (
	"fmt"
	"testing"
)

// The vectors are those that Ulrich Drepper's specification of SHA-crypt publishes for the default number of rounds.
func TestSHA512(t *testing.T) {
	got, err := SHA512("Hello world!", "saltstring")
	const want = "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	for _, salt := range []string{"", "seventeen-chars!!", "a$b", "12345678901234567"} {
		if _, err := SHA512("x", salt); err == nil {
			t.Errorf("salt %q was taken", salt)
		}
	}
}

func TestSaltKeepsContextsApart(t *testing.T) {
	a, b := Salt("ab", "c"), Salt("a", "bc")
	if a == b {
		t.Error("the border between the parts does not count")
	}
	if a != Salt("ab", "c") || len(a) != 16 {
		t.Errorf("salt %q is not stable", a)
	}
}

func TestIsHash(t *testing.T) {
	for s, want := range map[string]bool{
		"$6$salt$hash": true, "$y$j9T$salt$hash": true, "$2b$10$abc": true, "!": true, "!!": true, "*": true,
		"": false, "plain": false, "$6$": false, "$$$": false, "pa$$word": false,
	} {
		if IsHash(s) != want {
			t.Errorf("IsHash(%q) = %v", s, !want)
		}
	}
}

func ExampleSHA512() {
	hash, err := SHA512("changeme", Salt("default/myvm", "core", "0"))
	fmt.Println(hash[:3], len(hash), err)
	// Output: $6$ 106 <nil>
}
