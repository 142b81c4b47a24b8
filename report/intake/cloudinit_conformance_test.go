//go:build conformance

package intake_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

// bootStages runs modules in the last three stages of cloud-init, by its own code for modules, semaphores, reporting and
// configuration, each stage with the configuration that it would read. Modules that are named otherwise are its own.
const bootStages = `
import importlib, json, os, sys, time
root, request = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, root + "/usr/lib/python3/dist-packages")
sys.modules["netplan"] = None
import cloudinit.distros
from cloudinit import cloud, helpers, reporting, stages, util
from cloudinit.config import modules
from cloudinit.reporting import events
from cloudinit.sources import DataSource
import logging
log = open(request["dir"] + "/log", "a")
logging.basicConfig(stream=log, level=logging.WARNING, force=True)

class Source(DataSource):
    dsname = "Here"
    def get_hostname(self, fqdn=False, **rest):
        name = "vm.example.org" if fqdn else "vm"
        kind = getattr(cloudinit.sources, "DataSourceHostname", None)
        return kind(name, False) if kind else name
    def get_instance_id(self):
        return "i-1"

class Init:
    pass

def ssh(path):
    return request["dir"] + path if str(path).startswith("/etc/ssh/") else path

for name in ("load_file", "load_text_file"):
    if hasattr(util, name):
        def load(path, *rest, real=getattr(util, name), **more):
            return real(ssh(path), *rest, **more)
        setattr(util, name, load)

def base():
    run = request["dir"] + "/run"
    if hasattr(stages, "RUN_CLOUD_CONFIG"):
        stages.RUN_CLOUD_CONFIG = run + "/cloud.cfg"
        return stages.read_runtime_config()
    return stages.read_runtime_config(run)

def read(name):
    return util.read_conf(request["dir"] + "/" + name)

class Module:
    meta = {"frequency": "once-per-instance"}
    def __init__(self, fails):
        self.fails = fails
        # 22.4 passes its logger too.
        self.handle = self.call if hasattr(util, "load_text_file") else lambda name, cfg, cloud, log, args: self.call(name, cfg, cloud, args)
    def call(self, name, cfg, cloud, args):
        if self.fails:
            raise RuntimeError("a reason that is not told")

paths = helpers.Paths({"cloud_dir": request["dir"] + "/cloud"})
source = Source({}, None, paths)
paths.datasource = source
os.makedirs(paths.get_ipath("sem"), exist_ok=True)
took = {}
for stage, names in request["stages"]:
    began = time.monotonic()
    for handler in list(reporting.instantiated_handler_registry.registered_items):
        reporting.instantiated_handler_registry.unregister_item(handler)
    top = events.ReportEventStack(stage, "running " + stage)
    with top:
        # User-data goes before vendor-data, and that before the image's.
        cfg = util.mergemanydict([read("user"), read("vendor"), base()])
        if cfg.get("reporting"):
            reporting.update_configuration(cfg["reporting"])
        init = Init()
        init.cloudify = lambda: cloud.Cloud(source, paths, cfg, None, helpers.Runners(paths))
        todo = modules.Modules(init, reporter=top)
        todo._cached_cfg = cfg
        run = []
        for name in names:
            if name == "phone_home":
                module = importlib.import_module("cloudinit.config.cc_phone_home")
            else:
                module = Module(name.startswith("bad"))
            run.append((module, name, "once-per-instance", []))
        todo._run_modules(run)
    reporting.flush_events()
    took[stage] = time.monotonic() - began
log.close()
json.dump({"cfg": cfg, "log": open(request["dir"] + "/log").read(), "took": took}, sys.stdout)
`

// guest is a machine in a directory, with its own semaphores and runtime configuration.
type guest struct {
	t       *testing.T
	release *judge.Release
	dir     string
}

