// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// chromiums are the names of the browsers that the tests run, the smallest first.
var chromiums = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}

// view is what a person sees, and what their browser says of it.
type view struct {
	URL, Title, Lang, Text   string
	Headings, Buttons, Links []string
	// Choices are the bridges of which a page of consent has the person choose one.
	Choices []string
	Status  int
	// Stopped is where the browser would have gone, had it not been told not to.
	Stopped string
	// Complaints are the browser's, such as of what a page's policy forbids.
	// Violations are what axe finds in pages of the installation.
	Complaints, Violations []string
	// Focused is what a keyboard went over to do something.
	Focused []focus
	Cookies []cookie
	// Wide is whether the page is wider than the window.
	Wide  bool
	Error string
}

type focus struct {
	Name  string
	Shown bool
}

// cookie is one of a browser's, without its value.
type cookie struct {
	Name, Path, SameSite string
	HTTPOnly, Secure     bool
}

// path returns where the person is, without a query: in those of logins are codes.
func (v view) path() string {
	u, err := url.Parse(v.URL)
	if err != nil {
		return "an address that does not parse"
	}
	return u.Host + u.Path
}

// answer returns the query of the address at which the browser was stopped.
func (v view) answer(t *testing.T) url.Values {
	t.Helper()
	u, err := url.Parse(v.Stopped)
	if err != nil || v.Stopped == "" {
		t.Fatalf("the person was not sent back: they are at %s, which says %q", v.path(), v.Text)
	}
	return u.Query()
}

// browser is what clients/browser.mjs is told at its start.
type browser struct {
	Program string            `json:"program"`
	Hosts   map[string]string `json:"hosts,omitempty"`
	Ours    string            `json:"ours,omitempty"`
	Stops   []string          `json:"stops,omitempty"`
	// Plain is a narrow browser in which no page runs a script.
	Plain bool `json:"plain,omitempty"`
	// Widths are of the window in pixels: the first one is the person's, and each page is
	// looked at in all of them.
	Widths []int `json:"widths,omitempty"`
}

// person sits before a browser of their own, with no cookies.
type person struct {
	in  io.Writer
	out *bufio.Scanner
	err *bytes.Buffer
}

// chromium returns the browser to run.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range append([]string{os.Getenv("CHROMIUM")}, chromiums...) {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no Chromium: hack/install-deps.sh installs it, or CHROMIUM names it")
	return ""
}

// newPerson starts a browser, which ends with the test.
func newPerson(t *testing.T, b browser) *person {
	t.Helper()
	b.Program = cmp.Or(b.Program, chromium(t))
	argument := must.Value(json.Marshal(b))(t)
	cmd := exec.Command(nodeProgram(t), "clients/browser.mjs", string(argument))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.WaitDelay = wait.Limit
	p := &person{err: &bytes.Buffer{}}
	cmd.Stderr = p.err
	in := must.Value(cmd.StdinPipe())(t)
	out := must.Value(cmd.StdoutPipe())(t)
	p.in, p.out = in, bufio.NewScanner(out)
	p.out.Buffer(nil, 1<<20)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		late := time.AfterFunc(wait.Limit, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("end the browser: %v: %.2000s", err, p.err)
		}
	})
	return p
}

// does has the person do one thing, and returns what they see then.
func (p *person) does(t *testing.T, act string, with ...string) view {
	t.Helper()
	v, err := p.try(act, with...)
	if err != nil {
		t.Fatalf("%s %s: %v", act, strings.SplitN(strings.Join(with, " "), "?", 2)[0], err)
	}
	return v
}

func (p *person) try(act string, with ...string) (v view, err error) {
	said := map[string]string{"act": act}
	keys := map[string][]string{"open": {"url"}, "picture": {"file", "colorScheme", "width"}, "fill": {"name", "value"}}[act]
	if keys == nil {
		keys = []string{"name"}
	}
	for n, value := range with {
		said[keys[n]] = value
	}
	line, err := json.Marshal(said)
	if err != nil {
		return v, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return v, fmt.Errorf("tell the browser: %w: %.2000s", err, p.err)
	}
	if !p.out.Scan() {
		return v, fmt.Errorf("the browser has ended: %w: %.2000s", cmp.Or(p.out.Err(), io.ErrUnexpectedEOF), p.err)
	}
	if err := json.Unmarshal(p.out.Bytes(), &v); err != nil {
		return v, fmt.Errorf("read what the person sees: %w", err)
	}
	if v.Error != "" {
		return v, errors.New(v.Error)
	}
	return v, nil
}

// allows has the person let the client in, to the bridge that there is where they may
// choose between one and a new one.
func (p *person) allows(v view) (view, error) {
	for _, choice := range v.Choices {
		if strings.Contains(choice, "is made for you") {
			continue
		}
		if v, err := p.try("choose", choice); err != nil {
			return v, err
		}
		break
	}
	return p.try("press", "Allow")
}

// checkPage fails the test where a page of the installation is one that some
// people cannot use, or that its own policy keeps from working.
func checkPage(t *testing.T, v view) {
	t.Helper()
	where := v.path()
	if v.Title == "" || v.Lang == "" || len(v.Headings) != 1 {
		t.Errorf("%s: title %q, language %q, headings %q: want each, and one heading", where, v.Title, v.Lang, v.Headings)
	}
	for _, violation := range v.Violations {
		t.Errorf("%s: axe: %s", where, violation)
	}
	if v.Wide {
		t.Errorf("%s: the page is wider than the window", where)
	}
	for _, complaint := range v.Complaints {
		t.Errorf("%s: the browser complains: %.300s", where, complaint)
	}
	if slices.ContainsFunc(v.Focused, func(f focus) bool { return !f.Shown }) {
		t.Errorf("%s: the focus is not seen everywhere: %v", where, v.Focused)
	}
}
