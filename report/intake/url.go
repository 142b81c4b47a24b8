package intake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strings"

	"github.com/vmseed/vmseed/secret"
)

// Root is what every path of an intake begins with, below the server's root.
const Root = "vmseed/report/"

// purpose keeps these signatures apart from others that are made with the same key.
const purpose = "vmseed first boot report 1"

// Path returns the path, without a slash before and after, at which a machine (namespace/name) reports of the first boot of
// an instance: Root, the name, and a signature. Whoever knows it can report for that machine, and for no other, until
// its first boot is over, so it belongs into the guest's seed and into no log. It is the same in every process that has
// the key.
func Path(key secret.Text, machine, instance string) secret.Text {
	namespace, name, _ := strings.Cut(machine, "/")
	return secret.New(Root + escape(namespace) + "/" + escape(name) + "/" +
		base64.RawURLEncoding.EncodeToString(sign(key, machine, instance)))
}

// escape writes a name as an element of a path, with letters, digits and %-._~ alone: the path goes through YAML, a shell,
// and cloud-init's templates.
func escape(name string) string {
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}

// sign returns the signature of a machine's instance.
func sign(key secret.Text, machine, instance string) []byte {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	for _, part := range []string{purpose, machine, instance} {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // so that no two triples read the same
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}
