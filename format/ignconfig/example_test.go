package ignconfig_test

import (
	"fmt"

	"github.com/coreos/ignition/v2/config/util"
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
)

func ExampleParse() {
	_, problems := ignconfig.Parse(diag.File("node.ign"), []byte(`{
  "ignition": {"version": "3.0.0"},
  "storage": {"files": [{"path": "/etc/motd", "mode": "0644"}]}
}`))
	fmt.Println(problems.Err())
	// Output:
	// node.ign:3:55: error[VS3403]: storage.files[0].mode: this should be a whole number, not a text; modes are decimal numbers: write 420, which is octal 0644
}

func ExampleParse_oldSpecification() {
	c, problems := ignconfig.Parse(diag.File("old.ign"), []byte(`{"ignition": {"version": "2.2.0"}, "passwd": {"users": [{"name": "core"}]}}`))
	fmt.Println(problems[0].Severity, c.Stated(), "→", c.Version())
	fmt.Printf("%s\n", c.Text())
	// Output:
	// warning 2.2.0 → 3.0.0
	// {"ignition":{"version":"3.0.0"},"passwd":{"users":[{"name":"core"}]}}
}

func ExampleParseButane() {
	c, _ := ignconfig.ParseButane(diag.File("node.bu"), []byte(`
variant: flatcar
version: 1.0.0
storage:
  files:
    - path: /etc/motd
      mode: 0644
      contents: {inline: hello}
`))
	fmt.Printf("%s\n", c.Text())
	// Output:
	// {"ignition":{"version":"3.3.0"},"storage":{"files":[{"path":"/etc/motd","contents":{"compression":"","source":"data:,hello"},"mode":420}]}}
}

func ExampleBuild() {
	var c types.Config
	c.Passwd.Users = []types.PasswdUser{{Name: "core", UID: util.IntToPtr(1000)}}
	built, _ := ignconfig.Build(c)
	fmt.Println(built.Version())
	c.KernelArguments.ShouldExist = []types.KernelArgument{"quiet"}
	built, _ = ignconfig.Build(c)
	fmt.Println(built.Version())
	// Output:
	// 3.0.0
	// 3.3.0
}

func ExampleLint() {
	guest, _ := ignconfig.ParseGuest("debian-12")
	for _, d := range ignconfig.Lint(diag.File("node.ign"), []byte(`{"ignition": {"version": "3.4.0"}}`), guest) {
		fmt.Println(d.Remedy)
	}
	// Output:
	// nothing in it needs more than 3.0.0: write that
}
