package supervisor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticks is how many units of time in /proc/PID/stat are a second: USER_HZ, which is the same on all of Linux's
// architectures that QEMU runs on.
const ticks = 100

// processUsage returns a process's time on the processors and the memory that it occupies, in bytes (proc(5), stat and
// statm).
func processUsage(pid int) (cpu time.Duration, memory int64) {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// The second field is the program's name, in brackets, and may hold anything. User and system time are fields 14 and 15.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		const user, system = 14 - 3, 15 - 3
		if len(fields) > system {
			u, _ := strconv.ParseInt(fields[user], 10, 64)
			s, _ := strconv.ParseInt(fields[system], 10, 64)
			cpu = time.Duration(u+s) * (time.Second / ticks)
		}
	}
	if statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil {
		if fields := strings.Fields(string(statm)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			memory = pages * int64(os.Getpagesize())
		}
	}
	return cpu, memory
}
