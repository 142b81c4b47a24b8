package main

// The schemas below are changed after they have been compared with the Go types, which do not have these fields and
// pass over them.

// machineShape adds to the schema of a VirtualMachine what its Go type does not say.
func machineShape(object schema) {
	spec := object.at("spec")
	spec.rule(map[string]any{"rule": "!(has(self.running) && has(self.runStrategy))", "fieldPath": ".running",
		"message": "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead"})
	spec.rule(map[string]any{"rule": "has(self.running) || has(self.runStrategy)", "message": "RunStrategy must be specified"})
	strategy := spec.at("runStrategy")
	strategy["maxLength"] = 63
	strategy.rule(map[string]any{"rule": "self in ['Always', 'Halted', 'Manual', 'RerunOnFailure', 'Once', 'WaitAsReceiver']",
		"messageExpression": "'Invalid RunStrategy (' + self + ')'", "message": "Invalid RunStrategy"})
	instanceSpec(spec.at("template", "spec"))
}

// instanceShape adds to the schema of a VirtualMachineInstance what its Go type does not say.
func instanceShape(object schema) { instanceSpec(object.at("spec")) }

// open is a schema of objects with any fields.
func open() schema { return schema{"type": "object", "x-kubernetes-preserve-unknown-fields": true} }

func text() schema { return schema{"type": "string"} }

// instanceSpec adds the fields of other versions to the spec of an instance. Those of versions before v1alpha2, a near
// copy of libvirt's domains, are open below: the controller hands them to the front end, which knows them.
func instanceSpec(spec schema) {
	newerSources(spec.at("volumes", "[]"))
	spec.put("cloudInit", open())
	spec.at("volumes", "[]").put("registryDisk", schema{"type": "object", "required": []any{"image"},
		"properties": map[string]any{"image": text(), "imagePullSecret": text(), "path": text()}})
	spec.at("networks", "[]").put("genie", schema{"type": "object", "required": []any{"networkName"},
		"properties": map[string]any{"networkName": text(), "default": schema{"type": "boolean"}}})
	domain := spec.at("domain")
	domain.put("type", text())
	domain.put("os", open())
	domain.put("sysInfo", open())
	domain.at("memory").put("value", schema{"type": "integer", "format": "int64", "minimum": 0})
	domain.at("memory").put("unit", text())
	devices := domain.at("devices")
	devices.put("emulator", text())
	for _, name := range []string{"channels", "consoles", "serials", "graphics"} {
		devices.put(name, schema{"type": "array", "items": open()})
	}
	devices.put("ballooning", open())
	legacyDisk(devices.at("disks", "[]"))
	legacyInterface(devices.at("interfaces", "[]"))
}

// newerSources adds what is proposed for cloud-init sources (KubeVirt enhancements 100 and 455), which the front end reads.
func newerSources(volume schema) {
	for _, name := range []string{"cloudInitNoCloud", "cloudInitConfigDrive"} {
		source := volume.at(name)
		source.put("vendorData", text())
		source.put("vendorDataBase64", text())
		source.put("metaData", schema{"type": "object", "additionalProperties": map[string]any{"type": "string"}})
		for _, ref := range []string{"vendorDataSecretRef", "metaDataSecretRef"} {
			source.put(ref, schema{"type": "object", "properties": map[string]any{"name": text()}, "x-kubernetes-map-type": "atomic"})
		}
	}
}

// legacyDisk adds the disks of the layout before volumes, which have no name but a source of their own.
func legacyDisk(disk schema) {
	delete(disk, "required")
	for _, name := range []string{"type", "device", "snapshot", "volumeName"} {
		disk.put(name, text())
	}
	disk.put("readonly", schema{"type": "boolean"})
	for _, name := range []string{"source", "target", "cloudinit", "cloudInit", "driver", "auth"} {
		disk.put(name, open())
	}
	disk.rule(map[string]any{"rule": "has(self.name) || has(self.source) || has(self.target) || has(self.cloudinit) || has(self.cloudInit)",
		"fieldPath": ".name", "reason": "FieldValueRequired", "message": "a disk needs a name"})
}

// legacyInterface adds the interfaces of the same layout.
func legacyInterface(nic schema) {
	delete(nic, "required")
	nic.put("type", text())
	for _, name := range []string{"source", "mac", "link", "target", "address", "alias", "bandwidth", "boot", "filterRef"} {
		nic.put(name, open())
	}
	nic.rule(map[string]any{"rule": "has(self.name) || has(self.source) || has(self.mac)",
		"fieldPath": ".name", "reason": "FieldValueRequired", "message": "an interface needs a name"})
}
