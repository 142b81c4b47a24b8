package ovirtapi

import (
	"crypto/rand"
	"fmt"

	"github.com/vmseed/vmseed/format/crypt"
	"github.com/vmseed/vmseed/secret"
)

// hashPassword hashes a password for the guest's /etc/shadow with a salt that was never used before.
func hashPassword(clear secret.Text) (secret.Text, error) {
	hash, err := crypt.SHA512(clear.Reveal(), rand.Text()[:16])
	if err != nil {
		return secret.Text{}, fmt.Errorf("a password cannot be hashed: %w", err)
	}
	return secret.New(hash), nil
}
