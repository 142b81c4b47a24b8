package ignconfig

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/format/crypt"
)

// plausible warns about what Ignition accepts and what then fails in the guest, or means something else than its author
// thought.
func (s source) plausible(c types.Config, v version) {
	for i, u := range c.Passwd.Users {
		here := dataPath{"passwd", "users", i}
		if u.Name == "" {
			s.warnf(CodeUser, here, `add "name"`, "the user has no name, which stops the boot when users are made")
		}
		for j, key := range u.SSHAuthorizedKeys {
			if problem, remedy := keyTrouble(string(key)); problem != "" {
				s.warnf(CodeSSHKey, here.child("sshAuthorizedKeys").child(j), remedy, "%s", problem)
			}
		}
		s.hash(u.PasswordHash, here.child("passwordHash"))
	}
	for i, g := range c.Passwd.Groups {
		s.hash(g.PasswordHash, dataPath{"passwd", "groups", i, "passwordHash"})
	}
	for i, f := range c.Storage.Files {
		here := dataPath{"storage", "files", i}
		s.mode(here.child("mode"))
		if slices.Contains(inEveryImage(), f.Path) && f.Contents.Source != nil && (f.Overwrite == nil || !*f.Overwrite) && v.major == 3 {
			s.notef(CodeOverwrite, here, `add "overwrite": true`, "an image that has %s already stops its boot here", f.Path)
		}
	}
	for i := range c.Storage.Directories {
		s.mode(dataPath{"storage", "directories", i, "mode"})
	}
	c.Ignition.Version = ""
	if reflect.DeepEqual(c, types.Config{}) {
		s.notef(CodeEmpty, nil, "add users, files or units", "the config asks for nothing")
	}
}

// inEveryImage are files that images bring along, so that a config has to ask for their replacement.
func inEveryImage() []string {
	return []string{"/etc/hostname", "/etc/hosts", "/etc/fstab", "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/sudoers",
		"/etc/resolv.conf", "/etc/ssh/sshd_config", "/etc/os-release", "/etc/machine-id"}
}

// hash doubts a password hash that is none.
func (s source) hash(hash *string, p dataPath) {
	switch {
	case hash == nil || *hash == "":
	case !crypt.IsHash(*hash):
		s.warnf(CodePasswordHash, p, "hash it with mkpasswd or openssl passwd -6", "this is not a hash of crypt(5), so no password fits it; a password in clear text is not hashed here")
	case strings.HasPrefix(*hash, "$1$"):
		s.warnf(CodePasswordHash, p, "hash it anew with mkpasswd or openssl passwd -6", "this is an MD5 hash, which is quickly guessed and refused by some guests")
	}
}

// mode doubts a decimal number that would make sense as an octal one.
func (s source) mode(p dataPath) {
	if s.snake || !s.octalMeant(p) { // YAML has octal numbers, and Butane looks after them

		return
	}
	written := s.value(p...).Value
	meant, _ := strconv.ParseUint(written, 8, 16)
	have, _ := strconv.ParseUint(written, 10, 16)
	s.warnf(CodeMode, p, fmt.Sprintf("write %d, which is octal %04o", meant, meant),
		"modes are decimal numbers, and %s is octal %04o", written, have)
}

// octalMeant reports whether the number at a path is a mode that was written in octal digits: it is odd as it stands, and
// usual when it is read as octal.
func (s source) octalMeant(p dataPath) bool {
	n := s.value(p...)
	if n == nil || n.Kind != yaml.ScalarNode {
		return false
	}
	octal, err := strconv.ParseUint(n.Value, 8, 16)
	if err != nil {
		return false
	}
	decimal, err := strconv.ParseUint(n.Value, 10, 16)
	return err == nil && !usual(decimal) && usual(octal&0o777) && octal <= 0o7777
}

// isMode reports whether the number at a path is in the range of modes.
func (s source) isMode(p dataPath) bool {
	n := s.value(p...)
	if n == nil {
		return false
	}
	mode, ok := integer(n)
	return ok && mode >= 0 && mode <= 0o7777
}

// usual reports whether the bits of a mode give the owner at least what the group has, and the group what others have.
func usual(mode uint64) bool {
	owner, group, other := mode>>6, mode>>3&7, mode&7
	return owner <= 7 && group&^owner == 0 && other&^group == 0
}

// keyTypes are those of OpenSSH (sshd(8), AUTHORIZED_KEYS FILE FORMAT).
func keyTypes() []string {
	return []string{"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
		"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", "ssh-dss"}
}

// keyTrouble says what is wrong with a line of authorized_keys, and nothing about a good one.
func keyTrouble(line string) (problem, remedy string) {
	const public = "give the line of the file that ends in .pub"
	line = strings.TrimSpace(line)
	switch {
	case strings.Contains(line, "PRIVATE KEY"):
		return "this is a private key, which anybody who reads the config can use now", public
	case strings.Contains(line, "BEGIN "):
		return "this is not a key as OpenSSH writes it", public
	case strings.ContainsAny(line, "\r\n"):
		return "there are several lines in one key", "make each of them an item of the list"
	case line == "":
		return "the key is empty", public
	}
	words := strings.Fields(line)
	i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(keyTypes(), w) })
	if i < 0 {
		return "this is not a public key: the type, such as ssh-ed25519, is missing", public
	}
	if i+1 == len(words) {
		return "this is not a public key: nothing stands behind its type", public
	}
	blob, err := base64.StdEncoding.DecodeString(words[i+1])
	if err != nil {
		return "the key is not whole: what stands behind its type is not base64", public
	}
	// RFC 4253, section 6.6: the type stands in the key itself, behind its length.
	if len(blob) < 4 || uint64(binary.BigEndian.Uint32(blob)) > uint64(len(blob)-4) || string(blob[4:4+binary.BigEndian.Uint32(blob)]) != words[i] {
		return "the key is not whole: it is not of the type that stands in front of it", public
	}
	return "", ""
}
