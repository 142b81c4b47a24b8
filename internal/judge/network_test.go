//go:build conformance

package judge_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

// pages is a server of a few answers by path. With a token it wants that token on
// every page, as EC2's does.
type pages struct {
	answers map[string]string
	token   string
}

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.token != "" && r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut {
		_, _ = io.WriteString(w, p.token)
		return
	}
	answer, ok := p.answers[r.URL.Path]
	switch {
	case p.token != "" && r.Header.Get("X-aws-ec2-metadata-token") != p.token:
		w.WriteHeader(http.StatusUnauthorized)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = io.WriteString(w, answer)
	}
}

// serve answers in a network of its own, at the address of metadata services.
func (p pages) serve(t *testing.T) *judge.Network {
	t.Helper()
	network := judge.NewNetwork(t)
	server := &http.Server{Handler: p}
	go func() { _ = server.Serve(network.Listen(t, judge.MetadataAddress+":80")) }()
	t.Cleanup(func() { _ = server.Close() })
	return network
}

func ec2Pages(version string) map[string]string {
	answers := map[string]string{}
	for path, answer := range map[string]string{
		"user-data": "#cloud-config\nhostname: a\n", "meta-data/": "instance-id\nlocal-hostname\nnetwork/", "meta-data/instance-id": "i-1",
		"meta-data/local-hostname": "vm.example.org", "meta-data/network/": "interfaces/", "meta-data/network/interfaces/": "macs/",
		"meta-data/network/interfaces/macs/":                                "52:54:00:12:34:56/",
		"meta-data/network/interfaces/macs/52:54:00:12:34:56/":              "device-number",
		"meta-data/network/interfaces/macs/52:54:00:12:34:56/device-number": "0",
		"dynamic/instance-identity":                                         "document", "dynamic/instance-identity/document": `{"instanceId": "i-document"}`,
	} {
		answers["/"+version+"/"+path] = answer
	}
	return answers
}

// ec2DMI is firmware by which every release knows EC2.
var ec2DMI = map[string]string{
	"system-uuid":          "ec2a9c1e-5f0b-4d7e-9a51-0f6e2b7d8c41",
	"system-serial-number": "ec2a9c1e-5f0b-4d7e-9a51-0f6e2b7d8c41",
}

func TestBootEC2(t *testing.T) {
	each(t, func(t *testing.T, r *judge.Release) {
		request := judge.BootRequest{DMI: ec2DMI, DataSources: []string{"Ec2", "None"}, NICs: []judge.NIC{{MAC: "52:54:00:12:34:56", Name: "eth0"}},
			Network: pages{answers: ec2Pages("2021-03-23"), token: "secret"}.serve(t)}
		got := r.Boot(t, request)
		if got.DataSource != "DataSourceEc2Local" || got.InstanceID != "i-document" || got.FQDN != "vm.example.org" ||
			string(got.UserData) != "#cloud-config\nhostname: a\n" || got.NetworkSource != "ds" || len(judge.Problems(got.Log)) > 0 {
			t.Errorf("%+v", got)
		}
		if config := got.NetworkConfig.Get("ethernets", "eth0", "dhcp4"); config.Text != "true" {
			t.Errorf("network %s", got.NetworkConfig.JSON())
		}
		request.DataSources = nil // a list of one and None is taken without a look
		if got := r.DSIdentify(t, request); !got.Enabled || got.DataSources[0] != "Ec2" {
			t.Errorf("ds-identify: %+v", got)
		}
		request.DMI = nil
		if got := r.DSIdentify(t, request); got.Enabled {
			t.Errorf("ds-identify of a machine that is none of EC2's: %+v", got)
		}
	})
}

// TestBootEC2Refused has a page in a directory that is not there, which costs a guest all of its meta-data.
func TestBootEC2Refused(t *testing.T) {
	answers := ec2Pages("2021-03-23")
	answers["/2021-03-23/meta-data/"] += "\nabsent"
	network := pages{answers: answers, token: "secret"}.serve(t)
	each(t, func(t *testing.T, r *judge.Release) {
		got := r.Boot(t, judge.BootRequest{DMI: ec2DMI, DataSources: []string{"Ec2", "None"}, Network: network})
		if got.FQDN != "" || len(judge.Problems(got.Log)) == 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestBootOpenStack(t *testing.T) {
	network := pages{answers: map[string]string{
		"/openstack": "latest", "/openstack/latest/meta_data.json": `{"uuid": "uuid-1", "hostname": "vm.example.org"}`,
		"/openstack/latest/user_data": "#cloud-config\n{}\n", "/latest/meta-data/": "instance-id", "/latest/meta-data/instance-id": "i-1",
	}}.serve(t)
	each(t, func(t *testing.T, r *judge.Release) {
		request := judge.BootRequest{DMI: map[string]string{"system-product-name": "OpenStack Nova"}, DataSources: []string{"OpenStack", "None"},
			NICs: []judge.NIC{{MAC: "52:54:00:12:34:56", Name: "eth0"}}, Network: network}
		got := r.Boot(t, request)
		if !strings.HasPrefix(got.DataSource, "DataSourceOpenStack") || got.InstanceID != "uuid-1" || got.Hostname != "vm" || len(judge.Problems(got.Log)) > 0 {
			t.Errorf("%+v", got)
		}
		request.DataSources = nil
		if got := r.DSIdentify(t, request); !got.Enabled || got.DataSources[0] != "OpenStack" {
			t.Errorf("ds-identify: %+v", got)
		}
	})
}
