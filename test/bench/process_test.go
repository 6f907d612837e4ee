// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package bench

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is the process of a way, without the servers that it runs: none where
// pid is 0. probe is the URL at which it says how many bytes it has allocated,
// empty for a program that does not.
type process struct {
	pid   int
	probe string
}

// usage is what a process has used since it began.
type usage struct {
	cpu   time.Duration
	bytes uint64
}

func (u usage) plus(v usage) usage  { return usage{u.cpu + v.cpu, u.bytes + v.bytes} }
func (u usage) minus(v usage) usage { return usage{u.cpu - v.cpu, u.bytes - v.bytes} }

// each returns two cells of the table: the CPU time and the allocated memory of
// a call, or "-" for what was not measured.
func (u usage) each(calls int) string {
	cpu, kb := "-", "-"
	if u.cpu > 0 {
		cpu = strconv.FormatFloat(ms(u.cpu)/float64(calls), 'f', 2, 64)
	}
	if u.bytes > 0 {
		kb = strconv.FormatFloat(float64(u.bytes)/1024/float64(calls), 'f', 0, 64)
	}
	return cpu + "\t| " + kb
}

// tick is the unit of /proc/PID/stat on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// usage returns what the process has used so far.
func (p process) usage(t *testing.T) usage {
	t.Helper()
	if p.pid == 0 {
		return usage{}
	}
	stat := p.read(t, "stat")
	// The second field is the program's name, which may hold spaces.
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	return usage{time.Duration(number(t, fields[11])+number(t, fields[12])) * tick, p.allocated(t)}
}

// allocated returns how many bytes the process has allocated, 0 where it does
// not say.
func (p process) allocated(t *testing.T) uint64 {
	t.Helper()
	if p.probe == "" {
		return 0
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.probe, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := new(http.Client).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return number(t, string(body))
}

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// resident returns the resident memory in MB, or "-" for no process.
func (p process) resident(t *testing.T) string {
	t.Helper()
	if p.pid == 0 {
		return "-"
	}
	found := residentLine.FindStringSubmatch(p.read(t, "status"))
	if found == nil {
		t.Fatalf("the status of process %d has no VmRSS", p.pid)
	}
	return strconv.FormatFloat(float64(number(t, found[1]))/1024, 'f', 1, 64)
}

// read returns a file of the process in /proc.
func (p process) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
