package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/secret"
)

// maxUsersFile bounds the size of the users file, in bytes.
const maxUsersFile = 4 << 20

// userName is what a user can be called.
var userName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}@[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// The errors about users.
var (
	// ErrNoUser is wrapped by errors about a user who is not in the file.
	ErrNoUser = errors.New("there is no such user")
	// ErrUserExists is wrapped by errors about a user who is in the file already.
	ErrUserExists = errors.New("the user exists already")
)

// Users is the file of who may log in: a line NAME@PROFILE:HASH for each, lines that begin with # being comments. The
// file is read again when it has changed, and belongs to its owner alone. Several processes may have it open.
type Users struct {
	path       string
	iterations int

	mu    sync.Mutex
	lines []line
	seen  os.FileInfo
}

// line is a line of the file. A comment has no name.
type line struct {
	text string
	name string
	hash hash
}

// OpenUsers reads the users file at path. A file that does not exist has no users.
func OpenUsers(path string) (*Users, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	u := &Users{path: path, iterations: Iterations}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u, u.load()
}

// Canonical returns a user's name with its profile, which is DefaultProfile when it has none.
func Canonical(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return name + "@" + DefaultProfile
}

// Path returns the name of the file.
func (u *Users) Path() string { return u.path }

// load reads the file if it is not the one in memory.
func (u *Users) load() error {
	info, err := os.Stat(u.path)
	if errors.Is(err, fs.ErrNotExist) {
		u.lines, u.seen = nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	if u.seen != nil && os.SameFile(u.seen, info) && u.seen.Size() == info.Size() && u.seen.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", u.path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (mode %04o); run: chmod 600 %s", u.path, info.Mode().Perm(), u.path)
	}
	if info.Size() > maxUsersFile {
		return fmt.Errorf("%s is larger than %d bytes", u.path, maxUsersFile)
	}
	data, err := os.ReadFile(u.path)
	if err != nil {
		return err
	}
	lines, err := parseUsers(u.path, data)
	if err != nil {
		return err
	}
	u.lines, u.seen = lines, info
	return nil
}

func parseUsers(path string, data []byte) ([]line, error) {
	var out []line
	seen := map[string]int{}
	var errs []error
	for i, text := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		text = strings.TrimSuffix(text, "\r")
		l := line{text: text}
		if trimmed := strings.TrimSpace(text); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			name, hashed, ok := strings.Cut(trimmed, ":")
			h, err := parseHash(hashed)
			switch {
			case !ok:
				err = errors.New("the line is not NAME@PROFILE:HASH")
			case err == nil && !userName.MatchString(name):
				err = errors.New("the name is not of the form name@profile")
			case err == nil && seen[name] > 0:
				err = fmt.Errorf("%s stands in line %d already", name, seen[name])
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %w", path, i+1, err))
				continue
			}
			seen[name] = i + 1
			l.name, l.hash = name, h
		}
		out = append(out, l)
	}
	if len(data) == 0 {
		out = nil
	}
	return out, errors.Join(errs...)
}

// save writes the lines in place of the file.
func (u *Users) save(lines []line) error {
	var b bytes.Buffer
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	if err := atomicfile.WriteBytes(u.path, b.Bytes()); err != nil {
		return err
	}
	info, err := os.Stat(u.path)
	if err != nil {
		return err
	}
	u.lines, u.seen = lines, info
	return nil
}

// change reads the file anew, changes its lines and writes them, alone among all processes.
func (u *Users) change(f func([]line) ([]line, error)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(u.path), atomicfile.DirMode); err != nil {
		return err
	}
	// Nobody else changes the file at the same time, as a command may while the daemon runs.
	lock, err := os.OpenFile(u.path+".lock", os.O_RDWR|os.O_CREATE, atomicfile.FileMode)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := atomicfile.Lock(lock); err != nil {
		return err
	}
	u.seen = nil
	if err := u.load(); err != nil {
		return err
	}
	lines, err := f(slices.Clone(u.lines))
	if err != nil {
		return err
	}
	return u.save(lines)
}

