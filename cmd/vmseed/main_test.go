package main

import (
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expectations in the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vmseed": main, "cloud-localds": main})
}

// TestScripts runs the command as users do, one script below testdata/script each.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Cmds:                daemons(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			end := new(func())
			env.Values[running{}] = end
			env.Defer(func() {
				if *end != nil {
					(*end)()
				}
			})
			return nil
		},
	})
}
