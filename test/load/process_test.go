// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// programs are the programs as they ship.
type programs struct{ keybroker, ingress, bridge string }

// build builds the programs, once for all tests.
var build = sync.OnceValues(func() (programs, error) {
	p := programs{filepath.Join(programDir, "keybroker"), filepath.Join(programDir, "ingress"), filepath.Join(programDir, "bridge")}
	var group errgroup.Group
	for _, program := range []string{p.keybroker, p.ingress, p.bridge} {
		group.Go(func() error {
			out, err := exec.Command("go", "build", "-o", program, "../../cmd/"+filepath.Base(program)).CombinedOutput()
			if err != nil {
				return fmt.Errorf("build %s: %w\n%s", filepath.Base(program), err, out)
			}
			return nil
		})
	}
	return p, group.Wait()
})

// process is one of ours that runs.
type process struct {
	name string
	cmd  *exec.Cmd
	log  tail
	// ending says, before it is so, that the process will end as it is told to.
	ending atomic.Bool
	ended  chan struct{}
	err    error // after ended
}

// launch starts a program. It is killed at the end of the test at the latest,
// and its last lines are shown if the test fails.
func launch(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{name: name, cmd: cmd, ended: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.follow(stderr)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s:\n%s", name, p.log.String())
		}
	})
	return p
}

// follow reads the log until the process ends.
func (p *process) follow(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.log.add(lines.Bytes())
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

// kill is kill -9.
func (p *process) kill() {
	p.ending.Store(true)
	_ = p.cmd.Process.Kill() // That it has ended already is what is wanted.
	<-p.ended
}

// terminate tells the process to end, and returns at once.
func (p *process) terminate() {
	p.ending.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // As above.
}

func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// crashed reports whether the process ended by itself.
func (p *process) crashed() bool { return p.over() && !p.ending.Load() }

// said returns what the process logged first under a message, once it has.
func (p *process) said(t *testing.T, message string, into any) {
	t.Helper()
	testenv.Eventually(t, p.name+" says: "+message, func() bool {
		if p.over() {
			t.Fatalf("%s ended: %v", p.name, p.err)
		}
		line := p.log.first(message)
		return line != nil && json.Unmarshal(line, into) == nil
	})
}

// tail holds the beginning and the end of a log, without the requests that
// went well, which are many.
type tail struct {
	mu    sync.Mutex
	lines [][]byte
}

const (
	// headLines are what a process says at its start, and keptLines how many
	// there are besides.
	headLines = 50
	keptLines = 200
)

func (l *tail) add(line []byte) {
	if bytes.Contains(line, []byte(`"msg":"request"`)) && bytes.Contains(line, []byte(`"status":200,`)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == headLines+keptLines {
		l.lines = slices.Delete(l.lines, headLines, headLines+1)
	}
	l.lines = append(l.lines, bytes.Clone(line))
}

// first returns the first line with that message, nil while there is none.
func (l *tail) first(message string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if bytes.Contains(line, []byte(`"msg":"`+message+`"`)) {
			return line
		}
	}
	return nil
}

// String returns the last lines.
func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.Join(l.lines[max(0, len(l.lines)-30):], []byte("\n")))
}

// unusedPort returns a port that is free on all of the hosts, and that no
// connection of the test's own takes meanwhile: below the ports that systems
// choose for those.
func unusedPort(t *testing.T, hosts ...string) int {
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
	l, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return true
	}
	_ = l.Close()
	return false
}

func unusedAddress(t *testing.T) string {
	t.Helper()
	const host = "127.0.0.1"
	return net.JoinHostPort(host, fmt.Sprint(unusedPort(t, host)))
}

// probes asks what the kubelet asks.
var probes = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// answers reports whether a GET of the URL is a success.
func answers(url string) bool {
	res, err := probes.Get(url)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// scrape returns the sum of the series of a metric whose labels contain a text.
func scrape(probeAddress, metric, label string) (sum float64) {
	res, err := probes.Get("http://" + probeAddress + "/metrics")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		name, labels, _ := strings.Cut(series, "{")
		var v float64
		if name == metric && strings.Contains(labels, label) {
			_, _ = fmt.Sscan(value, &v) // What is no number is 0.
			sum += v
		}
	}
	return sum
}