// CheckPassword says what is wrong with a password that somebody wants to have.
func CheckPassword(password secret.Text) error {
	switch n := password.Len(); {
	case n < minPassword:
		return fmt.Errorf("a password has at least %d characters", minPassword)
	case n > maxPassword:
		return fmt.Errorf("a password has at most %d bytes", maxPassword)
	}
	return nil
}

func (u *Users) hash(password secret.Text) (hash, error) {
	if err := CheckPassword(password); err != nil {
		return hash{}, err
	}
	return newHash(password, u.iterations)
}

// Add adds a user. The error wraps ErrUserExists when there is one of that name.
func (u *Users) Add(name string, password secret.Text) error {
	name = Canonical(name)
	if !userName.MatchString(name) {
		return fmt.Errorf("%q is no user name; names look like alice@internal", name)
	}
	h, err := u.hash(password)
	if err != nil {
		return err
	}
	return u.change(func(lines []line) ([]line, error) {
		if find(lines, name) >= 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrUserExists)
		}
		return append(lines, line{text: name + ":" + h.text, name: name, hash: h}), nil
	})
}

// SetPassword gives a user another password. Tokens that were got with the old one end. The error wraps ErrNoUser when
// there is no such user.
func (u *Users) SetPassword(name string, password secret.Text) error {
	name = Canonical(name)
	h, err := u.hash(password)
	if err != nil {
		return err
	}
	return u.change(func(lines []line) ([]line, error) {
		i := find(lines, name)
		if i < 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrNoUser)
		}
		lines[i] = line{text: name + ":" + h.text, name: name, hash: h}
		return lines, nil
	})
}

// Remove takes a user out of the file. The user's tokens end. The error wraps ErrNoUser when there is no such user.
func (u *Users) Remove(name string) error {
	name = Canonical(name)
	return u.change(func(lines []line) ([]line, error) {
		i := find(lines, name)
		if i < 0 {
			return nil, fmt.Errorf("%s: %w", name, ErrNoUser)
		}
		return slices.Delete(lines, i, i+1), nil
	})
}

// Names returns the users in the order of the file.
func (u *Users) Names() ([]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.load(); err != nil {
		return nil, err
	}
	var out []string
	for _, l := range u.lines {
		if l.name != "" {
			out = append(out, l.name)
		}
	}
	return out, nil
}

// Bootstrap makes the first user, Admin, with a random password, when the file has no user at all. The password is nowhere
// else, so show is called with it before the user is there: a program that is killed between the two, or cannot show it, makes
// another one at its next start. With a user in the file show is not called.
func (u *Users) Bootstrap(show func(password secret.Text) error) error {
	if have, err := u.Names(); err != nil || len(have) > 0 {
		return err
	}
	password := RandomPassword()
	h, err := u.hash(password)
	if err != nil {
		return err
	}
	err = u.change(func(lines []line) ([]line, error) {
		if slices.ContainsFunc(lines, func(l line) bool { return l.name != "" }) {
			return nil, ErrUserExists
		}
		if err := show(password); err != nil {
			return nil, err
		}
		if len(lines) == 0 {
			lines = []line{{text: "# Who may log in: NAME@PROFILE:HASH. Hashes are those of vmseed serve user add, or of mkpasswd -m sha-512."}}
		}
		return append(lines, line{text: Admin + ":" + h.text, name: Admin, hash: h}), nil
	})
	if errors.Is(err, ErrUserExists) {
		return nil
	}
	return err
}

// lookup returns the hash of a user's password, after reading the file again if it has changed. While the file cannot be
// read nobody is let in.
func (u *Users) lookup(name string) (hash, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.load(); err != nil {
		return hash{}, false, err
	}
	i := find(u.lines, name)
	if i < 0 {
		return hash{}, false, nil
	}
	return u.lines[i].hash, true, nil
}

func find(lines []line, name string) int {
	return slices.IndexFunc(lines, func(l line) bool { return l.name == name && name != "" })
}
