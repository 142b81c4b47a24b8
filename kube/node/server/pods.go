package server

import (
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pods answers /pods: what the API server wants to run here.
func (s *Server) pods(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, podList(s.config.Pods.List()))
}

// runningPods answers /runningpods: what really runs here.
func (s *Server) runningPods(w http.ResponseWriter, r *http.Request) {
	provider, ok := s.config.Provider.(Residents)
	if !ok {
		lacks(w)
		return
	}
	pods, err := provider.ResidentPods(r.Context())
	if err != nil {
		s.failed(w, r, err)
		return
	}
	running := pods[:0:0]
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning {
			running = append(running, p)
		}
	}
	s.answer(w, podList(running))
}

func podList(pods []*corev1.Pod) *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: make([]corev1.Pod, 0, len(pods))}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}

// answer sends a document as JSON.
func (s *Server) answer(w http.ResponseWriter, document any) {
	body, err := json.Marshal(document)
	if err != nil {
		s.config.Logger.Error("an answer cannot be written as JSON", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body) //nolint:errcheck // The client has gone.
}
