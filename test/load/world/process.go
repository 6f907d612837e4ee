// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package world is what tests of load need that run the programs of this project on
// one machine, beside an API server and without nodes: processes and what they take
// of the machine, a keybroker with its keys and the way to it, and the whole of an
// installation without bridges. It is only imported by tests.
package world

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/gobuild"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	// StartLimit is how long a program may take until it serves, and is calm.
	StartLimit = 5 * time.Minute
	// stopLimit is how long a program may take to end.
	stopLimit = 20 * time.Second
	// shown is how much of a log is shown when a test fails, in bytes.
	shown = 4000
)

// Build builds programs of cmd into a folder.
func Build(ctx context.Context, dir string, programs ...string) error {
	packages := make([]string, len(programs))
	for i, name := range programs {
		packages[i] = "github.com/hostedbridge/hostedbridge/cmd/" + name
	}
	return gobuild.Build(ctx, dir+string(filepath.Separator), packages)
}

// Process is a program that runs, with its log in a file.
type Process struct {
	Name string
	Cmd  *exec.Cmd
	// Addr is where it serves, and Metrics the URL of its metrics, for those who say
	// so.
	Addr, Metrics string
	log           string
	// told says, before it is so, that the process will end as it is told to.
	told  atomic.Bool
	ended chan struct{}
	err   error // after ended
}

// running are the processes to end, and folders the ones to remove, when the run
// is interrupted: an interrupted test runs none of its cleanups.
var running struct {
	sync.Mutex
	processes []*Process
	folders   []string
}

// EndAtInterrupt ends everything when this process is told to end.
func EndAtInterrupt() {
	// go test may be gone by then, and nobody reads what is said here.
	signal.Ignore(syscall.SIGPIPE)
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-told
		running.Lock() // Nothing starts any more.
		for _, p := range running.processes {
			p.Kill()
		}
		for _, folder := range running.folders {
			_ = os.RemoveAll(folder)
		}
		fmt.Fprintln(os.Stderr, "interrupted: everything has ended")
		os.Exit(130)
	}()
}

// Folder makes a folder that goes with the test.
func Folder(t testing.TB) string {
	t.Helper()
	dir := must.Value(os.MkdirTemp("", "hosted-bridge-load-"))(t)
	running.Lock()
	running.folders = append(running.folders, dir)
	running.Unlock()
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Start starts a program, whose log is in a file of dir. It ends with the test at
// the latest, and with this process, however that ends. Its last lines are shown if
// the test fails.
func Start(t testing.TB, dir, name string, cmd *exec.Cmd) *Process {
	t.Helper()
	return Follow(t, dir, name, cmd, nil)
}

// Follow is Start, and calls each with each line of the log, and with nil when the
// program has ended. The file is without the requests that went well, which are many.
func Follow(t testing.TB, dir, name string, cmd *exec.Cmd, each func(line []byte)) *Process {
	t.Helper()
	log, err := os.CreateTemp(dir, "log-*")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &Process{Name: name, Cmd: cmd, log: log.Name(), ended: make(chan struct{})}
	follow := func() {}
	if each == nil {
		cmd.Stderr = log
	} else if follow, err = follower(cmd, log.Name(), each); err != nil {
		t.Fatal(err)
	}
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	// A group of its own, so that Ctrl-C reaches this process alone, which ends what
	// it started, and so that its own children end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	running.Lock()
	err = cmd.Start()
	if err == nil {
		running.processes = append(running.processes, p)
	}
	running.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		follow()
		p.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Stop()
		if said, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("%s: %s", p.Name, said[max(0, len(said)-shown):])
		}
	})
	return p
}

// follower returns what reads a program's log until it ends.
func follower(cmd *exec.Cmd, file string, each func([]byte)) (func(), error) {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	kept, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return func() {
		defer kept.Close()
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			each(lines.Bytes())
			if !bytes.Contains(lines.Bytes(), []byte(`"msg":"request"`)) || !bytes.Contains(lines.Bytes(), []byte(`"status":200,`)) {
				_, _ = kept.Write(append(lines.Bytes(), '\n')) // It is for reading only.
			}
		}
		each(nil)
	}, nil
}

// signal sends a signal to the program and its children. That they end meanwhile
// is what is wanted.
func (p *Process) signal(s syscall.Signal) {
	if p.Ended() {
		return
	}
	p.told.Store(true)
	_ = syscall.Kill(-p.Cmd.Process.Pid, s)
}

