// Command helm renders a Helm chart with Helm's own engine and writes the objects to standard output: what
// `helm template` writes, from a program that needs none of what Helm needs to install anything.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
)

func main() {
	set := flag.String("set", "", "values, as key=value,...")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: helm [-set key=value,...] CHART")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *set); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

func run(dir, set string) error {
	chart, err := loader.Load(dir)
	if err != nil {
		return err
	}
	if err := chart.Validate(); err != nil {
		return err
	}
	given, err := strvals.Parse(set)
	if err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: "vmseed", Namespace: "kubevirt", Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Println(files[name])
	}
	return nil
}
