package qcow2_test

import (
	"fmt"
	"os"

	"github.com/vmseed/vmseed/format/qcow2"
)

func ExampleParse() {
	head := make([]byte, qcow2.HeaderSize)
	copy(head, "QFI\xfb\x00\x00\x00\x03")
	head[28] = 0x40 // the upper half of the size is zero
	h, err := qcow2.Parse(head)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println(h.Version, h.Size, h.Leads())
	// Output: 3 1073741824 false
}
