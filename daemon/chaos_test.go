//go:build linux

package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// workers is how many threads of requests a daemon has when it is killed.
const workers = 3

// victim is a daemon that adds, starts, stops and removes VMs until it is killed. It prints what it is going to do and what is
// done. One that lies says that a VM is there before it is.
func victim(dir, seed string, lies bool) error {
	ctx := context.Background()
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	d, err := daemon.Open(ctx, daemontest.Options(dir))
	if err != nil {
		return err
	}
	images, err := d.Images(daemon.ImageRepository)
	if err != nil || len(images) == 0 {
		return fmt.Errorf("%d images, %w", len(images), err)
	}
	var all sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		all.Go(func() {
			errs <- worker(ctx, d, images[0], rand.New(rand.NewPCG(number, uint64(w))), fmt.Sprintf("w%d-%s", w, seed), lies)
		})
	}
	return <-errs
}

// worker works on VMs and templates that it made itself.
func worker(ctx context.Context, d *daemon.Daemon, i daemon.Image, dice *rand.Rand, name string, lies bool) error {
	say := func(words ...any) { fmt.Println(words...) }
	template := ""
	for n := 0; ; n++ {
		if template == "" || dice.IntN(6) == 0 {
			x := fmt.Sprintf("t-%s-%d", name, n)
			say("import", x)
			made, err := d.Import(ctx, daemon.ImportRequest{Image: i.ID, Target: "data", AsTemplate: true, Name: x})
			if err != nil {
				return err
			}
			say("imported", x, made.Template)
			for t := (daemon.Template{Status: daemon.Locked}); t.Status == daemon.Locked; {
				if t, err = d.Template(made.Template); err != nil {
					return err
				}
			}
			template = made.Template
		}
		x := fmt.Sprintf("m-%s-%d", name, n)
		m := daemon.Machine{ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", dice.Uint32(), n+1), Template: template, Documents: plain(x, "")}
		say("add", m.ID)
		if lies {
			say("added", m.ID)
			time.Sleep(100 * time.Millisecond) // as one who writes later what he said that he has written
		}
		if _, err := d.Add(ctx, m); err != nil {
			return err
		}
		say("added", m.ID)
		for m.Status != daemon.Down {
			var err error
			if m, err = d.Get(m.ID); err != nil {
				return err
			}
		}
		steps := [][]string{{}, {"start"}, {"start", "stop"}, {"start", "stop", "remove"}, {"remove"}, {"start", "kill"}}[dice.IntN(6)]
		for _, step := range steps {
			say(step, m.ID)
			var err error
			switch step {
			case "start":
				err = d.Start(ctx, m.ID, daemon.StartOptions{})
			case "stop":
				err = d.Stop(ctx, m.ID)
			case "remove", "kill":
				err = d.Remove(ctx, m.ID, daemon.RemoveOptions{Force: step == "kill"})
			}
			if err != nil {
				return fmt.Errorf("%s: %w", step, err)
			}
			say(step+"ed", m.ID)
		}
	}
}

// massacre runs victims one after the other and kills each. It returns the last word on each object.
func massacre(t *testing.T, dir, how string, rounds int) map[string]string {
	t.Helper()
	last := map[string]string{}
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "chaos", dir, strconv.Itoa(round), how)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			words := strings.Fields(lines.Text())
			last[words[1]] = words[0]
			if n == 4+7*((round+1)%5) {
				_ = cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the daemon ended by itself: %v", err)
		}
	}
	return last
}

// processes counts those that have a directory as their own.
func processes(dir string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, x := range all {
		if at, err := os.Readlink(x); err == nil && at == dir {
			n++
		}
	}
	return n
}

