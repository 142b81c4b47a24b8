package qcow2

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestOverlay(t *testing.T) {
	for _, o := range []Overlay{
		{Base: "/images/base.img", Format: "raw", Size: 1 << 30},
		{Base: "/" + strings.Repeat("n", nameLimit-1), Format: "qcow2", Size: 512},
		{Base: "/b", Format: "qcow2", Size: 100 << 40},
	} {
		image, err := o.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		h, err := Parse(image)
		if err != nil || h.Version != 3 || h.Size != o.Size || !h.Leads() || h.ExternalData {
			t.Errorf("%+v, %v", h, err)
		}
		if base, err := h.BackingFile(bytes.NewReader(image)); err != nil || base != o.Base {
			t.Errorf("base %q, %v", base, err)
		}
	}
}

func TestImpossibleOverlays(t *testing.T) {
	for _, o := range []Overlay{
		{Format: "raw", Size: 1}, {Base: "/" + strings.Repeat("n", nameLimit), Format: "raw", Size: 1}, {Base: "/b", Format: "vmdk", Size: 1},
		{Base: "/b", Format: "raw"}, {Base: "/b", Format: "raw", Size: -1}, {Base: "/b", Format: "raw", Size: maxOverlay + 1},
	} {
		if _, err := o.Bytes(); !errors.Is(err, ErrBacking) && !errors.Is(err, ErrSize) {
			t.Errorf("%.20s %s %d: %v", o.Base, o.Format, o.Size, err)
		}
	}
}
