// Package crypt makes the password hashes that guests keep in /etc/shadow, in the notation of crypt(5).
package crypt

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/GehirnInc/crypt/sha512_crypt"
)

// alphabet is that of salts in crypt(5).
const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// saltLength is the most that sha512-crypt uses of a salt.
const saltLength = 16

// SHA512 hashes a password with sha512-crypt ($6$) and its default of 5000 rounds, which every guest understands.
// The salt has 1 to 16 characters of the alphabet of crypt(5).
func SHA512(password, salt string) (string, error) {
	if salt == "" || len(salt) > saltLength || strings.Trim(salt, alphabet) != "" {
		return "", fmt.Errorf("a salt has 1 to %d characters of ./0-9A-Za-z", saltLength)
	}
	return sha512_crypt.New().Generate([]byte(password), []byte("$6$"+salt))
}

// Salt derives a salt from context, so that the same machine gets the same hash each time it is rendered. The context
// must not hold the password, nor anything derived from it: the salt is public, and would let anyone who sees it test
// guesses at the speed of a plain hash. Each part of the context counts, and so do the borders between them.
func Salt(context ...string) string {
	mac := hmac.New(sha256.New, []byte("vmseed password salt"))
	for _, part := range context {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	sum := mac.Sum(nil)
	salt := make([]byte, saltLength)
	for i := range salt {
		salt[i] = alphabet[sum[i]&63]
	}
	return string(salt)
}

// IsHash reports whether s looks like a hash of crypt(5): an id between dollar signs and more behind it, or a marker
// that locks the account.
func IsHash(s string) bool {
	if s == "*" || strings.HasPrefix(s, "!") {
		return true
	}
	parts := strings.Split(s, "$")
	return len(parts) >= 4 && parts[0] == "" && parts[1] != "" && parts[len(parts)-1] != ""
}
