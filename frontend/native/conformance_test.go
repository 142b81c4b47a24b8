package native_test

import (
	"testing"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/machine/machinetest"
)

func TestConformance(t *testing.T) {
	full, l := native.New().Write(machinetest.Full())
	if len(l) > 0 {
		t.Fatal(l)
	}
	frontendtest.Run(t, frontendtest.Config{
		New: func() frontend.Frontend { return native.New() },
		Samples: []frontendtest.Sample{
			{Name: "full", Files: []frontendtest.File{{Name: "full.yaml", Text: string(full)}}},
			{Name: "references", Objects: objects, Files: []frontendtest.File{{Name: "in.yaml", Text: references}}},
		},
	})
}

const objects = `
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: shop}
stringData:
  password: canary-of-a-secret
  cloud-config: |
    #cloud-config
    final_message: canary-of-the-user-data
---
apiVersion: v1
kind: ConfigMap
metadata: {name: motd, namespace: shop}
data: {text: canary-of-a-configmap}
`

const references = `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: web, namespace: shop}
spec:
  users:
  - default: true
    password: {secretRef: {name: web, key: password}}
  files:
  - path: /etc/motd
    content: {configMapRef: {name: motd, key: text}}
  - path: /etc/key
    content:
      base64: Y2FuYXJ5LW9mLWJhc2U2NA==
  userData:
    layers:
    - data: {secretRef: {name: web, key: cloud-config}}
    - |
      #cloud-config
      package_update: true
  runcmd:
  - echo a line
  - [echo, a list]
`
