//go:build linux

package ovirtapi

import "testing"

// TestRevision: whoever edits a VM by the daemon's other API learns that it was changed by this one.
func TestRevision(t *testing.T) {
	api := testAPI(t)
	if answer := serve(t, api, addRequest("vm")); answer.Code != 201 {
		t.Fatal(answer.Body)
	}
	last, err := api.d.FindByName("", "vm")
	if err != nil {
		t.Fatal(err)
	}
	const vm = "/ovirt-engine/api/vms/"
	for _, request := range []string{
		"PUT " + vm + last.ID + " HTTP/1.1\nContent-Type: application/xml\n\n<vm><description>changed</description></vm>",
		"PUT " + vm + last.ID + " HTTP/1.1\nContent-Type: application/xml\n\n<vm><name>other</name></vm>",
		"PUT " + vm + last.ID + " HTTP/1.1\nContent-Type: application/xml\n\n<vm><memory>2147483648</memory></vm>",
		"POST " + vm + last.ID + "/nics HTTP/1.1\nContent-Type: application/xml\n\n<nic><name>nic2</name></nic>",
	} {
		if answer := serve(t, api, request); answer.Code/100 != 2 {
			t.Fatalf("%s: %d %s", request, answer.Code, answer.Body)
		}
		now, err := api.d.Get(last.ID)
		if err != nil || now.Revision <= last.Revision {
			t.Errorf("%s: revision %d after %d, %v", request, now.Revision, last.Revision, err)
		}
		last = now
	}
	if answer := serve(t, api, "GET "+vm+last.ID+" HTTP/1.1\n\n"); answer.Code != 200 {
		t.Fatal(answer.Body)
	}
	if now, err := api.d.Get(last.ID); err != nil || now.Revision != last.Revision {
		t.Errorf("reading makes the revision %d of %d, %v", now.Revision, last.Revision, err)
	}
}
