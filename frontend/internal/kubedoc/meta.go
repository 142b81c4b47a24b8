package kubedoc

// Meta returns the table of the metadata that every Kubernetes object has (meta/v1 ObjectMeta), with the fields that the
// caller reads himself.
func Meta(used ...string) Table {
	t := Table{"name": Cluster, "namespace": Cluster, "uid": Cluster, "labels": Cluster, "annotations": Cluster, "generateName": Cluster,
		"creationTimestamp": Cluster, "deletionTimestamp": Cluster, "deletionGracePeriodSeconds": Cluster, "finalizers": Cluster,
		"generation": Cluster, "managedFields": Cluster, "ownerReferences": Cluster, "resourceVersion": Cluster, "selfLink": Cluster,
		"clusterName": Cluster, "initializers": Cluster}
	for _, name := range used {
		t[name] = Used
	}
	return t
}
