package subresources

import (
	"net/http"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// compatible is the release of KubeVirt whose API this is. Clients compare its major and minor number with their own.
const compatible = "1.8.0"

// discovery adds the documents by which clients find the API, and those by which its state is told. They are open, as
// KubeVirt's are, and say nothing that depends on the cluster.
func (s *Server) discovery(mux *http.ServeMux) {
	group := metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: Group,
		PreferredVersion: groupVersion(Versions()[0]),
	}
	paths := []string{"/apis", "/apis/" + Group, "/healthz", "/openapi/v2", "/version"}
	document := func(path string, v any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, v) })
	}
	for _, v := range Versions() {
		group.Versions = append(group.Versions, groupVersion(v))
		base := "/apis/" + Group + "/" + v
		paths = append(paths, base)
		document(base, resources(v))
		document(base+"/{$}", resources(v))
		document(base+"/version", s.version())
		mux.HandleFunc("GET "+base+"/healthz", s.health)
	}
	document("/{$}", metav1.RootPaths{Paths: paths})
	document("/apis", metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}})
	document("/apis/"+Group, group)
	document("/version", s.version())
	// The API server makes version 3 of it.
	document("/openapi/v2", map[string]any{
		"swagger": "2.0", "paths": map[string]any{},
		"info": map[string]any{"title": Group, "version": s.version().GitVersion},
	})
	mux.HandleFunc("GET /healthz", s.health)
}

func groupVersion(v string) metav1.GroupVersionForDiscovery {
	return metav1.GroupVersionForDiscovery{GroupVersion: Group + "/" + v, Version: v}
}

// resources lists the subresources that do something.
func resources(v string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: Group + "/" + v}
	kinds := map[string]string{
		machines:  kubevirtv1.VirtualMachineGroupVersionKind.Kind,
		instances: kubevirtv1.VirtualMachineInstanceGroupVersionKind.Kind,
	}
	seen := map[string]bool{}
	for _, r := range routes() {
		name := r.resource + "/" + r.attribute()
		if r.serve == nil || seen[name] {
			continue
		}
		seen[name] = true
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: name, Namespaced: true, Group: "kubevirt.io", Version: "v1", Kind: kinds[r.resource], Verbs: metav1.Verbs{r.verb()},
		})
	}
	return list
}

// version is the release of KubeVirt that the API is compatible with, with vmseed's own behind it.
func (s *Server) version() version.Info {
	info := version.Info{
		Major: "1", Minor: "8", GitVersion: "v" + compatible + "+vmseed",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if own := metadata(s.options.Version); own != "" {
		info.GitVersion += "." + own
	}
	return info
}

// metadata returns text as semantic versions allow it behind a plus sign.
func metadata(text string) string {
	out := []byte(text)
	for i, c := range out {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '.', c == '-':
		default:
			out[i] = '-'
		}
	}
	return string(out)
}

// health tells whether requests can be answered.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if err := s.callers.known(); err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]any{"apiserver": map[string]any{"connectivity": "failed", "error": err.Error()}})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"apiserver": map[string]any{"connectivity": "ok"}})
}
