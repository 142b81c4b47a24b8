package auth

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/format/crypt"
	"github.com/vmseed/vmseed/secret"
)

// Iterations is the work of a new password hash: what OWASP's password storage cheat sheet asks of PBKDF2 with SHA-256.
const Iterations = 600_000

// maxIterations bounds what a line of the users file can ask for.
const maxIterations = 100 * Iterations

const (
	pbkdf2ID     = "pbkdf2-sha256"
	saltSize     = 16
	maxPassword  = 1024
	minPassword  = 8
	derivedBytes = sha256.Size
)

// hash is a password hash in one of the notations of the users file: $pbkdf2-sha256$i=N$SALT$HASH, whose salt and hash
// are base64 without padding, or sha512-crypt as mkpasswd and openssl passwd -6 write it.
type hash struct {
	// text is the notation, for comparing hashes and for writing them back.
	text       string
	iterations int
	salt, sum  []byte
	// cryptSalt is the salt of sha512-crypt; the other fields are then empty.
	cryptSalt string
}

func parseHash(text string) (hash, error) {
	parts := strings.Split(text, "$")
	if len(parts) < 4 || parts[0] != "" {
		return hash{}, errors.New("the password hash is neither $" + pbkdf2ID + "$ nor $6$")
	}
	switch parts[1] {
	case pbkdf2ID:
		return parsePBKDF2(text, parts[2:])
	case "6":
		// The rounds that may stand here are beyond what format/crypt computes.
		if len(parts) != 4 || strings.HasPrefix(parts[2], "rounds=") {
			return hash{}, errors.New("sha512-crypt is read with its default of 5000 rounds only")
		}
		if _, err := crypt.SHA512("", parts[2]); err != nil || parts[3] == "" {
			return hash{}, errors.New("the sha512-crypt hash is damaged")
		}
		return hash{text: text, cryptSalt: parts[2]}, nil
	}
	return hash{}, errors.New("the password hash is neither $" + pbkdf2ID + "$ nor $6$")
}

func parsePBKDF2(text string, parts []string) (hash, error) {
	if len(parts) != 3 {
		return hash{}, errors.New("a " + pbkdf2ID + " hash has the parts i=N, salt and hash")
	}
	count, ok := strings.CutPrefix(parts[0], "i=")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > maxIterations {
		return hash{}, fmt.Errorf("the number of iterations is not i=1 to i=%d", maxIterations)
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[1])
	if err != nil || len(salt) < 8 {
		return hash{}, errors.New("the salt is damaged")
	}
	sum, err := base64.RawStdEncoding.DecodeString(parts[2])
	if err != nil || len(sum) != derivedBytes {
		return hash{}, errors.New("the hash is damaged")
	}
	return hash{text: text, iterations: n, salt: salt, sum: sum}, nil
}

// newHash hashes a password under a random salt.
func newHash(password secret.Text, iterations int) (hash, error) {
	salt := make([]byte, saltSize)
	if _, err := rand.Read(salt); err != nil {
		return hash{}, err
	}
	sum, err := pbkdf2.Key(sha256.New, password.Reveal(), salt, iterations, derivedBytes)
	if err != nil {
		return hash{}, err
	}
	b64 := base64.RawStdEncoding
	text := fmt.Sprintf("$%s$i=%d$%s$%s", pbkdf2ID, iterations, b64.EncodeToString(salt), b64.EncodeToString(sum))
	return hash{text: text, iterations: iterations, salt: salt, sum: sum}, nil
}

// matches does the work of the hash and compares in constant time.
func (h hash) matches(password secret.Text) bool {
	if h.cryptSalt != "" {
		got, err := crypt.SHA512(password.Reveal(), h.cryptSalt)
		return err == nil && subtle.ConstantTimeCompare([]byte(got), []byte(h.text)) == 1
	}
	got, err := pbkdf2.Key(sha256.New, password.Reveal(), h.salt, h.iterations, len(h.sum))
	return err == nil && subtle.ConstantTimeCompare(got, h.sum) == 1
}

// RandomPassword makes a password of 120 bits that can be read out and typed.
func RandomPassword() secret.Text { return secret.New(rand.Text()[:24]) }
