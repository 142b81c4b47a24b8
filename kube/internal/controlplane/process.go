package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a part of the control plane that runs.
type process struct {
	name, log string
	cmd       *exec.Cmd
	ended     chan struct{}
	err       error
}

// run starts a part and returns when url says that it is ready.
func (c *ControlPlane) run(ctx context.Context, program string, flags []string, url string, client *http.Client) error {
	p := &process{name: program, ended: make(chan struct{})}
	p.log = filepath.Join(c.dir, "logs", p.name+".log")
	log, err := os.OpenFile(p.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(filepath.Join(c.programs, program), flags...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = Leash()
	started := make(chan error, 1)
	go p.hold(started)
	if err := <-started; err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return p.await(ctx, url, client)
}

// hold starts the process and waits for its end, on a thread of its own: the process ends with that thread.
func (p *process) hold(started chan<- error) {
	Pin()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.ended)
}

// await returns when url answers that all is well.
func (p *process) await(ctx context.Context, url string, client *http.Client) error {
	if client == nil {
		client = http.DefaultClient
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last := errors.New("it was not asked")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if last = ask(ctx, client, url); last == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.tail(2000))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, last, p.tail(2000))
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// insecure is a client for the health of parts whose certificates are their own. It sends nothing.
func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
}

// stop ends the process.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-p.ended:
		return nil
	case <-limit.C:
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
	return fmt.Errorf("%s did not end by itself", p.name)
}

// tail is the end of the process's log.
func (p *process) tail(most int64) string {
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	text, _ := io.ReadAll(f)
	return string(text)
}
