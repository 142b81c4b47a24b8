package auth

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/secret"
)

// Hashes of "correct horse", made by Python's hashlib and by openssl passwd -6.
const (
	byPython  = "$pbkdf2-sha256$i=1000$MDEyMzQ1Njc4OWFiY2RlZg$cBg8D2DungRB9k76szThf5ehfyBz991ay6PT8Srwk4M"
	byOpenSSL = "$6$saltsalt$hRM5XZ86KXEw9UOmjigeVqFgULtFB2sgpC9lXQDfMib3Zgw7mEiUvBJI2EplzfAqxL5Vvwp2scFtv/uamSo5z0"
)

// quick opens a users file whose new hashes cost little.
func quick(t testing.TB, path string) *Users {
	t.Helper()
	u, err := OpenUsers(path)
	if err != nil {
		t.Fatal(err)
	}
	u.iterations = 10
	return u
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHash(t *testing.T) {
	own, err := newHash(secret.New("correct horse"), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{byPython, byOpenSSL, own.text} {
		h, err := parseHash(text)
		if err != nil {
			t.Fatal(err)
		}
		for password, want := range map[string]bool{"correct horse": true, "correct horse ": false, "Correct horse": false, "": false} {
			if got := h.matches(secret.New(password)); got != want {
				t.Errorf("%s: %q matches: %t", text, password, got)
			}
		}
	}
	for _, text := range []string{"", "correct horse", "$1$x$y", "$6$", "$6$salt$", "$6$rounds=5000$salt$x", "$6$sa:lt$x", "$y$j9T$x$y",
		"$pbkdf2-sha256$i=0$MDEyMzQ1Njc4OWFiY2RlZg$x", "$pbkdf2-sha256$i=9999999999$MDEyMzQ1Njc4OWFiY2RlZg$x", "$pbkdf2-sha256$1000$MDEyMzQ1Njc4OWFiY2RlZg$x",
		"$pbkdf2-sha256$i=10$AA$" + strings.Repeat("A", 43), "$pbkdf2-sha256$i=10$MDEyMzQ1Njc4OWFiY2RlZg$AAAA", "$pbkdf2-sha256$i=10$MDEyMzQ1Njc4OWFiY2RlZg"} {
		if _, err := parseHash(text); err == nil {
			t.Errorf("%q is taken for a hash", text)
		} else if strings.Contains(err.Error(), "correct") {
			t.Errorf("the error quotes what may be a password: %v", err)
		}
	}
}

func TestUsersFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "users")
	u := quick(t, path)
	unseen := errors.New("nobody saw it")
	if err := u.Bootstrap(func(secret.Text) error { return unseen }); !errors.Is(err, unseen) {
		t.Fatal(err)
	}
	if have, err := u.Names(); err != nil || len(have) > 0 {
		t.Fatalf("%q have a password that nobody saw: %v", have, err)
	}
	var password secret.Text
	err := u.Bootstrap(func(p secret.Text) error {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Error("the user is there before the password was shown", err)
		}
		password = p
		return nil
	})
	if err != nil || password.Len() != 24 {
		t.Fatalf("the first password has %d characters: %v", password.Len(), err)
	}
	if err := u.Bootstrap(func(secret.Text) error { return errors.New("there are two first users") }); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), password.Reveal()) {
		t.Fatal("the file holds the password", err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	// What the administrator wrote stays.
	write(t, path, "# team\n\n"+Admin+":"+byOpenSSL+"\r\n  # old\n")
	if err := u.Add("alice", secret.New("alice's password")); err != nil {
		t.Fatal(err)
	}
	if err := u.Add("bob@corp", secret.New("bob's password")); err != nil {
		t.Fatal(err)
	}
	if err := u.SetPassword("alice", secret.New("another password")); err != nil {
		t.Fatal(err)
	}
	if err := u.Remove("bob@corp"); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(path)
	if want := "# team\n\n" + Admin + ":" + byOpenSSL + "\n  # old\nalice@internal:$pbkdf2-sha256$i=10$"; err != nil || !strings.HasPrefix(string(data), want) {
		t.Errorf("the file is %q: %v", data, err)
	}
	if got, err := u.Names(); err != nil || !slices.Equal(got, []string{Admin, "alice@internal"}) {
		t.Errorf("users are %q: %v", got, err)
	}
	h, ok, err := u.lookup("alice@internal")
	if err != nil || !ok || !h.matches(secret.New("another password")) {
		t.Error("alice's password is not hers", err)
	}
	for name, tt := range map[string]struct {
		err  error
		want error
	}{
		"a second alice": {u.Add("alice@internal", secret.New("long enough")), ErrUserExists},
		"no such user":   {u.Remove("carol"), ErrNoUser},
		"no such user 2": {u.SetPassword("carol", secret.New("long enough")), ErrNoUser},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	for _, name := range []string{"", "@internal", "a b", "a:b", "a\nb", "#a", "a@b@c", "a@", strings.Repeat("a", 200)} {
		if err := u.Add(name, secret.New("long enough")); err == nil {
			t.Errorf("%q is a user now", name)
		}
	}
	for _, password := range []string{"", "short", strings.Repeat("x", 1025)} {
		if err := u.Add("dora", secret.New(password)); err == nil {
			t.Errorf("a password of %d characters is taken", len(password))
		}
	}
}

func TestUsersFileErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	write(t, path, "a@internal:"+byOpenSSL+"\nno colon here\nb@internal:plain text\nc:"+byOpenSSL+"\na@internal:"+byPython+"\n")
	_, err := OpenUsers(path)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"users:2: the line is not", "users:3: the password hash", "users:4: the name", "users:5: a@internal stands in line 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "plain text") {
		t.Errorf("the error quotes what may be a password: %v", err)
	}
	if _, err := OpenUsers(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("a directory: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	write(t, path, "a@internal:"+byOpenSSL+"\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenUsers(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others may read the file: %v", err)
	}
}

// TestUsersReload lets nobody in while the file is damaged, and knows those of the new file.
func TestUsersReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	u := quick(t, path)
	if _, ok, err := u.lookup(Admin); ok || err != nil {
		t.Fatal(ok, err)
	}
	write(t, path, Admin+":"+byPython+"\n")
	if _, ok, err := u.lookup(Admin); !ok || err != nil {
		t.Fatal(ok, err)
	}
	write(t, path, Admin+":damaged\n")
	if _, ok, err := u.lookup(Admin); ok || err == nil {
		t.Fatal(ok, err)
	}
	write(t, path, "adler@internal:"+byPython+"\n")
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := u.lookup("adler@internal"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := u.lookup("adler@internal"); ok || err != nil {
		t.Fatal(ok, err)
	}
}

// TestUsersTogether changes the file from several places at once, as commands beside the daemon do.
func TestUsersTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	var all sync.WaitGroup
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		u := quick(t, path)
		all.Go(func() {
			if err := u.Add(name, secret.New("long enough")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := quick(t, path).Names()
	slices.Sort(got)
	if err != nil || len(got) != len(names) {
		t.Errorf("users are %q: %v", got, err)
	}
}
