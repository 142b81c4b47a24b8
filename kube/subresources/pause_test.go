package subresources

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestPause holds which instances are paused, unpaused and reset, and by which words to their nodes.
func TestPause(t *testing.T) {
	running, halted, paused := instanceX(kubevirtv1.Running), instanceX(kubevirtv1.Succeeded), instanceX(kubevirtv1.Running)
	paused.Status.Conditions = append(paused.Status.Conditions, kubevirtv1.VirtualMachineInstanceCondition{Type: kubevirtv1.VirtualMachineInstancePaused, Status: corev1.ConditionTrue})
	for _, test := range []struct {
		name, what, body string
		vmi              *kubevirtv1.VirtualMachineInstance
		err              error
		code             int
		says, word       string
	}{
		{"pause", "pause", "", running, nil, http.StatusOK, "", PauseCommand},
		{"pause only in thought", "pause", `{"dryRun": ["All"]}`, running, nil, http.StatusOK, "", ""},
		{"pause in a way that is none", "pause", `{"dryRun": ["Some"]}`, running, nil, http.StatusBadRequest, "dryRun", ""},
		{"pause twice", "pause", "", paused, nil, http.StatusConflict, "VMI is already paused", ""},
		{"pause what has ended", "pause", "", halted, nil, http.StatusConflict, "VMI is not running", ""},
		{"unpause", "unpause", "{}", paused, nil, http.StatusOK, "", UnpauseCommand},
		{"unpause what runs", "unpause", "", running, nil, http.StatusConflict, "VMI is not paused", ""},
		{"unpause in a way that is none", "unpause", `{"dryRun": 7}`, paused, nil, http.StatusBadRequest, "Can not unmarshal", ""},
		{"reset", "reset", "", running, nil, http.StatusOK, "", ResetCommand},
		{"reset what is paused", "reset", "", paused, nil, http.StatusOK, "", ResetCommand},
		{"a node that cannot", "reset", "", running, &exitError{status: 126, stderr: "vmseed: restart the VM"}, http.StatusInternalServerError, "Internal error occurred: restart the VM", ResetCommand},
		{"a node that is away", "reset", "", running, errors.New("dial tcp: refused"), http.StatusInternalServerError, "refused", ResetCommand},
	} {
		h := serve(t, Options{}, interceptor.Funcs{}, []client.Object{test.vmi.DeepCopy(), launcherX("vmi")}...)
		word := ""
		h.Server.pods.(*fakePods).exec = func(command []string) ([]byte, error) {
			word = strings.Join(command, " ")
			return nil, test.err
		}
		response, body := h.do(t, "owner", http.MethodPut, url(instances, test.what), test.body)
		if response.StatusCode != test.code || !strings.Contains(body, test.says) || word != test.word {
			t.Errorf("%s: %d %s by %q, want %d, %q by %q", test.name, response.StatusCode, body, word, test.code, test.says, test.word)
		}
	}
	h := serve(t, Options{}, interceptor.Funcs{}, running.DeepCopy())
	if response, body := h.do(t, "owner", http.MethodPut, url(instances, "pause"), ""); response.StatusCode != http.StatusConflict || !strings.Contains(body, "no launcher pod") {
		t.Errorf("without a pod: %d %s", response.StatusCode, body)
	}
}