func newGuest(t *testing.T, r *judge.Release) guest {
	g := guest{t, r, t.TempDir()}
	g.write("run/cloud.cfg", "datasource_list: [ NoCloud, None ]")
	g.write("etc/ssh/ssh_host_rsa_key.pub", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB root@vm\n")
	g.write("etc/ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA root@vm\n")
	g.write("etc/cloud.cfg", " - scripts-user\n - ssh-authkey-fingerprints\n")
	return g
}

func (g guest) write(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// shell runs the script of a layer with arguments in place of the guest's own paths.
func (g guest) shell(text string, args ...string) {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), "/bin/sh", append([]string{"-s", "--"}, args...)...)
	cmd.Stdin = strings.NewReader(strings.TrimPrefix(text, "#cloud-boothook\n"))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		g.t.Fatalf("%v\n%s", err, out)
	}
}

// hook runs the boothook, as cloud-init does when it has read the vendor-data.
func (g guest) hook(url secret.Text) {
	g.t.Helper()
	g.shell(intake.Layers(url)[0].Data.Reveal(), g.dir+"/run/cloud.cfg", g.dir+"/cloud/instances/i-1", g.dir+"/etc/cloud.cfg")
}

type answer struct {
	Cfg  map[string]any
	Log  string
	Took map[report.Stage]float64
}

// boot runs modules in stages.
func (g guest) boot(stages ...any) answer {
	g.t.Helper()
	request, err := json.Marshal(map[string]any{"dir": g.dir, "stages": stages})
	if err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.CommandContext(g.t.Context(), "/usr/bin/python3", "-I", "-B", "-c", bootStages, g.release.Root, string(request))
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("%v\n%s", err, &words)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
	return a
}

// reboot empties what is gone after a boot.
func (g guest) reboot() { g.write("run/cloud.cfg", "datasource_list: [ NoCloud, None ]\n") }

func stage(name string, modules ...string) any { return []any{name, append([]string{}, modules...)} }

func eachRelease(t *testing.T, test func(t *testing.T, r *judge.Release)) {
	for _, r := range judge.Releases(t) {
		t.Run(r.Name, func(t *testing.T) { test(t, r) })
	}
}

// serve has a desk's intake on the loopback interface and returns the URL of ns/vm's first boot.
func serve(t *testing.T, d *desk) (*httptest.Server, secret.Text) {
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	if err := d.Open("ns/vm", "i-1", nil); err != nil {
		t.Fatal(err)
	}
	return server, secret.New(server.URL + d.url("ns/vm", "i-1"))
}

// A first boot by cloud-init's own code: each stage and module arrives, and the end does; an author's own
// reporting and phone_home get what they ask for; the next boot says nothing.
func TestCloudInitReports(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *judge.Release) {
		d := newDesk(nil)
		_, url := serve(t, d)
		var mutex sync.Mutex
		theirs := map[string]int{}
		author := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mutex.Lock()
			defer mutex.Unlock()
			theirs[r.URL.Path]++
		}))
		defer author.Close()
		g := newGuest(t, r)
		g.write("user", "reporting: {mine: {type: webhook, endpoint: \""+author.URL+"/events\"}}\nphone_home: {url: \""+author.URL+"/home/$INSTANCE_ID\", post: all, tries: 2}\n")
		g.hook(url)
		g.hook(url) // cloud-init runs it again when it restarts a stage
		g.boot(stage("init-network", "ssh"), stage("modules-config", "timezone"))
		first := g.boot(stage("modules-final", "scripts_user", "ssh_authkey_fingerprints", "phone_home"))
		if strings.Contains(first.Log, "Failed posting") || strings.Contains(first.Log, "Failed to post") {
			t.Errorf("cloud-init complains:\n%s", first.Log)
		}
		want := []string{"ns/vm init-network ssh", "ns/vm modules-config timezone", "ns/vm modules-final scripts_user",
			"ns/vm modules-final ssh_authkey_fingerprints", "ns/vm modules-final phone_home", "ns/vm done"}
		if diff := cmp.Diff(want, d.stages()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		last := d.events[len(d.events)-1]
		result := &report.Result{FirstBoot: true, Agent: last.Result.Agent}
		if diff := cmp.Diff(result, last.Result); diff != "" || !strings.HasPrefix(last.Result.Agent, "cloud-init "+r.Name+".") {
			t.Errorf("%s: -want +got:\n%s", last.Result.Agent, diff)
		}
		if theirs["/home/i-1"] != 1 || theirs["/events"] < 12 {
			t.Errorf("the author's own endpoints got %v", theirs)
		}
		g.reboot()
		g.hook(url)
		heard := len(d.events)
		next := g.boot(stage("init-local"), stage("init-network", "ssh"), stage("modules-final", "scripts_user"))
		if _, told := next.Cfg["reporting"].(map[string]any)["vmseed"]; told || strings.Contains(next.Log[len(first.Log):], "WARNING") || len(d.events) != heard {
			t.Errorf("the next boot: %v, %d events, log:\n%s", next.Cfg["reporting"], len(d.events)-heard, next.Log[len(first.Log):])
		}
	})
}