// autopsy opens the state directory and returns what is not as the daemon said.
func autopsy(t *testing.T, o daemon.Options, last map[string]string) (problems []string) {
	t.Helper()
	d := daemontest.Open(t, o)
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	files := map[string]bool{}
	for object, word := range last {
		if strings.HasPrefix(object, "t-") {
			template, err := d.TemplateByName(object)
			for err == nil && template.Status == daemon.Locked {
				template, err = d.TemplateByName(object)
			}
			if word == "imported" && (err != nil || template.Status != daemon.OK) {
				wrong("template %s: %s, %v", object, template.Status, err)
			}
			continue
		}
		m, err := d.Get(object)
		for err == nil && m.Status == daemon.ImageLocked {
			m, err = d.Get(object) // what was under way goes on
		}
		alive := 0
		if err == nil {
			alive = processes(vmDir(o.Dir, m))
		} else if _, statErr := os.Stat(vmDir(o.Dir, daemon.Machine{ID: object, Namespace: "default"})); statErr == nil {
			wrong("VM %s is gone, its directory is not", object)
		}
		switch {
		case word == "removeed" || word == "killed" || word == "killeed":
			if err == nil {
				wrong("VM %s was removed and is there: %s", object, m.Status)
			}
		case err != nil && word != "add" && word != "remove" && word != "kill":
			wrong("VM %s (%s) is lost: %v", object, word, err)
		case word == "started" && (m.Status != daemon.Up && m.Status != daemon.PoweringUp || alive != 1),
			word == "stoped" && (m.Status != daemon.Down || alive != 0),
			word == "added" && (m.Status != daemon.Down || alive != 0),
			err == nil && m.Status == daemon.Down && alive != 0, alive > 1:
			wrong("VM %s (%s) is %s with %d processes", object, word, m.Status, alive)
		}
	}
	for _, m := range d.List() {
		if last[m.ID] == "" {
			wrong("VM %s comes from nowhere", m.ID)
		}
	}
	for _, x := range d.Disks() {
		files[filepath.Base(x.File)] = true
		if x.Status != daemon.OK || x.Used == 0 || (x.Machine == "") == (x.Template == "") {
			wrong("disk %+v", x)
		}
	}
	entries, err := os.ReadDir(filepath.Join(o.Dir, "disks"))
	if err != nil || len(entries) != len(files) {
		wrong("%d files, %d disks, %v", len(entries), len(files), err)
	}
	for i, e := range d.Events(0) {
		if e.ID != uint64(i+1) {
			wrong("event %d is number %d", i+1, e.ID)
			break
		}
	}
	for _, j := range d.Jobs() {
		if j.Status != daemon.JobFinished {
			wrong("job %+v", j)
		}
	}
	return problems
}

// A daemon is killed again and again in the middle of its work. What it said is so; what it was doing is done or was never begun;
// no VM is lost, none is there twice, and those that ran run on.
func TestChaos(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	daemontest.Image(t, o.Dir, "base.img", "")
	last := massacre(t, o.Dir, "truth", 10)
	if problems := autopsy(t, o, last); problems != nil {
		t.Errorf("%d objects:\n%s", len(last), strings.Join(problems, "\n"))
	}
	words := map[string]int{}
	for _, w := range last {
		words[w]++
	}
	t.Logf("last words: %v", words)
}

// The test above can fail: a daemon that says a thing is done before it is does not get away with it.
func TestChaosControl(t *testing.T) {
	for range 5 {
		o := daemontest.Options(t.TempDir())
		daemontest.Image(t, o.Dir, "base.img", "")
		if autopsy(t, o, massacre(t, o.Dir, "lies", 1)) != nil {
			return
		}
	}
	t.Error("nobody notices a daemon that lies")
}

// Many clients do everything at once.
func TestCrowd(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	daemontest.Image(t, o.Dir, "base.img", "")
	d := daemontest.Open(t, o)
	template := daemontest.Template(t, d, "base.img", "base")
	var vms []string
	for i := range 6 {
		vms = append(vms, addGuest(t, d, fmt.Sprint("vm", i), supervisortest.Good).ID)
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, id := t.Context(), vms[i%len(vms)]
			dice := rand.New(rand.NewPCG(1, uint64(i)))
			for range 5 {
				var err error
				switch dice.IntN(9) {
				case 0:
					err = d.Start(ctx, id, daemon.StartOptions{})
				case 1:
					err = d.Stop(ctx, id)
				case 2:
					_, err = d.Update(ctx, id, func(*daemon.Machine) error { return nil })
				case 3:
					name := fmt.Sprint("own", i, "-", dice.Uint32())
					var m daemon.Machine
					if m, err = d.Add(ctx, daemon.Machine{Template: template.ID, Documents: plain(name, "")}); err == nil {
						err = d.Remove(ctx, m.ID, daemon.RemoveOptions{Force: true})
					}
				case 4:
					_, _, err = d.Placed(ctx, id)
				case 5:
					_, l := d.Render(ctx, plain("x", ""), daemon.RenderOptions{Template: template.ID})
					err = l.Err()
				case 6:
					err = d.Shutdown(ctx, id, 0)
				case 7:
					_, err = d.Get(id)
				default:
					if n := len(d.List()); n < len(vms) {
						err = fmt.Errorf("%d VMs", n)
					}
				}
				if err != nil && !conflict(err) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, id := range vms {
		if m, _ := d.Get(id); m.Status.Running() {
			stop(t, d, id)
		}
	}
	if left := d.List(); len(left) != len(vms) {
		t.Errorf("%d VMs are left", len(left))
	}
}
