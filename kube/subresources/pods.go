package subresources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
)

// podStreams is what the kubelet of a pod's node does for this server.
type podStreams interface {
	// Attach joins the console of the pod's VM with in and out until one of them ends.
	Attach(ctx context.Context, pod *corev1.Pod, in io.Reader, out io.Writer) error
	// Forward joins a TCP port of the VM with in and out; it calls opened when the node has taken the stream.
	Forward(ctx context.Context, pod *corev1.Pod, port uint16, in io.Reader, out io.Writer, opened func()) error
	// Exec runs a command in the guest and returns what it wrote. The error is an exitError if it ran and failed.
	Exec(ctx context.Context, pod *corev1.Pod, command ...string) ([]byte, error)
}

// exitError is a command's end with another status than 0.
type exitError struct {
	status int
	stderr string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("the command in the guest ended with status %d: %s", e.status, e.stderr)
}

// kubeletStreams are podStreams through the API server. It tries WebSockets first, and SPDY with an API server or a proxy
// that does not take them.
type kubeletStreams struct {
	config *rest.Config
	kube   kubernetes.Interface
}

// outputBytes is the most that a command may write.
const outputBytes = 1 << 20

func (k *kubeletStreams) request(pod *corev1.Pod, subresource string) *rest.Request {
	return k.kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource(subresource)
}

func (k *kubeletStreams) executor(request *rest.Request) (remotecommand.Executor, error) {
	sockets, err := remotecommand.NewWebSocketExecutor(k.config, http.MethodGet, request.URL().String())
	if err != nil {
		return nil, err
	}
	older, err := remotecommand.NewSPDYExecutor(k.config, http.MethodPost, request.URL())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(sockets, older, upgradeRefused)
}

// upgradeRefused reports whether an API server or a proxy before it does not take WebSockets.
func upgradeRefused(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// Attach is documented at podStreams.
func (k *kubeletStreams) Attach(ctx context.Context, pod *corev1.Pod, in io.Reader, out io.Writer) error {
	container := pod.Spec.Containers[0]
	executor, err := k.executor(k.request(pod, "attach").VersionedParams(&corev1.PodAttachOptions{
		Container: container.Name, Stdin: true, Stdout: true, TTY: true,
	}, scheme.ParameterCodec))
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Tty: true})
}

// Exec is documented at podStreams.
func (k *kubeletStreams) Exec(ctx context.Context, pod *corev1.Pod, command ...string) ([]byte, error) {
	executor, err := k.executor(k.request(pod, "exec").VersionedParams(&corev1.PodExecOptions{
		Container: pod.Spec.Containers[0].Name, Command: command, Stdout: true, Stderr: true,
	}, scheme.ParameterCodec))
	if err != nil {
		return nil, err
	}
	stdout, stderr := &limitedBuffer{}, &limitedBuffer{}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: stdout, Stderr: stderr})
	var exit utilexec.CodeExitError
	switch {
	case errors.As(err, &exit):
		return nil, &exitError{status: exit.Code, stderr: strings.TrimSpace(stderr.String())}
	case err != nil:
		return nil, err
	case stdout.cut:
		return nil, fmt.Errorf("the command in the guest wrote more than %d bytes", outputBytes)
	}
	return stdout.Bytes(), nil
}

// limitedBuffer keeps the first outputBytes bytes.
type limitedBuffer struct {
	bytes.Buffer
	cut bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := outputBytes - b.Len(); len(p) > room {
		b.cut = true
		b.Buffer.Write(p[:room])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// Forward is documented at podStreams. The kubelet gives a forwarded connection two streams, one for data and one on which
// it says what went wrong.
func (k *kubeletStreams) Forward(ctx context.Context, pod *corev1.Pod, port uint16, in io.Reader, out io.Writer, opened func()) error {
	connection, err := k.dial(k.request(pod, "portforward"))
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	problems, err := connection.CreateStream(headers)
	if err != nil {
		return fmt.Errorf("the stream for errors: %w", err)
	}
	_ = problems.Close() // this side says nothing there
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return fmt.Errorf("the stream for data: %w", err)
	}
	opened()
	said := make(chan error, 1)
	go func() {
		message, err := io.ReadAll(io.LimitReader(problems, 4096))
		if err == nil && len(message) > 0 {
			err = errors.New(strings.TrimSpace(string(message)))
		}
		said <- err
	}()
	go func() {
		_, _ = io.Copy(data, in)
		_ = data.Close() // the guest reads to the end and may answer then
	}()
	_, copied := io.Copy(out, data)
	select {
	case err := <-said:
		if err != nil && ctx.Err() == nil {
			return err
		}
	case <-time.After(errorGrace):
	case <-connection.CloseChan():
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return copied
}

// errorGrace is how long the message about an error may come after the end of the data.
const errorGrace = 2 * time.Second

// dial opens a connection for forwarded ports.
func (k *kubeletStreams) dial(request *rest.Request) (httpstream.Connection, error) {
	sockets, err := portforward.NewSPDYOverWebsocketDialer(request.URL(), k.config)
	if err != nil {
		return nil, err
	}
	round, upgrader, err := spdy.RoundTripperFor(k.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialer(upgrader, &http.Client{Transport: round}, http.MethodPost, request.URL())
	connection, protocol, err := portforward.NewFallbackDialer(sockets, older, upgradeRefused).Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("forwarding a port of the pod: %w", err)
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		connection.Close()
		return nil, fmt.Errorf("forwarding a port of the pod: the API server speaks %q", protocol)
	}
	return connection, nil
}
