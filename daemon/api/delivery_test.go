//go:build linux

package api_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/secret"
)

// TestDelivery starts machines whose guests get their seeds in other ways than by themselves.
func TestDelivery(t *testing.T) {
	s := begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	request := client.CreateRequest{Documents: documents("vm1", supervisortest.Good, "#cloud-config\n{}\n"), Settings: client.Settings{Delivery: "vfat"}}
	made, err := s.Create(ctx, request)
	if err != nil || made.Machines[0].Delivery != "vfat" {
		t.Fatal(made.Machines, err)
	}
	id := made.Machines[0].ID
	given := func(want string, start client.StartRequest) {
		t.Helper()
		if _, err := s.Start(ctx, id, start); err != nil {
			t.Fatal(err)
		}
		result, err := s.Given(ctx, id, false)
		if err != nil {
			t.Fatal(err)
		}
		switch seed := result.Seeds[0]; {
		case len(seed.Volumes) == 1 && seed.Volumes[0].Format == want, len(seed.Trees) == 1 && want == "":
		default:
			t.Errorf("the guest has %d volumes and %d trees, not one of %q", len(seed.Volumes), len(seed.Trees), want)
		}
		if _, err := s.Stop(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	given("vfat", client.StartRequest{})
	given("", client.StartRequest{Delivery: "metadata"})
	if m, err := s.Update(ctx, id, client.UpdateRequest{Delivery: "iso"}); err != nil || m.Delivery != "iso" {
		t.Error(m.Delivery, err)
	}
	given("iso", client.StartRequest{})
	if preview, err := s.RenderMachine(ctx, id, client.RenderRequest{Settings: client.Settings{Delivery: "metadata"}}); err != nil || len(preview.Seeds) != 1 || len(preview.Seeds[0].Trees) != 1 {
		t.Error("the preview takes no notice of the delivery", err)
	}
	for name, err := range map[string]error{
		"unknown for a start":   second(s.Start(ctx, id, client.StartRequest{Delivery: "post"})),
		"unknown for a change":  second(s.Update(ctx, id, client.UpdateRequest{Delivery: "post"})),
		"unfit for the machine": second(s.Start(ctx, id, client.StartRequest{Delivery: "smbios"})),
	} {
		if status(err) != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v", name, err)
		}
	}
	absent := strings.Replace(documents("vm2", "", "")[0].Text.Reveal(), "{blank: true}", "{image: "+filepath.Join(s.dir, "images", "absent.img")+"}", 1)
	// Nobody at the API has the flags of vmseed run.
	for name, err := range map[string]error{
		"a delivery": second(s.Start(ctx, id, client.StartRequest{Delivery: "smbios"})),
		"an image":   second(s.Start(ctx, id, client.StartRequest{Documents: []client.Document{{Name: "vm.yaml", Text: secret.New(absent)}}})),
	} {
		if err == nil || strings.Contains(err.Error(), "--") {
			t.Errorf("%s that does not fit: %v", name, err)
		}
	}
	if m, err := s.Machine(ctx, id); err != nil || m.Status != "down" {
		t.Error("after it:", m.Status, err)
	}
}

// TestUnfitDelivery says of a delivery that cannot be what a start says, wherever it is asked for, and at the field of it.
func TestUnfitDelivery(t *testing.T) {
	s := begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	documents := documents("vm1", supervisortest.Good, "#cloud-config\n{}\n")
	made, err := s.Create(ctx, client.CreateRequest{Documents: documents})
	if err != nil {
		t.Fatal(err)
	}
	id, unfit := made.Machines[0].ID, client.Settings{Delivery: "smbios"}
	rendered, err := s.Render(ctx, client.RenderRequest{Documents: documents, Settings: unfit})
	if err != nil {
		t.Fatal(err)
	}
	preview, err := s.RenderMachine(ctx, id, client.RenderRequest{Settings: unfit, Run: true})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := s.Check(ctx, client.RenderRequest{Documents: documents, Settings: unfit})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string][]client.Diagnostic{"render": rendered.Diagnostics, "render of a machine": preview.Diagnostics, "check": checked}
	for name, err := range map[string]error{
		"create": second(s.Create(ctx, client.CreateRequest{Documents: documents, Settings: client.Settings{Name: "vm2", Delivery: "smbios"}})),
		"change": second(s.Update(ctx, id, client.UpdateRequest{Delivery: "smbios"})),
		"start":  second(s.Start(ctx, id, client.StartRequest{Delivery: "smbios"})),
	} {
		var problem *client.Error
		if !errors.As(err, &problem) || problem.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said[name] = problem.Diagnostics
	}
	for name, l := range said {
		i := slices.IndexFunc(l, func(d client.Diagnostic) bool { return d.Field == "delivery" })
		if i < 0 || l[i].Severity != "error" || l[i].Summary != "the delivery smbios does not fit: the seed has no credentials of systemd" ||
			l[i].Remedy != "leave the delivery to auto, or choose the data source credentials" {
			t.Errorf("%s: %+v", name, l)
		}
	}
	// Who looks at what another data source would be does not ask whether its delivery fits.
	other, err := s.RenderMachine(ctx, id, client.RenderRequest{Settings: client.Settings{Delivery: "iso"}, DataSources: []string{"ec2"}})
	if err != nil || len(other.Seeds) != 1 {
		t.Errorf("%+v, %v", other.Diagnostics, err)
	}
}

// second is the error of a call.
func second[T any](_ T, err error) error { return err }
