// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package login

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// startLimit is how long a program may take until it serves, and is calm.
const startLimit = 5 * time.Minute

// asker asks what is not measured.
var asker = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}

// program is a process that runs, with its log in a file.
type program struct {
	name, addr, log string
	cmd             *exec.Cmd
	ended           chan struct{}
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
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // However it ended: it was told to.
	}()
	t.Cleanup(func() {
		p.stop()
		if said, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("%s: %s", p.name, said[max(0, len(said)-3000):])
		}
	})
	return p
}

// stop tells the program to end, and kills it where it does not.
func (p *program) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
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
		if p.isOver() || interrupted.Err() != nil {
			t.Fatalf("%s ended, or was to", p.name)
		}
		return does()
	})
}

func (p *program) awaitListener(t *testing.T, addr string) {
	t.Helper()
	p.await(t, "listens", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// awaitCalm waits until the program has hardly anything to do: what it does of its
// own accord is no part of a login.
func (p *program) awaitCalm(t *testing.T) {
	t.Helper()
	const look = time.Second
	last, at := p.cpu(t), time.Now()
	p.await(t, "is calm", func() bool {
		if time.Since(at) < look {
			return false
		}
		before := last
		last, at = p.cpu(t), time.Now()
		return last-before < look/50
	})
}

// memory returns how many MB a program has resident.
func (p *program) memory(t *testing.T) string {
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
	return fmt.Sprintf("%.0f", kb/1024)
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

func getJSON(url string, to any) error {
	res, err := asker.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", url, res.StatusCode)
	}
	return json.NewDecoder(res.Body).Decode(to)
}
