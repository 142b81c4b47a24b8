//go:build linux

package ovirtapi

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/vmseed/vmseed/daemon"
)

// addRequest asks for a VM with first-boot data.
func addRequest(name string) string {
	return "POST /ovirt-engine/api/vms HTTP/1.1\nContent-Type: application/xml\nExpect: 201-created\n\n" +
		"<vm><name>" + name + "</name><memory>1073741824</memory><cluster><name>Default</name></cluster><template><name>Blank</name></template>" +
		"<initialization><host_name>" + name + "</host_name><custom_script>packages: [tree]</custom_script></initialization>" +
		"<nics><nic><name>nic1</name></nic></nics></vm>"
}

// BenchmarkList1000 lists a page of 1,000 VMs that a search finds among as many, as a client does that looks for its own.
func BenchmarkList1000(b *testing.B) {
	api := testAPI(b)
	const vms = 1000
	for i := range vms {
		if answer := serve(b, api, addRequest(fmt.Sprintf("vm-%04d", i))); answer.Code != 201 {
			b.Fatalf("%d %s", answer.Code, answer.Body)
		}
	}
	for _, c := range []struct {
		name, query string
		found       int
	}{
		{"all", "", vms},
		{"one", "?search=name%3Dvm-0500", 1},
		{"page", "?search=status%3Ddown%20and%20name%3Dvm-*%20sortby%20name%20desc%20page%203&max=100", 100},
		{"followed", "?follow=nics&max=100", 100},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				answer := serve(b, api, "GET /ovirt-engine/api/vms"+c.query+" HTTP/1.1\n\n")
				if n := strings.Count(answer.Body.String(), "<vm id="); answer.Code != 200 || n < c.found {
					b.Fatalf("%d with %d VMs", answer.Code, n)
				}
			}
		})
	}
}

// TestConcurrentClients lets clients make, change, list and remove VMs at the same time: each finds its own as it left it,
// of two that want one name one gets it, and no request fails otherwise.
func TestConcurrentClients(t *testing.T) {
	api := testAPI(t)
	const clients = 16
	var wg sync.WaitGroup
	var mu sync.Mutex
	winners := 0
	do := func(want int, request string) string {
		answer := serve(t, api, request)
		if answer.Code != want {
			t.Errorf("%.60q: %d, want %d: %s", request, answer.Code, want, answer.Body)
		}
		return answer.Body.String()
	}
	for c := range clients {
		wg.Go(func() {
			own := fmt.Sprintf("own-%d", c)
			do(201, addRequest(own))
			m, err := api.d.FindByName("", own)
			if err != nil {
				t.Error(err)
				return
			}
			path := " /ovirt-engine/api/vms/" + m.ID
			for i := range 5 {
				text := fmt.Sprintf("%d of %d", i, c)
				do(200, "PUT"+path+" HTTP/1.1\nContent-Type: application/xml\n\n<vm><description>"+text+"</description></vm>")
				if body := do(200, "GET"+path+" HTTP/1.1\n\n"); !strings.Contains(body, "<description>"+text+"<") {
					t.Errorf("the description %q is lost: %s", text, body)
				}
				do(200, "GET /ovirt-engine/api/vms?search=name%3Down-*&follow=nics HTTP/1.1\n\n")
				do(201, "POST"+path+"/nics HTTP/1.1\nContent-Type: application/xml\n\n<nic><name>more"+fmt.Sprint(i)+"</name></nic>")
			}
			if answer := serve(t, api, addRequest("wanted")); answer.Code == 201 {
				mu.Lock()
				winners++
				mu.Unlock()
			} else if answer.Code != 409 {
				t.Errorf("a name in use: %d %s", answer.Code, answer.Body)
			}
			if c%2 == 0 {
				do(200, "DELETE"+path+" HTTP/1.1\n\n")
			}
		})
	}
	wg.Wait()
	if winners != 1 {
		t.Errorf("%d clients made the VM called wanted", winners)
	}
	macs := map[string]bool{}
	for _, mac := range api.macs() {
		if macs[mac] {
			t.Errorf("MAC %s was given twice", mac)
		}
		macs[mac] = true
	}
	if n := len(api.d.List()); n != clients/2+1 {
		t.Errorf("%d VMs are left, want %d", n, clients/2+1)
	}
	if n := len(api.d.Events(0)); n == 0 || api.d.Events(0)[0].Kind != daemon.MachineAdded {
		t.Errorf("%d events", n)
	}
}