// Kill is kill -9. It returns when the program has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Terminate tells the program to end, and returns at once.
func (p *Process) Terminate() { p.signal(syscall.SIGTERM) }

// Stop tells the program to end, and kills it where it does not.
func (p *Process) Stop() {
	if p.Ended() {
		return
	}
	p.Terminate()
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		p.Kill()
	}
}

// Ended reports whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait returns when the program has ended, with how it did.
func (p *Process) Wait() error {
	<-p.ended
	return p.err
}

// Told reports whether the program was told to end, which is so before it has.
func (p *Process) Told() bool { return p.told.Load() }

// Crashed reports whether the program has ended by itself.
func (p *Process) Crashed() bool { return p.Ended() && !p.told.Load() }

// Interrupted ends when the run is told to end. Tests that need it set it.
var Interrupted = context.Background()

// Await waits until the program does something.
func (p *Process) Await(t testing.TB, what string, does func() bool) {
	t.Helper()
	wait.UntilWithin(t, StartLimit, p.Name+" "+what, func() bool {
		if p.Ended() {
			t.Fatalf("%s ended: %v", p.Name, p.err)
		}
		if Interrupted.Err() != nil {
			t.Fatal("interrupted")
		}
		return does()
	})
}

// AwaitOK waits until a URL of the program answers with 200.
func (p *Process) AwaitOK(t testing.TB, url string) {
	t.Helper()
	p.Await(t, "answers at "+url, func() bool { return OK(url) })
}

// AwaitListener waits until the program listens at an address.
func (p *Process) AwaitListener(t testing.TB, addr string) {
	t.Helper()
	p.Await(t, "listens at "+addr, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// AwaitCalm waits until the program has hardly anything to do.
func (p *Process) AwaitCalm(t testing.TB) {
	t.Helper()
	const look = time.Second
	last, at := p.CPU(), time.Now()
	p.Await(t, "is calm", func() bool {
		if time.Since(at) < look {
			return false
		}
		before := last
		last, at = p.CPU(), time.Now()
		return last-before < look/50
	})
}

// AwaitSaid waits until the log has a line with a message, and reads the first one.
func (p *Process) AwaitSaid(t testing.TB, message string, into any) {
	t.Helper()
	p.Await(t, "says: "+message, func() bool {
		log := must.Value(os.ReadFile(p.log))(t)
		for line := range bytes.Lines(log) {
			if bytes.Contains(line, []byte(`"msg":"`+message+`"`)) {
				return json.Unmarshal(line, into) == nil
			}
		}
		return false
	})
}

// Metric returns the sum of the series of a metric whose labels contain a text, and
// whether there is one.
func Metric(url, metric, label string) (sum float64, found bool) {
	text, err := Get(url)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		name, labels, _ := strings.Cut(series, "{")
		var v float64
		if _, err := fmt.Sscan(value, &v); err == nil && name == metric && strings.Contains(labels, label) {
			sum, found = sum+v, true
		}
	}
	return sum, found
}

// Number returns a number of 1 or more from the environment, or what it is without.
func Number(t testing.TB, variable string, without int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s = %q must be a number of 1 or more", variable, text)
	}
	return n
}

// UnusedPort returns a port that is free on all of the hosts, and that no connection
// of the test's own takes meanwhile: below the ports that systems choose for those.
func UnusedPort(t testing.TB, hosts ...string) int {
	t.Helper()
	for range 100 {
		port := 10_000 + mathrand.IntN(20_000)
		if !slices.ContainsFunc(hosts, func(host string) bool { return taken(host, port) }) {
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func taken(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return true
	}
	_ = l.Close()
	return false
}

// UnusedAddress returns an address of the loopback with such a port.
func UnusedAddress(t testing.TB) string {
	t.Helper()
	const host = "127.0.0.1"
	return net.JoinHostPort(host, strconv.Itoa(UnusedPort(t, host)))
}

// asker asks programs how they are, as the kubelet does.
var asker = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Get returns what a URL answers, which must be a success.
func Get(url string) ([]byte, error) {
	res, err := asker.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", url, res.StatusCode)
	}
	return body, err
}

// OK reports whether a URL answers with 200.
func OK(url string) bool {
	_, err := Get(url)
	return err == nil
}
