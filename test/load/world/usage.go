// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// tick is the unit of CPU times in /proc on Linux.
const tick = time.Second / 100

// CPU returns the CPU time that the program itself has taken.
func (p *Process) CPU() time.Duration { return CPUOf(p.Cmd.Process.Pid) }

// CPUOf returns the CPU time that processes have taken, 0 for those that are gone.
func CPUOf(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		_, took := stat(pid)
		sum += took
	}
	return sum
}

// stat returns the name of a process and the CPU time that it has taken.
func stat(pid int) (name string, took time.Duration) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// The name may hold anything. Behind it, state is 3, utime 14 and stime 15.
	text := string(stat)
	end := strings.LastIndexByte(text, ')')
	_, name, _ = strings.Cut(text[:end], "(")
	for _, f := range strings.Fields(text[end+1:])[11:13] {
		n, _ := strconv.Atoi(f)
		took += time.Duration(n) * tick
	}
	return name, took
}

// Children returns the processes that a process has started.
func Children(pid int) (pids []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // None where it is gone.
	for _, task := range tasks {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for field := range strings.FieldsSeq(string(children)) {
			if n, err := strconv.Atoi(field); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// CPUByProgram returns the CPU time that the children of this process have taken.
func CPUByProgram() map[string]time.Duration {
	times := map[string]time.Duration{}
	for _, pid := range Children(os.Getpid()) {
		name, took := stat(pid)
		times[name] += took
	}
	return times
}

// Memory is what a program has.
type Memory struct {
	// Resident is what the system says, Live what the collector found in use when
	// it ran last; in MB. Live is 0 where the program does not say.
	Resident float64 `json:"residentMB"`
	Live     float64 `json:"liveMB,omitempty"`
}

// String returns what is resident, and behind it what is live.
func (m Memory) String() string {
	if m.Live == 0 {
		return fmt.Sprintf("%.0f", m.Resident)
	}
	return fmt.Sprintf("%.0f (%.0f)", m.Resident, m.Live)
}

// collected is how the collector says what was in use after it had run, the last
// of three sizes.
var collected = regexp.MustCompile(`(?m)^gc \d+ @.*->(\d+) MB, \d+ MB goal`)

// Memory returns what the program has. Live is of a program with GODEBUG=gctrace=1.
func (p *Process) Memory(t testing.TB) Memory {
	t.Helper()
	m := Memory{Resident: p.Status(t, "VmRSS") / 1024}
	log := must.Value(os.ReadFile(p.log))(t)
	if all := collected.FindAllSubmatch(log, -1); len(all) > 0 {
		m.Live, _ = strconv.ParseFloat(string(all[len(all)-1][1]), 64)
	}
	return m
}

// Status returns a size in KiB that the kernel says of the program, such as VmRSS.
func (p *Process) Status(t testing.TB, name string) (kb float64) {
	t.Helper()
	return p.size(t, "status", name)
}

// Share returns the memory of the program in KiB, in which pages that several
// processes have count for each by its part.
func (p *Process) Share(t testing.TB) (kb float64) {
	t.Helper()
	return p.size(t, "smaps_rollup", "\nPss")
}

func (p *Process) size(t testing.TB, file, name string) (kb float64) {
	t.Helper()
	kb, err := size(p.Cmd.Process.Pid, file, name)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return kb
}

// ResidentOf returns the resident memory of processes in MB, 0 for those that are gone.
func ResidentOf(pids ...int) (mb float64) {
	for _, pid := range pids {
		kb, _ := size(pid, "status", "VmRSS") // 0 where there is an error.
		mb += kb / 1024
	}
	return mb
}

// size returns a size in KiB that a file of a process in /proc names.
func size(pid int, file, name string) (kb float64, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(content), name+":")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		return 0, fmt.Errorf("no %s in %s: %w", name, file, err)
	}
	return kb, nil
}
