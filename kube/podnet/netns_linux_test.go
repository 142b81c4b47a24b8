package podnet

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFirstThread holds that the process's first thread, which cannot end, never enters a namespace, and is not used up
// by what keeps it out.
func TestFirstThread(t *testing.T) {
	// With one processor the threads that wait are soon taken for what is started next, and the first is among them.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 1000 {
		err := onThread(func() error {
			if unix.Gettid() == unix.Getpid() {
				t.Error("the work is done on the process's first thread")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
