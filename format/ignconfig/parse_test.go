package ignconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxpZ2h0aG91c2Uta2VlcGVyLXRlc3Qta2V5LTMyISE= test"

// with makes a config of version 3.0.0 around further members.
func with(members string) string { return `{"ignition": {"version": "3.0.0"}, ` + members + `}` }

func file(members string) string {
	return with(`"storage": {"files": [{"path": "/etc/x", ` + members + `}]}`)
}

func user(members string) string {
	return with(`"passwd": {"users": [{"name": "core", ` + members + `}]}`)
}

func unit(members string) string { return with(`"systemd": {"units": [{` + members + `}]}`) }

func zip(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

func data(text string) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString([]byte(text))
}

// mark stands in a config where something is complained about. Complaints without one are about the first character.
const mark = "‸"

// marked takes the marks out of a text.
func marked(text string) (string, []diag.Pos) {
	var plain strings.Builder
	var places []diag.Pos
	for i, part := range strings.Split(text, mark) {
		if i > 0 {
			places = append(places, diag.Index(plain.String(), plain.Len()))
		}
		plain.WriteString(part)
	}
	return plain.String(), places
}

// wrong are configs with marks, and what is said about each, a line for each place.
func wrong() map[string]struct{ in, want string } {
	return map[string]struct{ in, want string }{
		"empty":           {"", `error[VS3400]: the config is empty, and a guest boots without a word as if there were none; write {"ignition": {"version": "3.0.0"}}, or no config at all`},
		"white space":     {" \n", `error[VS3400]: the config is empty, and a guest boots without a word as if there were none; write {"ignition": {"version": "3.0.0"}}, or no config at all`},
		"cloud-config":    {"#cloud-config\nhostname: x\n", `error[VS3400]: this is a cloud-config, not an Ignition config; an Ignition guest does not read it; give it to a cloud-init guest, or as user-data to be translated`},
		"script":          {"#!/bin/sh\n", `error[VS3400]: this is a script, which Ignition does not run; write it as a file and run it by a systemd unit`},
		"gzip":            {zip(with(`"passwd": {}`)), `error[VS3400]: this is an Ignition config, but compressed; Ignition reads its own config only as plain JSON; unpack it, or merge it by a small one with "compression": "gzip"`},
		"Butane":          {"variant: fcos\nversion: 1.0.0\n", `error[VS3400]: this is Butane; it has to be translated to Ignition first`},
		"byte order mark": {"\ufeff" + with(`"passwd": {}`), `error[VS3400]: the text begins with a byte order mark, which Ignition refuses; save the file as UTF-8 without one`},
		"comma in a list": {"{\"ignition\": {\"version\": \"3.0.0\"},\n \"passwd\": {\"users\": [\n  {\"name\": \"core\"}‸,\n ]}}", `error[VS3401]: trailing comma before ]; remove the comma`},
		"commas, and what else is wrong": {"{\"ignition\": {\"version\": ‸\"3.9.0\"‸,},\n \"passwd\": {}‸,\n}",
			"error[VS3402]: ignition.version: version 3.9.0 is newer than 3.6.0, the newest one that is known here; write one of 3.0.0, 3.1.0, 3.2.0, 3.3.0, 3.4.0, 3.5.0, 3.6.0\n" +
				"error[VS3401]: trailing comma before }; remove the comma\nerror[VS3401]: trailing comma before }; remove the comma"},
		"comment":          {"{\n‸// mine\n\"ignition\": {}}", `error[VS3401]: a comment, which JSON does not have; remove it, or write Butane, which is YAML`},
		"behind the end":   {with(`"passwd": {}`) + " ‸x", `error[VS3401]: there is something behind the closing bracket of the config; remove what follows`},
		"a key twice":      {`{"ignition": {"version": "3.0.0", ‸"version": "3.1.0"}}`, `error[VS1205]: key "version" stands twice in one object; remove one of the two`},
		"two spellings":    {`{"ignition": {"version": "3.0.0", ‸"Version": "3.1.0"}}`, `error[VS3401]: ignition.version: "version" stands twice in one object, in two spellings; remove one of the two`},
		"a list":           {`[]`, `error[VS3401]: a config is an object, this is a list; write an object such as {"ignition": {"version": "3.0.0"}}`},
		"nothing in it":    {`{}`, `error[VS3402]: this object has no member "ignition", so it is not an Ignition config; add "ignition": {"version": "3.0.0"}`},
		"no version":       {`{"ignition": ‸{}}`, `error[VS3402]: ignition: the config states no version; add "ignition": {"version": "3.0.0"}`},
		"half a version":   {`{"ignition": {"version": ‸"3"}}`, `error[VS3402]: ignition.version: the version cannot be read; write 3.0.0`},
		"short version":    {`{"ignition": {"version": ‸"3.4"}}`, `error[VS3402]: ignition.version: the version cannot be read; write 3.4.0`},
		"version a number": {`{"ignition": {"version": ‸3.4}}`, `error[VS3402]: ignition.version: the version is a number; write a text such as "3.0.0"`},
		"specification 1":  {`{"ignitionVersion": ‸1}`, `error[VS3402]: ignitionVersion: specification 1 was given up long ago; write it anew for specification 3`},
		"experimental": {`{"ignition": {"version": ‸"3.7.0-experimental"}}`, `error[VS3402]: ignition.version: version 3.7.0-experimental is not finished: it changes from release to release, and no other release of Ignition accepts it; ` +
			`write one of 3.0.0, 3.1.0, 3.2.0, 3.3.0, 3.4.0, 3.5.0, 3.6.0`},
		"no such version":        {`{"ignition": {"version": ‸"2.9.0"}}`, `error[VS3402]: ignition.version: there is no version 2.9.0 of the specification; write one of 3.0.0, 3.1.0, 3.2.0, 3.3.0, 3.4.0, 3.5.0, 3.6.0`},
		"mode in quotes":         {file(`"mode": ‸"0644"`), `error[VS3403]: storage.files[0].mode: this should be a whole number, not a text; modes are decimal numbers: write 420, which is octal 0644`},
		"mode in octal":          {file(`"mode": ‸644`), `warning[VS3407]: storage.files[0].mode: modes are decimal numbers, and 644 is octal 1204; write 420, which is octal 0644`},
		"mode too large":         {file(`"mode": ‸100644`), `error[VS3404]: storage.files[0].mode: the mode is out of range; modes are decimal numbers from 0 to 4095, such as 420 for octal 0644`},
		"special bits":           {file(`"mode": ‸2541`), `warning[VS3406]: storage.files[0].mode: the setuid, setgid and sticky bits have no effect before version 3.6.0; modes are decimal: octal 0644 is 420; if the bits are meant, state version 3.6.0`},
		"append is no list":      {file(`"append": ‸true`), `error[VS3403]: storage.files[0].append: this should be a list, not true or false; since specification 3, it is a list of contents`},
		"text for a list":        {user(`"groups": ‸"sudo"`), `error[VS3403]: passwd.users[0].groups: this should be a list, not a text; put it into square brackets`},
		"fraction":               {user(`"uid": ‸1e3`), `error[VS3403]: passwd.users[0].uid: this should be a whole number, not a number with a fraction, an exponent, or too many digits; write a whole number without quotes`},
		"text for true":          {user(`"system": ‸"yes"`), `error[VS3403]: passwd.users[0].system: this should be true or false, not a text; write true or false without quotes`},
		"number for text":        {user(`"gecos": ‸7`), `error[VS3403]: passwd.users[0].gecos: this should be a text, not a number; put it into double quotes`},
		"relative path":          {with(`"storage": {"files": [{"path": ‸"etc/x"}]}`), `error[VS3404]: storage.files[0].path: the path is not absolute; begin it with a slash, such as /etc/motd`},
		"no path":                {with(`"storage": {"files": [‸{"mode": 420}]}`), `error[VS3404]: storage.files[0].path: the path is missing; add "path", such as /etc/motd`},
		"dirty path":             {with(`"storage": {"directories": [{"path": ‸"/srv/"}]}`), `error[VS3404]: storage.directories[0].path: the path holds //, ., .. or a slash at its end; write its shortest form`},
		"path twice":             {with(`"storage": {"directories": [{"path": "/x"}], "files": [‸{"path": "/x"}]}`), `error[VS3404]: storage.files[0]: an entry of this name or path stands here for the second time; give each file, directory, link, user, group and unit once`},
		"user twice":             {with(`"passwd": {"users": [{"name": "a"}, ‸{"name": "a"}]}`), `error[VS3404]: passwd.users[1]: an entry of this name or path stands here for the second time; give each file, directory, link, user, group and unit once`},
		"no scheme":              {file(`"contents": {"source": ‸"hello"}`), `error[VS3404]: storage.files[0].contents.source: the URL has no scheme that Ignition knows; write http:, https:, tftp:, s3:, gs: or data:, such as data:,hello for the text hello`},
		"broken data URL":        {file(`"contents": {"source": ‸"data:;base64,***"}`), `error[VS3404]: storage.files[0].contents.source: the URL cannot be decoded; write http:, https:, tftp:, s3:, gs: or data:, such as data:,hello for the text hello`},
		"overwrite with nothing": {file(`"overwrite": ‸true`), `error[VS3404]: storage.files[0].overwrite: the file is to be overwritten, but with nothing; add "contents" with a "source", such as data:, for an empty file`},
		"unit ending":            {unit(`"name": ‸"a"`), `error[VS3404]: systemd.units[0].name: the name has no ending of a systemd unit; end it in .service, .socket, .device, .mount, .automount, .swap, .target, .path, .timer, .slice or .scope`},
		"drop-in ending":         {unit(`"name": "a.service", "dropins": [{"name": ‸"x"}]`), `error[VS3404]: systemd.units[0].dropins[0].name: the name of a drop-in ends in .conf; rename it`},
		"unit misread":           {unit(`"name": "a.service", "contents": ‸"[Service]\ncanary-secret\n"`), `error[VS3404]: systemd.units[0].contents: a line is neither a section, an option with =, nor a comment; write options as Name=value`},
		"unit in the path of a file": {with(`"storage": {"files": [{"path": ‸"/etc/systemd/system/a.service"}]}, "systemd": {"units": [{"name": "a.service", "contents": "[Unit]\n"}]}`),
			`error[VS3404]: storage.files[0].path: a unit or drop-in of this config has the same path; keep one of the two`},
		"no install section": {unit(`"name": "a.service", "enabled": true, "contents": ‸"[Service]\nExecStart=/bin/true\n"`), `warning[VS3406]: systemd.units[0].contents: the unit is enabled, but has no [Install] section, so nothing starts it; add [Install] with WantedBy=multi-user.target`},
		"id and name":        {file(`"user": ‸{"id": 0, "name": "root"}`), `error[VS3404]: storage.files[0].user: both an id and a name are given; keep one of the two`},
		"through a link":     {with(`"storage": {"links": [{"path": "/a", "target": "/b"}], "files": [‸{"path": "/a/x"}]}`), `error[VS3404]: storage.files[0]: the path leads through a link of this config; use the path that the link leads to`},
		"unknown format":     {with(`"storage": {"filesystems": [{"device": "/dev/vdb", "format": ‸"ext5", "path": "/srv"}]}`), `error[VS3404]: storage.filesystems[0].format: the format is unknown; write ext4, xfs, btrfs, vfat, swap or, since version 3.3.0, none`},
		"misspelt key":       {user(`‸"sshAuthorisedKeys": []`), `warning[VS3405]: passwd.users[0].sshAuthorisedKeys: Ignition does not know this key and ignores it; did you mean "sshAuthorizedKeys"?`},
		"Butane's key":       {user(`‸"ssh_authorized_keys": []`), `warning[VS3405]: passwd.users[0].ssh_authorized_keys: Ignition does not know this key and ignores it; did you mean "sshAuthorizedKeys"?`},
		"Butane's inline":    {file(`"contents": {‸"inline": "canary-secret"}`), `warning[VS3405]: storage.files[0].contents.inline: "inline" is Butane's, and Ignition ignores it; write "source": "data:," and the content in percent-encoding, or translate with Butane`},
		"strange key": {with(`‸"cloud": {}`), "note[VS3412]: the config asks for nothing; add users, files or units\n" +
			`warning[VS3405]: cloud: Ignition does not know this key and ignores it; remove it`},
		"key of a later version": {user(`‸"shouldExist": false`), `warning[VS3405]: passwd.users[0].shouldExist: Ignition ignores this key in a config of version 3.0.0, it exists since 3.2.0; write "version": "3.2.0", or do without it`},
		"section of a later version": {with(`‸"kernelArguments": {}`), "note[VS3412]: the config asks for nothing; add users, files or units\n" +
			`warning[VS3405]: kernelArguments: Ignition ignores this key in a config of version 3.0.0, it exists since 3.3.0; write "version": "3.3.0", or do without it`},
		"networkd with units": {with(`‸"networkd": {"units": [{"name": "a.network"}]}, "passwd": {"users": [{"name": "core"}]}`),
			`warning[VS3405]: networkd: specification 3 has no networkd section: the guest ignores these units and comes up without their network; write them as files below /etc/systemd/network`},
		"enable":                  {unit(`"name": "a.service", ‸"enable": true`), `warning[VS3405]: systemd.units[0].enable: "enable" is of specification 2, and Ignition ignores it in a config of specification 3; "enable" is called "enabled" now`},
		"another case":            {user(`‸"UID": 7`), `warning[VS3405]: passwd.users[0].UID: the key has another case than the one that Ignition documents, and not every reader takes it; write "uid"`},
		"user without a name":     {with(`"passwd": {"users": [‸{"uid": 7}]}`), `warning[VS3408]: passwd.users[0]: the user has no name, which stops the boot when users are made; add "name"`},
		"private key":             {user(`"sshAuthorizedKeys": [‸"-----BEGIN OPENSSH PRIVATE KEY-----\ncanary-secret"]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: this is a private key, which anybody who reads the config can use now; give the line of the file that ends in .pub`},
		"key without its type":    {user(`"sshAuthorizedKeys": [‸"AAAAC3NzaC1lZDI1NTE5"]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: this is not a public key: the type, such as ssh-ed25519, is missing; give the line of the file that ends in .pub`},
		"key cut short":           {user(`"sshAuthorizedKeys": [‸"ssh-ed25519 AAAAC3Nza..."]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: the key is not whole: what stands behind its type is not base64; give the line of the file that ends in .pub`},
		"key of another type":     {user(`"sshAuthorizedKeys": [‸"` + strings.Replace(key, "ssh-ed25519", "ssh-rsa", 1) + `"]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: the key is not whole: it is not of the type that stands in front of it; give the line of the file that ends in .pub`},
		"two keys in one":         {user(`"sshAuthorizedKeys": [‸"` + key + `\n` + key + `"]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: there are several lines in one key; make each of them an item of the list`},
		"password in the clear":   {user(`"passwordHash": ‸"canary-secret"`), `warning[VS3410]: passwd.users[0].passwordHash: this is not a hash of crypt(5), so no password fits it; a password in clear text is not hashed here; hash it with mkpasswd or openssl passwd -6`},
		"MD5":                     {user(`"passwordHash": ‸"$1$salt$qJH7.N4xYta3aEG/dfqo/0"`), `warning[VS3410]: passwd.users[0].passwordHash: this is an MD5 hash, which is quickly guessed and refused by some guests; hash it anew with mkpasswd or openssl passwd -6`},
		"host name":               {with(`"storage": {"files": [‸{"path": "/etc/hostname", "contents": {"source": "data:,web"}}]}`), `note[VS3411]: storage.files[0]: an image that has /etc/hostname already stops its boot here; add "overwrite": true`},
		"base64":                  {base64.StdEncoding.EncodeToString([]byte(with(`"passwd": {}`))), `error[VS3400]: this is base64, and Ignition reads its own config only as plain JSON; decode it first`},
		"include":                 {"#include\nhttp://example.org/\n", `error[VS3400]: this is user-data for cloud-init (text/x-include-url), not an Ignition config; an Ignition guest does not read it`},
		"other gzip":              {zip("#!/bin/sh\n"), `error[VS3400]: this is compressed; Ignition reads its own config only as plain JSON; unpack it, or merge it by a small one with "compression": "gzip"`},
		"some text":               {"hello\n", `error[VS3401]: this is not JSON: neither a number, true, false, null nor a quoted text; put texts into double quotes`},
		"group twice":             {user(`"groups": ["sudo", ‸"sudo"]`), `error[VS3404]: passwd.users[0].groups[1]: an entry of this name or path stands here for the second time; give each file, directory, link, user, group and unit once`},
		"networkd with nothing":   {with(`‸"networkd": {}, "passwd": {"users": [{"name": "core"}]}`), `warning[VS3405]: networkd: specification 3 has no networkd section; this one is empty, so nothing is lost; remove it`},
		"object for a list":       {user(`"groups": ‸{}`), `error[VS3403]: passwd.users[0].groups: this should be a list, not an object; put it into square brackets`},
		"list for an object":      {with(`"passwd": ‸[]`), `error[VS3403]: passwd: this should be an object, not a list; see the specification of Ignition configs for its members`},
		"mode of no kind":         {file(`"mode": ‸"u=rw"`), `error[VS3403]: storage.files[0].mode: this should be a whole number, not a text; modes are decimal numbers: write 420 for octal 0644`},
		"certificate as a key":    {user(`"sshAuthorizedKeys": [‸"-----BEGIN CERTIFICATE-----"]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: this is not a key as OpenSSH writes it; give the line of the file that ends in .pub`},
		"empty key":               {user(`"sshAuthorizedKeys": [‸""]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: the key is empty; give the line of the file that ends in .pub`},
		"key that ends early":     {user(`"sshAuthorizedKeys": [‸"ssh-ed25519"]`), `warning[VS3409]: passwd.users[0].sshAuthorizedKeys[0]: this is not a public key: nothing stands behind its type; give the line of the file that ends in .pub`},
		"sha256 of other content": {strings.Replace(file(`"contents": {"source": "data:,x", "verification": {"hash": ‸"sha256-`+strings.Repeat("0", 64)+`"}}`), "3.0.0", "3.1.0", 1), `error[VS3413]: storage.files[0].contents.verification.hash: the hash is not that of the content; compute it anew, of the content before it is compressed`},
		"sha256 before its time":  {file(`"contents": {"source": "data:,x", "verification": {"hash": ‸"sha256-` + strings.Repeat("0", 64) + `"}}`), `error[VS3404]: storage.files[0].contents.verification.hash: the hash function is unknown to this version; write sha512- or, since version 3.1.0, sha256- and the digits in hexadecimal`},
		"wrong hash":              {file(`"contents": {"source": "data:,x", "verification": {"hash": ‸"sha512-` + strings.Repeat("0", 128) + `"}}`), `error[VS3413]: storage.files[0].contents.verification.hash: the hash is not that of the content; compute it anew, of the content before it is compressed`},
		"hash of no kind":         {file(`"contents": {"source": "data:,x", "verification": {"hash": ‸"abc"}}`), `error[VS3404]: storage.files[0].contents.verification.hash: the hash has no function in front; write sha512- or, since version 3.1.0, sha256- and the digits in hexadecimal`},
		"not compressed":          {file(`"contents": {"source": ‸"data:,x", "compression": "gzip"}`), `error[VS3413]: storage.files[0].contents.source: the content cannot be unpacked with gzip; compress it, or remove "compression"`},
		"wrong config inside": {`{"ignition": {"version": "3.0.0", "config": {"merge": [{"source": ‸"` + data(user("\"uid\":\n\"7\"")) + `"}]}}}`,
			`error[VS3403]: passwd.users[0].uid: in the config at ignition.config.merge[0], line 2: this should be a whole number, not a text; write a whole number without quotes`},
		"old config inside": {`{"ignition": {"version": "3.0.0", "config": {"merge": [{"source": ‸"` + data(`{"ignition": {"version": "2.2.0"}}`) + `"}]}}}`,
			`error[VS3402]: ignition.version: in the config at ignition.config.merge[0], line 1: a config of specification 2 cannot be part of one of specification 3; state a version from 3.0.0 to 3.6.0`},
		"compressed config inside": {`{"ignition": {"version": "3.0.0", "config": {"replace": {"source": ‸"` + data(zip(with(`"passwd": {}`))) + `"}}}}`,
			`error[VS3413]: ignition.config.replace.source: the content is compressed, and nothing says so; add "compression": "gzip"`},
	}
}

func TestWrong(t *testing.T) {
	for name, tt := range wrong() {
		in, places := marked(tt.in)
		c, l := Parse(diag.File("c.ign"), []byte(in))
		var said, want []string
		for _, d := range l {
			said = append(said, d.Error())
		}
		for i, text := range strings.Split(tt.want, "\n") {
			at := diag.Pos{Line: 1, Column: 1}
			if first := len(l) - len(places); i >= first && i-first < len(places) {
				at = places[i-first]
			}
			want = append(want, fmt.Sprintf("c.ign:%d:%d: %s", at.Line, at.Column, text))
		}
		if d := cmp.Diff(want, said); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if c.IsZero() != l.HasErrors() {
			t.Errorf("%s: there is a config (%v) beside an error (%v)", name, !c.IsZero(), l.HasErrors())
		}
		if strings.Contains(strings.Join(said, ""), "canary") {
			t.Errorf("%s: a message quotes a value", name)
		}
	}
}

// The second place of an entry that stands twice is named as well.
func TestTwins(t *testing.T) {
	in, places := marked(with(`"storage": {"directories": [‸{"path": "/x"}], "files": [{"path": "/y"}, ‸{"path": "/x"}]}`))
	_, l := Parse(diag.File("c.ign"), []byte(in))
	if len(l) != 1 || len(l[0].Related) != 1 || l[0].Range.Start != places[1] || l[0].Related[0].Range.Start != places[0] {
		t.Errorf("got %+v", l)
	}
}

// A config inside a block scalar of a manifest is complained about where it stands there.
func TestOrigin(t *testing.T) {
	o := diag.Origin{Whole: diag.At("vm.yaml", 9, 5), Lines: []diag.Pos{{Line: 10, Column: 9}, {Line: 11, Column: 9}}, What: "annotation kubevirt.io/ignitiondata"}
	_, l := Parse(o, []byte("{\"ignition\": {\"version\": \"3.0.0\"},\n \"cloud\": {\"a\": [1,]}}"))
	if got := l[len(l)-1].Error(); got != "vm.yaml:11:27: error[VS3401]: annotation kubevirt.io/ignitiondata: trailing comma before ]; remove the comma" {
		t.Errorf("got %s", got)
	}
}

func TestCodesAreExplained(t *testing.T) {
	explained := map[diag.Code]bool{}
	for _, e := range Codes() {
		explained[e.Code] = e.Title != "" && e.Text != ""
	}
	for c := CodeForeign; c <= CodeGuestLacks; c++ {
		if !explained[c] {
			t.Errorf("%v is not explained", c)
		}
	}
}

// What would keep the official library busy for minutes is refused before it sees it.
func TestBudgets(t *testing.T) {
	many := func(n int, item string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(item, i))
		}
		return strings.Join(items, ",")
	}
	links := many(2_100, `{"path": "/l%d", "target": "/x"}`)
	old := many(2_100, `{"path": "/l%d", "target": "/x", "filesystem": "root"}`)
	for name, tt := range map[string]struct{ in, want string }{
		"links":               {with(`"storage": {"links": [` + links + `]}`), "these are more links and files than can be compared"},
		"links of old":        {of("2.2.0", `"storage": {"links": [`+old+`]}`), "these are more links and files than can be compared"},
		"values":              {with(`"passwd": {"users": [` + many(30_000, `{"uid": %d}`) + `]}`), "the document has more than 50000 values"},
		"depth":               {with(`"x": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200)), "nesting is deeper than 100 levels"},
		"commas":              {`{"ignition": {"version": "3.0.0"}, "passwd": {"users": [` + strings.Repeat(`{"name": "a",},`, 200) + `]}}`, "trailing comma before }"},
		"bytes that are none": {with(`"x": "` + "\xff" + `"`), "input is not UTF-8"},
	} {
		c, l := Parse(diag.File("c.ign"), []byte(tt.in))
		if !c.IsZero() || !strings.Contains(l.Error(), tt.want) || len(l) > 110 {
			t.Errorf("%s: %d remarks: %.300s", name, len(l), l.Error())
		}
	}
	// Each of these unpacks to 8 MiB, and the hash of the last is wrong: it is beyond what is looked at.
	packed := data(zip(strings.Repeat("x", 8<<20)))
	item := `{"path": "/%d", "contents": {"compression": "gzip", "source": "` + packed + `"`
	hash := `, "verification": {"hash": "sha512-` + strings.Repeat("0", 128) + `"}}}`
	for n, want := range map[int]int{2: 1, 9: 0} {
		_, l := Parse(diag.File("c.ign"), []byte(with(`"storage": {"files": [`+many(n, item+"}}")+`, {"path": "/last", `+strings.SplitN(item, ", ", 2)[1]+hash+`]}`)))
		if len(l) != want {
			t.Errorf("%d large files: %v", n, l)
		}
	}
	inside := `{"ignition": {"version": "3.0.0"}}`
	for range 8 {
		inside = `{"ignition": {"version": "3.0.0", "config": {"merge": [{"source": "` + data(inside) + `"}]}}}`
	}
	if _, l := Parse(diag.File("c.ign"), []byte(inside)); len(l) > 0 {
		t.Errorf("configs inside configs: %v", l)
	}
}
