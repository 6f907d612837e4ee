// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// startLimit is how long a program may take until it serves.
const startLimit = 2 * time.Minute

// asker asks programs how they are.
var asker = &http.Client{Timeout: 10 * time.Second}

// program is a process that runs, with its log in a file.
type program struct {
	name, log string
	// metrics is the URL of its metrics, empty for none.
	metrics string
	cmd     *exec.Cmd
	ended   chan struct{}
}

// running are the processes to end, and folders the ones to remove, when the run
// is interrupted: an interrupted test runs none of its cleanups.
var running struct {
	sync.Mutex
	programs []*program
	folders  []string
}

// endAtInterrupt ends everything when this process is told to end.
func endAtInterrupt() {
	// go test may be gone by then, and nobody reads what is said here.
	signal.Ignore(syscall.SIGPIPE)
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-told
		running.Lock() // Nothing starts any more.
		for _, p := range running.programs {
			_ = p.cmd.Process.Kill()
		}
		for _, p := range running.programs {
			<-p.ended
		}
		for _, folder := range running.folders {
			_ = os.RemoveAll(folder)
		}
		fmt.Fprintln(os.Stderr, "interrupted: everything has ended")
		os.Exit(130)
	}()
}

// folder makes a folder that goes with the test.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bench-scale-")
	if err != nil {
		t.Fatal(err)
	}
	running.Lock()
	running.folders = append(running.folders, dir)
	running.Unlock()
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start starts a program, whose log is in dir. It ends with the test at the
// latest, and with this process, however that ends.
func start(t *testing.T, dir, name string, cmd *exec.Cmd) *program {
	t.Helper()
	log, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &program{name: name, log: log.Name(), cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = log
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	// A group of its own, so that Ctrl-C reaches this process alone, which ends
	// what it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	running.Lock()
	err = cmd.Start()
	if err == nil {
		running.programs = append(running.programs, p)
	}
	running.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // However it ended: it was told to.
	}()
	t.Cleanup(func() {
		p.end(syscall.SIGTERM)
		if said, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("%s: %s", p.name, said[max(0, len(said)-3000):])
		}
	})
	return p
}

// end tells the program to end, and kills it where it does not.
func (p *program) end(how os.Signal) {
	_ = p.cmd.Process.Signal(how)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

func (p *program) isOver() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// await waits until the program does something.
func (p *program) await(t *testing.T, what string, does func() bool) {
	t.Helper()
	testenv.EventuallyWithin(t, startLimit, p.name+" "+what, func() bool {
		if p.isOver() {
			t.Fatalf("%s ended", p.name)
		}
		return does()
	})
}

// awaitOK waits until a URL of the program answers with 200.
func (p *program) awaitOK(t *testing.T, url string) {
	t.Helper()
	p.await(t, "answers at "+url, func() bool {
		_, err := get(url)
		return err == nil
	})
}

func get(url string) ([]byte, error) {
	res, err := asker.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", res.StatusCode)
	}
	return body, err
}

// Memory is what a program has.
type Memory struct {
	// Resident is what the system says, Live what the collector found in use when
	// it ran last; in MB. Live is 0 where the program does not say.
	Resident float64 `json:"residentMB"`
	Live     float64 `json:"liveMB,omitempty"`
}

func (m Memory) String() string {
	if m.Live == 0 {
		return fmt.Sprintf("%.0f", m.Resident)
	}
	return fmt.Sprintf("%.0f (%.0f)", m.Resident, m.Live)
}

// collected is how the collector says what was in use after it had run, the last
// of three sizes.
var collected = regexp.MustCompile(`(?m)^gc \d+ @.*->(\d+) MB, \d+ MB goal`)

func (p *program) memory(t *testing.T) Memory {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	m := Memory{Resident: kb / 1024}
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	if all := collected.FindAllSubmatch(log, -1); len(all) > 0 {
		m.Live, _ = strconv.ParseFloat(string(all[len(all)-1][1]), 64)
	}
	return m
}

// cpu returns the CPU time that a program has taken.
func (p *program) cpu(t *testing.T) time.Duration {
	t.Helper()
	const tick = time.Second / 100 // The unit of /proc on Linux.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	var total time.Duration
	// Behind the name: state is 3, utime 14, stime 15.
	for _, f := range strings.Fields(rest)[11:13] {
		n, _ := strconv.Atoi(f)
		total += time.Duration(n) * tick
	}
	return total
}

// freeAddr returns an address of loopback that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// build builds a program of this repository into dir.
func build(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../../cmd/"+name).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", name, err, out)
	}
	return path
}
