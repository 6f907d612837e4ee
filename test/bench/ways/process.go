// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// Process is the processes of a way, without the servers that it leads to. Probe is
// the URL at which one says how many bytes it has allocated, empty for programs that
// do not.
type Process struct {
	PIDs  []int
	Probe string
}

// Usage is what processes have used since they began.
type Usage struct {
	CPU   time.Duration
	Bytes uint64
}

func (u Usage) plus(v Usage) Usage  { return Usage{u.CPU + v.CPU, u.Bytes + v.Bytes} }
func (u Usage) minus(v Usage) Usage { return Usage{u.CPU - v.CPU, u.Bytes - v.Bytes} }

// CPUCell returns the CPU time of a call in milliseconds as a cell of a table, or "-"
// where it was not measured.
func (r Row) CPUCell() string {
	if r.Used.CPU == 0 {
		return "-"
	}
	return strconv.FormatFloat(MS(r.Used.CPU)/float64(r.Calls), 'f', 2, 64)
}

// BytesCell returns the allocated memory of a call in KB as a cell of a table, or "-"
// where it was not measured.
func (r Row) BytesCell() string {
	if r.Used.Bytes == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(r.Used.Bytes)/1024/float64(r.Calls), 'f', 0, 64)
}

// Usage returns what the processes have used so far.
func (p Process) Usage(t *testing.T) Usage {
	t.Helper()
	u := Usage{CPU: world.CPUOf(p.PIDs...)}
	if p.Probe != "" {
		said, err := world.Get(p.Probe)
		if err == nil {
			u.Bytes, err = strconv.ParseUint(string(said), 10, 64)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// Resident returns the resident memory in MB, or "-" for no process.
func (p Process) Resident() string {
	if len(p.PIDs) == 0 {
		return "-"
	}
	return strconv.FormatFloat(world.ResidentOf(p.PIDs...), 'f', 1, 64)
}

// awaitCalm waits, for two minutes at most, until the processes have hardly anything to do:
// what a way does after its clients have gone must not slow the next way.
func (p Process) awaitCalm() {
	const look = 200 * time.Millisecond
	for end := time.Now().Add(patience); time.Now().Before(end); {
		before := world.CPUOf(p.PIDs...)
		time.Sleep(look)
		if world.CPUOf(p.PIDs...)-before <= look/20 {
			return
		}
	}
}

// Build builds a program as images have theirs and returns its path. The folder is
// that of the module to build in.
func Build(t *testing.T, folder, pkg string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), path.Base(pkg))
	args := append([]string{"-C", folder, "build", "-trimpath", "-ldflags=-s -w", "-o", program}, flags...)
	build := exec.CommandContext(t.Context(), "go", append(args, pkg)...)
	if folder != root { // It is another module, for another Go.
		build.Env = append(os.Environ(), "GOFLAGS=", "GOTOOLCHAIN=auto")
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", pkg, err, out)
	}
	return program
}

// Serve runs a program until the test ends and waits until it listens where the URL
// leads. It returns how clients connect to it.
func Serve(t *testing.T, at, program string, args ...string) (connect func() mcp.Transport, measured Process) {
	t.Helper()
	u := must.Value(url.Parse(at))(t)
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	world.Start(t, t.TempDir(), filepath.Base(program), cmd).AwaitListener(t, u.Host)
	return OverHTTP(t, at, ""), Process{PIDs: []int{cmd.Process.Pid}}
}

// Free returns an address of the loopback that nobody listens at.
func Free(t *testing.T) (host, port string) {
	t.Helper()
	return must.Values(net.SplitHostPort(world.UnusedAddress(t)))(t)
}

// File writes a configuration into a file and returns its path.
func File(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
