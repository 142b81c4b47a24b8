package report_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/report"
)

// The part is a boothook in one piece: nothing in the program may end the shell's document early.
func TestReporterIsOneScript(t *testing.T) {
	text := report.Reporter().Data.Reveal()
	if !strings.HasPrefix(text, "#cloud-boothook\n#!/bin/sh\n") {
		t.Errorf("the part begins with %.40q", text)
	}
	for mark, want := range map[string]int{"END-OF-REPORTER": 2, "END-OF-UNIT": 2, "@SCRIPT@": 0, "main()\n": 1} {
		if got := strings.Count(text, mark); got != want {
			t.Errorf("%q stands %d times in the part, want %d", mark, got, want)
		}
	}
}
