package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/vmseed/vmseed/secret"
)

// KeySize is the length of the key in bytes.
const KeySize = 32

// NewKey draws a key.
func NewKey() secret.Text {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return secret.FromBytes(key)
}

// sealer seals values with AES-256-GCM. Each value carries the nonce that was drawn for it.
type sealer struct{ aead cipher.AEAD }

func newSealer(key secret.Text) (*sealer, error) {
	if key.Len() != KeySize {
		return nil, fmt.Errorf("the key of the store has %d bytes, not %d", key.Len(), KeySize)
	}
	block, err := aes.NewCipher([]byte(key.Reveal()))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

// place is what is authenticated with a value: where it belongs.
func place(kind, id string) []byte { return []byte(kind + "\x00" + id) }

func (s *sealer) close(kind, id string, value []byte) []byte {
	return s.aead.Seal(nil, nil, value, place(kind, id))
}

func (s *sealer) open(kind, id string, sealed []byte) ([]byte, error) {
	if sealed == nil {
		return nil, errors.New("there is nothing to open")
	}
	return s.aead.Open(nil, nil, sealed, place(kind, id))
}
