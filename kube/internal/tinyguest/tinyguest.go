// Package tinyguest makes the disk of the smallest guest there is, for tests of what becomes of VMs rather than of what is
// in them: one boot sector. It says on its serial console when it is up, says again what it is told, and shuts down when
// its power button is pressed. It is up in a second under emulation, and takes 32 MiB of memory.
package tinyguest

import (
	"os"
	"path/filepath"
	"testing"
)

// What the guest says on its serial console.
const (
	Up   = "vmseed guest: up\r\n"
	Down = "vmseed guest: going down\r\n"
)

// code is the program, for the mode in which a PC starts. Its two texts follow it; it finds them at 0x7c60 and 0x7c73.
var code = []byte{
	0xfa, 0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xd0, 0xbc, 0x00, 0x7c, // no interrupts; data and stack segments 0; stack below the program
	0xba, 0x02, 0x06, 0xb8, 0x00, 0x01, 0xef, // enable the power button: 0x0100 to ACPI's PM1 enable register, 0x602 on q35
	0xbe, 0x60, 0x7c, // the text Up
	0xac, 0x84, 0xc0, 0x74, 0x05, 0xe8, 0x1e, 0x00, 0xeb, 0xf6, // put each byte of it, to its zero
	0xfb, 0xf4, // loop: wait for an interrupt, which the timer raises 18 times a second
	0xba, 0x00, 0x06, 0xed, 0xf6, 0xc4, 0x01, 0x75, 0x22, // was the button pressed? go down
	0xba, 0xfd, 0x03, 0xec, 0xa8, 0x01, 0x74, 0xed, // is there a byte on COM1? else loop
	0xba, 0xf8, 0x03, 0xec, 0xe8, 0x02, 0x00, 0xeb, 0xef, // read it, put it, look for more
	0x88, 0xc4, 0xba, 0xfd, 0x03, 0xec, 0xa8, 0x20, 0x74, 0xfb, 0x88, 0xe0, 0xba, 0xf8, 0x03, 0xee, 0xc3, // put: wait for COM1, write
	0xbe, 0x73, 0x7c, 0xac, 0x84, 0xc0, 0x74, 0x05, 0xe8, 0xe4, 0xff, 0xeb, 0xf6, // going down: the text Down
	0xba, 0x04, 0x06, 0xb8, 0x00, 0x20, 0xef, 0xf4, // sleep state S5, which is off: 0x2000 to the PM1 control register
}

// Disk returns the path of a raw image of the guest's disk, 1 MiB, in a directory of the test's.
func Disk(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "tiny.img")
	if err := os.WriteFile(path, Image(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Image is the contents of the disk.
func Image() []byte {
	image := make([]byte, 1<<20)
	n := copy(image, code)
	n += copy(image[n:], Up+"\x00")
	copy(image[n:], Down+"\x00")
	image[510], image[511] = 0x55, 0xaa
	return image
}
