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
	"os/signal"
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

// asker asks what is not measured.
var asker = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}

// program is a process that runs, with its log in a file.
type program struct {
	name, addr, log string
	cmd             *exec.Cmd
	ended           chan struct{}
}

// running are the processes to end when the run is interrupted: an interrupted
// test runs none of its cleanups.
var running struct {
	sync.Mutex
	programs []*program
}

// endAtInterrupt ends everything when this process is told to end.
func endAtInterrupt() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-told
		running.Lock() // Nothing starts any more.
		for _, p := range running.programs {
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
		os.Exit(130)
	}()
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
		if p.isOver() {
			t.Fatalf("%s ended", p.name)
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
