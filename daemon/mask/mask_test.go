package mask_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vmseed/vmseed/daemon/mask"
)

// TestMask tells what is secret from what is not.
func TestMask(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for in, want := range map[string]string{
		"password: hunter2\n":                                                           "password: ******\n",
		"  - passwd: \"hunter2\" # mine\n":                                              "  - passwd: \"******\" # mine\n",
		"{\"passwordHash\":\"x\\\"y\",\"lock_passwd\":false}":                           "{\"passwordHash\":\"******\",\"lock_passwd\":false}",
		"{name: a, password: hunter2, uid: 1}\n":                                        "{name: a, password: ******, uid: 1}\n",
		"lock_passwd: true\nssh_pwauth: true\n":                                         "lock_passwd: true\nssh_pwauth: true\n",
		"passwd:\n  users:\n  - name: core\n":                                           "passwd:\n  users:\n  - name: core\n",
		"API_TOKEN=abc\n":                                                               "API_TOKEN=******\n",
		"hashed: $6$salt$0123456789abcdef\n":                                            "hashed: ******\n",
		"a: -----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----\n":        "a: ******\n",
		"ed25519_private: |\n  line 1\n  line 2\nnext: shown\n":                         "ed25519_private: |\n  ******\nnext: shown\n",
		`<component name="Shell" publicKeyToken="31bf3856ad364e35" language="neutral">`: `<component name="Shell" publicKeyToken="31bf3856ad364e35" language="neutral">`,
		"<PublicKeyToken>31bf</PublicKeyToken>":                                         "<PublicKeyToken>31bf</PublicKeyToken>",
		"<PublicKeyToken a='b'/><Password>hunter2</Password>":                           "<PublicKeyToken a='b'/>******</Password>",
		"public_key_token: 31bf\npublicKey: AAAA\nprivate_of_public_key: x\n":           "public_key_token: 31bf\npublicKey: AAAA\nprivate_of_public_key: ******\n",
		"ssh_authorized_keys: [ssh-ed25519 AAAA]\n":                                     "ssh_authorized_keys: [ssh-ed25519 AAAA]\n",
		"proxy: http://user:pw@proxy:3128/\n":                                           "proxy: http://user:******@proxy:3128/\n",
		"chpasswd:\n  list: |\n    root:pw\n    a:b\nusers:\n- root:x\n":                "chpasswd:\n  list: |\n    root:******\n    a:******\nusers:\n- root:x\n",
		"<AdministratorPassword><Value>eA==</Value></AdministratorPassword><A>b</A>":    "<AdministratorPassword>******</AdministratorPassword><A>b</A>",
		"content: " + b64("password: hunter2 and more\n") + "\n":                        "content: ******\n",
		"content: " + b64("nothing to hide in here at all\n") + "\n":                    "content: " + b64("nothing to hide in here at all\n") + "\n",
		`{"source":"data:,password%3A%20hunter2%0A"}`:                                   `{"source":"data:,******"}`,
		`{"source":"data:;base64,` + b64(`{"passwd":{"users":[{"name":"a","passwordHash":"$6$salt$0123456789abcdef"}]}}`) + `"}`: `{"source":"data:;base64,` + b64(`{"passwd":{"users":[{"name":"a","passwordHash":"******"}]}}`) + `"}`,
		"data:,%23cloud-config%0Apassword:%20hunter2%0Aruncmd:%20%5B%5D%0A":                                                      "data:,%23cloud-config%0Apassword:%20******%0Aruncmd:%20%5B%5D%0A",
		`{"source":"data:,hello%20world"}`:                  `{"source":"data:,hello%20world"}`,
		"say value-of-a-field twice: value-of-a-field\n":    "say ****** twice: ******\n",
		"\x1f\x8bnot gzip":                                  "\x1f\x8bnot gzip",
		"\x00\xffpassword: x":                               "\x00\xffpassword: x",
		"packages: [password-store]\nrun: passwd -l root\n": "packages: [password-store]\nrun: passwd -l root\n",
	} {
		if got, masked := mask.Values("value-of-a-field").Text(in); got != want || masked != (in != want) {
			t.Errorf("%q\ngot  %q\nwant %q", in, got, want)
		}
	}
}

// FuzzMask looks for a secret value in what is shown, wherever it stood.
func FuzzMask(f *testing.F) {
	f.Add("password: hunter2\nx: value\n", "value")
	f.Add("chpasswd:\n  list: |\n    a:b\n<Password>x</Password> data:,x%20y", "hunter2")
	f.Add("eA==\n"+base64.StdEncoding.EncodeToString([]byte("token: abcdefghijklmnop")), "abcdefgh")
	f.Fuzz(func(t *testing.T, text, value string) {
		if len(value) < 4 || strings.ContainsFunc(value, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			return
		}
		if got, _ := mask.Values(value).Text(text); strings.Contains(got, value) && utf8.ValidString(text) {
			t.Errorf("%q shows %q as %q", text, value, got)
		}
	})
}
