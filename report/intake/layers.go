package intake

import (
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// Layers returns the parts of a seed that make a guest report to a URL: the server's base and a Path. They are for
// datasource.Options.Extra; each data source takes those that its guests understand: two boothooks for cloud-init, a config
// of spec 3.0.0 for Ignition. An author's own `reporting` and `phone_home` work as they would without.
func Layers(url secret.Text) []machine.Layer {
	at := func(way string) secret.Text { return secret.New(strings.TrimSuffix(url.Reveal(), "/") + "/" + way) }
	return []machine.Layer{
		report.WebhookReporter(at(wayWebhook)),
		report.WebReporter(at(wayCheckIn)),
		report.CheckInReporter(at(wayCheckIn)),
	}
}

// Lost says what the guest will not report over HTTP because the author's own user-data says otherwise. What is in
// templates or comes by reference it does not see. byVendor means that the Layers reach the guest as vendor-data, which the
// user-data can switch off.
func Lost(m machine.Machine, byVendor bool) diag.List {
	var l diag.List
	for _, x := range m.UserData.Layers {
		if cloudconfig.Recognise([]byte(x.Data.Reveal())) != cloudconfig.CloudConfig {
			continue
		}
		doc, _ := cloudconfig.Parse(x.Origin, []byte(x.Data.Reveal()))
		if doc == nil {
			continue
		}
		if n := doc.Get("reporting"); n != nil {
			taken := n.ShortTag() != "!!map"
			for i := 0; i+1 < len(n.Content); i += 2 {
				taken = taken || n.Content[i].Value == report.WebhookName
			}
			if taken {
				l.Warnf(report.CodeReportingTaken, doc.Range(n), "make it a mapping without the key "+report.WebhookName,
					"the guest does not report over HTTP how its first boot goes, because this takes the place of the setting that makes it")
			}
		}
		n := doc.Get("vendor_data")
		for i := 0; byVendor && n != nil && i+1 < len(n.Content); i += 2 {
			if on, ok := cloudconfig.Truth(n.Content[i+1]); n.Content[i].Value == "enabled" && ok && !on {
				l.Warnf(report.CodeVendorDataOff, doc.Range(n), "leave vendor_data out",
					"vendor-data is switched off, so the guest does not report over HTTP how its first boot goes")
			}
		}
	}
	return l
}
