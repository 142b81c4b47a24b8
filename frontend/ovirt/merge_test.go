package ovirt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
)

func parse(t testing.TB, text string) element.Element {
	t.Helper()
	e, l := element.ParseXML("f", []byte(text), bounded.Limits{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	return e
}

func xml(t testing.TB, e element.Element) string {
	t.Helper()
	out, err := e.XML()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestMerge lays requests over what is stored, as an engine does.
func TestMerge(t *testing.T) {
	init := func(inner string) string { return "<vm><initialization>" + inner + "</initialization></vm>" }
	old := func(inner string) string { return init("<cloud_init>" + inner + "</cloud_init>") }
	for name, tt := range map[string]struct{ base, over, want string }{
		"nothing":                {init("<host_name>a</host_name>"), "<vm/>", init("<host_name>a</host_name>")},
		"what is absent stays":   {init("<host_name>a</host_name><timezone>UTC</timezone>"), init("<timezone>GMT</timezone>"), init("<host_name>a</host_name><timezone>GMT</timezone>")},
		"an empty one clears":    {init("<host_name>a</host_name>"), "<vm><name>b</name><initialization/></vm>", "<vm><name>b</name></vm>"},
		"an empty one in lines":  {init("<host_name>a</host_name>"), "<vm><initialization>\n</initialization></vm>", "<vm/>"},
		"an empty text":          {init("<host_name>a</host_name>"), init("<host_name/>"), init("<host_name/>")},
		"an empty element":       {"<vm><cpu><topology><cores>1</cores></topology></cpu></vm>", "<vm><cpu/></vm>", "<vm><cpu><topology><cores>1</cores></topology></cpu></vm>"},
		"into the depth":         {"<vm><cpu><topology><cores>1</cores><sockets>2</sockets></topology></cpu></vm>", "<vm><cpu><topology><cores>3</cores></topology></cpu></vm>", "<vm><cpu><topology><cores>3</cores><sockets>2</sockets></topology></cpu></vm>"},
		"lists as a whole":       {init("<nic_configurations><nic_configuration><name>a</name></nic_configuration><nic_configuration><name>b</name></nic_configuration></nic_configurations>"), init("<nic_configurations><nic_configuration><name>c</name></nic_configuration></nic_configurations>"), init("<nic_configurations><nic_configuration><name>c</name></nic_configuration></nic_configurations>")},
		"an empty list":          {init("<nic_configurations><nic_configuration><name>a</name></nic_configuration></nic_configurations>"), init("<nic_configurations/>"), init("<nic_configurations/>")},
		"references as a whole":  {"<vm><template id='1'><name>a</name></template></vm>", "<vm><template><name>b</name></template></vm>", "<vm><template><name>b</name></template></vm>"},
		"siblings":               {"<vm><link rel='a'/><link rel='b'/></vm>", "<vm><link rel='c'/></vm>", "<vm><link rel='c'/></vm>"},
		"attributes":             {"<vm id='1' href='/x'/>", "<vm id='2'/>", "<vm href='/x' id='2'/>"},
		"of a template":          {"<template><initialization><host_name>a</host_name></initialization></template>", "<vm><name>b</name></vm>", "<vm><initialization><host_name>a</host_name></initialization><name>b</name></vm>"},
		"masked":                 {init("<root_password>$6$a$b</root_password>"), init("<root_password>******</root_password><host_name>a</host_name>"), init("<root_password>$6$a$b</root_password><host_name>a</host_name>")},
		"masked and none stored": {init("<host_name>a</host_name>"), init("<root_password>******</root_password>"), init("<host_name>a</host_name>")},
		"another password":       {init("<root_password>$6$a$b</root_password>"), init("<root_password>new</root_password>"), init("<root_password>new</root_password>")},
		"masked users": {init("<users><user><user_name>a</user_name><password>1</password></user><user><user_name>b</user_name><password>2</password></user></users>"),
			init("<users><user><user_name>b</user_name><password>******</password></user><user><user_name>c</user_name><password>******</password></user></users>"),
			init("<users><user><user_name>b</user_name><password>2</password></user><user><user_name>c</user_name></user></users>")},
		"old over new":        {init("<host_name>a</host_name><timezone>UTC</timezone>"), old("<host><address>b</address></host>"), init("<timezone>UTC</timezone><cloud_init><host><address>b</address></host></cloud_init>")},
		"new over old":        {old("<host><address>b</address></host><timezone>UTC</timezone>"), init("<host_name>a</host_name>"), init("<cloud_init><timezone>UTC</timezone></cloud_init><host_name>a</host_name>")},
		"new over all of old": {old("<host><address>b</address></host>"), init("<host_name>a</host_name>"), init("<host_name>a</host_name>")},
		"NICs, old over new":  {init("<nic_configurations><nic_configuration><name>a</name></nic_configuration></nic_configurations>"), old("<network_configuration><nics><nic><name>b</name></nic></nics></network_configuration>"), old("<network_configuration><nics><nic><name>b</name></nic></nics></network_configuration>")},
		"users, old over new": {init("<user_name>root</user_name><root_password>1</root_password>"), old("<users><user><user_name>root</user_name><password>2</password></user></users>"), old("<users><user><user_name>root</user_name><password>2</password></user></users>")},
		"users, new over old": {old("<users><user><user_name>root</user_name><password>2</password></user></users>"), init("<root_password>1</root_password>"), init("<root_password>1</root_password>")},
		"one of the users": {old("<users><user><user_name>root</user_name><password>2</password></user><user><user_name>bob</user_name></user></users>"), init("<user_name>root</user_name><root_password>1</root_password>"),
			init("<cloud_init><users><user><user_name>bob</user_name></user></users></cloud_init><user_name>root</user_name><root_password>1</root_password>")},
		"other users":          {old("<users><user><user_name>bob</user_name></user></users>"), init("<user_name>root</user_name><root_password>1</root_password>"), init("<cloud_init><users><user><user_name>bob</user_name></user></users></cloud_init><user_name>root</user_name><root_password>1</root_password>")},
		"unknown members stay": {"<vm><x><y>1</y></x></vm>", "<vm><z>2</z></vm>", "<vm><x><y>1</y></x><z>2</z></vm>"},
	} {
		base, over := parse(t, tt.base), parse(t, tt.over)
		before := xml(t, base) + xml(t, over)
		got := xml(t, ovirt.Merge(base, over))
		if d := cmp.Diff(xml(t, parse(t, tt.want)), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if xml(t, base)+xml(t, over) != before {
			t.Errorf("%s: merging changes what was given", name)
		}
	}
	over := parse(t, "<vm><name>a</name></vm>")
	if got := ovirt.Merge(element.Element{}, over); !got.Equal(over) {
		t.Errorf("over nothing: %s", xml(t, got))
	}
}

// random makes a vm of members that may be there.
func random(r *rand.Rand) element.Element {
	vm := element.New("vm")
	maybe := func(e, child element.Element) element.Element {
		if r.IntN(2) == 0 {
			return e
		}
		return e.Append(child)
	}
	value := func(name string) element.Element { return element.Text(name, fmt.Sprint(r.IntN(3))) }
	user := func() element.Element {
		return element.New("user", element.Text("user_name", []string{"root", "bob"}[r.IntN(2)]), value("password"))
	}
	init, old := element.New("initialization"), element.New("cloud_init")
	for _, name := range []string{"host_name", "timezone", "user_name", "root_password", "custom_script", "dns_servers"} {
		init = maybe(init, value(name))
	}
	init = maybe(init, element.List("nic_configurations", element.New("nic_configuration", value("name"))))
	init = maybe(init, element.List("users", user()))
	old = maybe(old, element.New("host", value("address")))
	old = maybe(old, value("timezone"))
	old = maybe(old, element.List("users", user(), user()))
	if len(old.Children) > 0 {
		init = maybe(init, old)
	}
	if len(init.Children) > 0 {
		vm = maybe(vm, init)
	}
	vm = maybe(vm, value("name"))
	vm = maybe(vm, element.New("template", value("name")))
	return maybe(vm, element.New("cpu", element.New("topology", value("cores"))))
}

// TestMergeLaws holds what is true of all documents: a document laid over itself changes nothing, a second time changes
// nothing more, what the request states is in the result, and the result reads without saying anything twice.
func TestMergeLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, b := random(r), random(r)
		if got := ovirt.Merge(a, a); xml(t, got) != xml(t, a) {
			t.Fatalf("over itself\n%sbecomes\n%s", xml(t, a), xml(t, got))
		}
		once := ovirt.Merge(a, b)
		if twice := ovirt.Merge(once, b); xml(t, twice) != xml(t, once) {
			t.Fatalf("a second time\n%sover\n%s\nbecomes\n%s", xml(t, b), xml(t, once), xml(t, twice))
		}
		for _, path := range []string{"name", "initialization/host_name", "initialization/root_password", "initialization/cloud_init/host/address",
			"initialization/nic_configurations/nic_configuration/name", "cpu/topology/cores", "template/name"} {
			if want := b.Get(path); want.Exists() && once.Get(path).Text != want.Text {
				t.Fatalf("%s of\n%sis lost in\n%s", path, xml(t, b), xml(t, once))
			}
			if want := a.Get(path); want.Exists() && !strings.HasPrefix(path, "init") && !once.Get(path).Exists() {
				t.Fatalf("%s of\n%sis lost in\n%s", path, xml(t, a), xml(t, once))
			}
		}
		in := once.Child("initialization")
		if in.Child("host_name").Exists() && in.Get("cloud_init/host").Exists() && !(b.Get("initialization/host_name").Exists() && b.Get("initialization/cloud_init/host").Exists()) &&
			!(a.Get("initialization/host_name").Exists() && a.Get("initialization/cloud_init/host").Exists()) {
			t.Fatalf("two host names in\n%s", xml(t, once))
		}
	}
}

// TestPasswords hashes and masks passwords in every form.
func TestPasswords(t *testing.T) {
	const text = `<action>
  <vm>
    <name>canary is no password</name>
    <initialization>
      <user_name>root</user_name>
      <root_password>%s</root_password>
      <users>
        <user>
          <user_name>a</user_name>
          <password>%s</password>
        </user>
      </users>
      <cloud_init>
        <users>
          <user>
            <user_name>b</user_name>
            <password>%s</password>
          </user>
          <user>
            <password/>
          </user>
        </users>
      </cloud_init>
    </initialization>
  </vm>
</action>
`
	var users []string
	hash := func(user string, clear secret.Text) secret.Text {
		users = append(users, user)
		return secret.New(fmt.Sprintf("$6$salt$%X", clear.Reveal()))
	}
	for _, tt := range []struct{ in, hashed, masked [3]any }{
		{[3]any{"canary1", "canary2", "canary3"}, [3]any{"$6$salt$63616E61727931", "$6$salt$63616E61727932", "$6$salt$63616E61727933"}, [3]any{"******", "******", "******"}},
		{[3]any{"$6$a$b", "$y$j9T$a$b", "******"}, [3]any{"$6$a$b", "$y$j9T$a$b", "******"}, [3]any{"******", "******", "******"}},
		{[3]any{"$ecret", "$6$", "!x"}, [3]any{"$6$salt$246563726574", "$6$salt$243624", "$6$salt$2178"}, [3]any{"******", "******", "******"}},
	} {
		e := parse(t, fmt.Sprintf(text, tt.in[:]...))
		if got := xml(t, ovirt.HashPasswords(e, hash)); got != fmt.Sprintf(text, tt.hashed[:]...) {
			t.Errorf("hashed:\n%s", got)
		}
		if got := xml(t, ovirt.HashPasswords(ovirt.HashPasswords(e, hash), hash)); got != fmt.Sprintf(text, tt.hashed[:]...) {
			t.Errorf("hashed twice:\n%s", got)
		}
		if got := xml(t, ovirt.Mask(e)); got != fmt.Sprintf(text, tt.masked[:]...) {
			t.Errorf("masked:\n%s", got)
		}
		if got := xml(t, e); got != fmt.Sprintf(text, tt.in[:]...) {
			t.Errorf("what was given is changed:\n%s", got)
		}
	}
	users = nil
	ovirt.HashPasswords(parse(t, `<vm><initialization><root_password>x</root_password><users><user><user_name> a </user_name><password>x</password></user>`+
		`<user><password>x</password></user></users></initialization></vm>`), hash)
	ovirt.HashPasswords(parse(t, `<vm><initialization><user_name>admin</user_name><root_password>x</root_password></initialization></vm>`), hash)
	if want := []string{"root", "a", "", "admin"}; !slices.Equal(users, want) {
		t.Errorf("the passwords are those of %q, want %q", users, want)
	}
}