// What phone_home itself posts is understood, and what fails is told by name, by an author's own reporting as well.
func TestCloudInitFails(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *judge.Release) {
		d := newDesk(nil)
		_, url := serve(t, d)
		g := newGuest(t, r)
		g.write("vendor", "reporting: {x: {type: webhook, endpoint: \""+url.Reveal()+"/webhook\"}}\nphone_home: {url: \""+url.Reveal()+"/phone-home\", post: all, tries: 1}\n")
		g.boot(stage("init-network", "ssh"), stage("modules-config", "bad_config"), stage("modules-final", "phone_home", "bad_script"))
		last := d.events[len(d.events)-1]
		want := &report.Result{Instance: "i-1", FirstBoot: true, Agent: last.Result.Agent, Hostname: "vm",
			HostKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA root@vm", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB root@vm"},
			Errors:   []string{"modules-config: the module bad_config failed", "modules-final: the module bad_script failed"}}
		if diff := cmp.Diff(want, last.Result); diff != "" || last.Stage != report.Failed {
			t.Errorf("%s: -want +got:\n%s", last.Stage, diff)
		}
	})
}

// A later boot that reports, to a host that has not heard of the first one, is not taken for a first boot.
func TestCloudInitLaterBoot(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *judge.Release) {
		d := newDesk(nil)
		_, url := serve(t, d)
		g := newGuest(t, r)
		g.boot(stage("init-network", "ssh"), stage("modules-final", "scripts_user"))
		g.write("vendor", "reporting: {x: {type: webhook, endpoint: \""+url.Reveal()+"/webhook\"}}\n")
		g.boot(stage("init-network", "ssh"), stage("modules-final", "scripts_user"))
		if last := d.events[len(d.events)-1]; last.Stage != report.Done || last.Result.FirstBoot {
			t.Errorf("%s, %+v", last.Stage, last.Result)
		}
		if got := d.post(d.url("ns/vm", "i-1")+"/webhook", module); got != 204 {
			t.Errorf("the first boot's URL is closed by a later boot: status %d", got)
		}
	})
}

// A host that does not answer holds no stage up for long, and no module fails for it.
func TestCloudInitWithoutHost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String() + "/"
	l.Close()
	eachRelease(t, func(t *testing.T, r *judge.Release) {
		t.Parallel()
		g := newGuest(t, r)
		g.hook(secret.New(base + intake.Path(secret.New("0123456789abcdef"), "ns/vm", "i-1").Reveal()))
		var names []string
		for _, n := range strings.Fields("a b c d e f g h i j k l m n o p q r s t") {
			names = append(names, "module_"+n)
		}
		got := g.boot(stage("modules-final", names...))
		t.Logf("a stage of %d modules takes %.1f s", len(names), got.Took[report.Final])
		if got.Took[report.Final] > 60 || strings.Contains(got.Log, "Running module") {
			t.Errorf("log:\n%s", got.Log)
		}
		if !strings.Contains(got.Log, "Cancelling all queued events") {
			t.Errorf("cloud-init tries to the end:\n%s", got.Log)
		}
	})
}

