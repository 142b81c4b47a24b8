package main

import (
	"bytes"
	"errors"
	"io"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/yaml"
)

// memory keeps what a generator writes.
type memory map[string]*bytes.Buffer

// Open returns a writer for a file.
func (m memory) Open(_ *loader.Package, name string) (io.WriteCloser, error) {
	m[name] = &bytes.Buffer{}
	return keep{m[name]}, nil
}

type keep struct{ io.Writer }

func (keep) Close() error { return nil }

// generate makes the schema of the version v1 of each kind of the module, by plural.
func generate() (map[string]schema, error) {
	// Descriptions would make a definition larger than the annotation in which kubectl apply keeps a copy of it may be.
	noText, yes := 0, true
	var generator genall.Generator = crd.Generator{MaxDescLen: &noText, AllowDangerousTypes: &yes, GenerateEmbeddedObjectMeta: &yes}
	runtime, err := genall.Generators{&generator}.ForRoots(module)
	if err != nil {
		return nil, err
	}
	files := memory{}
	runtime.OutputRules = genall.OutputRules{Default: files}
	if runtime.Run() {
		return nil, errors.New("the generator of schemas reported errors")
	}
	schemas := map[string]schema{}
	for _, text := range files {
		var d struct {
			Spec struct {
				Names    struct{ Plural string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema schema }
				}
			}
		}
		if err := yaml.Unmarshal(text.Bytes(), &d); err != nil {
			return nil, err
		}
		if len(d.Spec.Versions) == 1 {
			schemas[d.Spec.Names.Plural] = d.Spec.Versions[0].Schema.OpenAPIV3Schema
		}
	}
	return schemas, nil
}
