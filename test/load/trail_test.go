// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// line is what is read of a line of an audit trail.
type line struct {
	UserID string `json:"userId"`
	Tool   string `json:"tool"`
	Status string `json:"status"`
}

// called is a tool of a user.
type called struct{ user, tool string }

// trails are all lines of the trails of an installation.
type trails struct {
	// of is how often each user's call of each tool is in a trail.
	of    map[called]int
	lines int
	files int
}

// readTrails reads the trails and has each verified.
func (g *ingresses) readTrails(t *testing.T) *trails {
	t.Helper()
	all := &trails{of: map[called]int{}}
	for home := 1; home <= g.homes; home++ {
		files := filesOf(t, g.trail(home))
		for _, file := range files {
			all.read(t, file)
		}
		all.files += len(files)
		if out, err := g.verify(t, files...); err != nil {
			t.Errorf("the trail of ingress %d is not as it was written: %v\n%s", home, err, out)
		}
	}
	return all
}

// verify runs "ingress audit verify".
func (g *ingresses) verify(t *testing.T, files ...string) (said string, err error) {
	t.Helper()
	args := append([]string{"audit", "verify", "--only"}, files...)
	out, err := exec.CommandContext(t.Context(), filepath.Join(programDir, "ingress"), args...).CombinedOutput()
	return string(out), err
}

// expectGapFound takes one line of a trail's first file away and has the rest
// verified.
func (g *ingresses) expectGapFound(t *testing.T, home int) {
	t.Helper()
	content := must.Value(os.ReadFile(filesOf(t, g.trail(home))[0]))(t)
	lines := bytes.SplitAfter(content, []byte("\n"))
	if len(lines) < 4 {
		t.Fatalf("the trail has %d lines", len(lines))
	}
	without := g.installation.write("gap.jsonl", string(bytes.Join(slices.Delete(lines, len(lines)/2, len(lines)/2+1), nil)))
	if out, err := g.verify(t, without); err == nil {
		t.Errorf("a line is missing, and it is said: %s", out)
	}
}

// filesOf returns the files of a trail, the oldest first: full ones are named
// by when they were begun.
func filesOf(t *testing.T, path string) []string {
	t.Helper()
	full := must.Value(filepath.Glob(path + ".*"))(t)
	full = slices.DeleteFunc(full, func(name string) bool { return name == path+".head" })
	slices.Sort(full)
	return append(full, path)
}

func (a *trails) read(t *testing.T, path string) {
	t.Helper()
	f := must.Value(os.Open(path))(t)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Tool == "" {
			continue // Torn, or the mark of that; verify says whether it may be.
		}
		a.of[called{l.UserID, l.Tool}]++
		a.lines++
	}
}