// cloud-init's own schema has nothing against the settings.
func TestCloudInitSchema(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *judge.Release) {
		g := newGuest(t, r)
		g.hook(secret.New("http://169.254.169.254/" + intake.Path(secret.New("0123456789abcdef"), "ns/v m", "i-1").Reveal()))
		config, err := os.ReadFile(filepath.Join(g.dir, "run/cloud.cfg"))
		if err != nil {
			t.Fatal(err)
		}
		_, ours, _ := strings.Cut(string(config), "\n")
		for _, result := range r.Schema(t, judge.CloudConfig, [][]byte{[]byte("#cloud-config\n" + ours)}) {
			if len(result.Errors) > 0 || len(result.Deprecations) > 0 {
				t.Errorf("%s\n%+v", ours, result)
			}
		}
	})
}

// program returns the reporter's program with other places for cloud-init's files than the guest's.
func program(t *testing.T, url secret.Text, dir string) string {
	t.Helper()
	layer := intake.Layers(url)[1].Data.Reveal()
	_, rest, _ := strings.Cut(layer, "<<'END-OF-REPORTER'\n")
	text, _, ok := strings.Cut(rest, "\nEND-OF-REPORTER\n")
	if !ok || !strings.Contains(text, url.Reveal()) || strings.Contains(layer, "@") && strings.Contains(layer, "@NAME@") {
		t.Fatalf("the layer:\n%s", layer)
	}
	return strings.NewReplacer(`"/run/cloud-init/"`, `"`+dir+`/"`, `"/var/log/cloud-init.log"`, `"`+dir+`/cloud-init.log"`).Replace(text)
}

// The reporter over HTTP, beside the webhook of both releases: the host is not there at first, and the reasons arrive that
// the webhook does not tell.
func TestReporterBesideWebhook(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *judge.Release) {
		d := newDesk(nil)
		d.told = make(chan report.Event, 100)
		d.open(nil)
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/check-in") && asked.Add(1)%2 == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			d.ServeHTTP(w, r)
		}))
		defer server.Close()
		if err := d.Open("ns/vm", "i-1", nil); err != nil {
			t.Fatal(err)
		}
		url := secret.New(server.URL + d.url("ns/vm", "i-1"))
		g := newGuest(t, r)
		g.hook(url)
		cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-I", "-c", program(t, url, g.dir))
		var words bytes.Buffer
		cmd.Stdout, cmd.Stderr = &words, &words
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		select { // until the reporter has made itself known
		case <-d.told:
		case <-t.Context().Done():
		}
		g.boot(stage("modules-final", "bad_script"))
		g.write("cloud-init.log", "2020-01-01 00:00:01,000 - util.py[DEBUG]: Cloud-init v. 25.1.4 running 'init-local' at …\n"+
			"2020-01-01 00:00:02,000 - cc_x.py[WARNING]: a reason that only the log has\n")
		g.write("status.json", `{"v1": {"stage": null, "modules-final": {"errors": ["('bad_script', RuntimeError('a reason'))"], "start": 1, "finished": 2}}}`)
		g.write("result.json", `{"v1": {"datasource": "DataSourceNone", "errors": ["('bad_script', RuntimeError('a reason'))"]}}`)
		if err := cmd.Wait(); err != nil || words.Len() > 0 {
			t.Fatalf("%v\n%s", err, &words)
		}
		last := d.events[len(d.events)-1]
		if last.Stage != report.Failed || last.Error != "('bad_script', RuntimeError('a reason'))" || !slices.Contains(last.Result.Warnings, "a reason that only the log has") {
			t.Errorf("%+v %+v", last, last.Result)
		}
		if diff := cmp.Diff([]string{"ns/vm init-network", "ns/vm modules-final bad_script", "ns/vm modules-final bad_script", "ns/vm failed"}, d.stages()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
