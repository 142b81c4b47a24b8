// Package config embeds the objects that are applied to a cluster: the kustomize tree in this directory, file by file.
// `kubectl apply --server-side -k kube/config/default` applies it; package manifests reads it for programs.
package config

import "embed"

// Files is the tree: a directory for each part of an installation, with a kustomization.yaml that lists its objects in
// the order in which they are applied. Objects are written out in full, so that what stands here is what a cluster gets.
//
//go:embed */*.yaml
var Files embed.FS
