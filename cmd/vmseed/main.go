// Command vmseed turns VM definitions into what a guest reads at its first boot, and boots the VM with it.
package main

import (
	"os"

	"github.com/vmseed/vmseed/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
