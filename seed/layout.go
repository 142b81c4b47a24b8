package seed

// Layout recognises by its files which data source reads a volume: nocloud, configdrive, or "" for none.
func Layout(v Volume) string {
	if _, ok := v.File("openstack/latest/meta_data.json"); ok {
		return "configdrive"
	}
	_, meta := v.File("meta-data")
	_, user := v.File("user-data")
	if meta || user {
		return "nocloud"
	}
	return ""
}
