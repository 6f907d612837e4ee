// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire compares what the bridge program answers to a corpus of requests
// with recorded answers, byte for byte, but for ids, times and addresses. It finds
// changes on the wire that no other test asks about.
//
// UPDATE_WIRE=1 records the answers. WIRE_BRIDGE names another program to compare.
package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	// What the program is made of, so that go test runs again when it changed.
	_ "github.com/hostedbridge/hostedbridge/internal/bridge"
	_ "github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/test/gobuild"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

func TestAnswersAreAsRecorded(t *testing.T) {
	dir := t.TempDir()
	everything := build(t, dir, everythingServer)
	bridge := os.Getenv("WIRE_BRIDGE")
	if bridge == "" {
		bridge = build(t, dir, "../../cmd/bridge")
	}
	upstream := free(t)
	start(t, upstream, everything, "-http", upstream, "-stateless=false")
	for name, config := range map[string]string{
		"one server":  `{"servers":{"everything":{"url":"http://%[1]s"}}}`,
		"two servers": `{"servers":{"first":{"url":"http://%[1]s"},"second":{"url":"http://%[1]s"}}}`,
		"router":      `{"mode":"router","servers":{"everything":{"url":"http://%[1]s"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.json")
			must.Succeed(t, os.WriteFile(file, fmt.Appendf(nil, config, upstream), 0o600))
			address := free(t)
			start(t, address, bridge, "serve", "--http", address, "--config", file)
			var prefix string
			if name == "two servers" {
				prefix = "first_"
			}
			compare(t, strings.ReplaceAll(name, " ", "-"), record(t, address, corpus(prefix)))
		})
	}
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if os.Getenv("UPDATE_WIRE") != "" {
		must.Succeed(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want := must.Value(os.ReadFile(file))(t)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("answers differ from %s (-recorded +now):\n%s", file, diff)
	}
}

// record sends the exchanges one after the other and returns them with their
// answers. A session that an answer opens is that of the exchanges after it.
func record(t *testing.T, address string, exchanges []exchange) string {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var text strings.Builder
	session := ""
	for _, e := range exchanges {
		ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
		r := must.Value(http.NewRequestWithContext(ctx, e.method, "http://"+address+"/u/local/mcp", strings.NewReader(e.body)))(t)
		for name, value := range e.header {
			r.Header.Set(name, strings.ReplaceAll(value, "<session>", session))
		}
		fmt.Fprintf(&text, "== %s\n%s %v\n%s\n", e.name, e.method, e.header, e.body)
		res, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		writeAnswer(t, &text, res, e.lines)
		cancel()
		_ = res.Body.Close()
	}
	return strings.NewReplacer("<session>", "<session>", session, "<session>", address, "<bridge>").Replace(text.String())
}

// writeAnswer writes an answer. Of an endless stream it reads so many lines.
func writeAnswer(t *testing.T, to io.Writer, res *http.Response, lines int) {
	t.Helper()
	fmt.Fprintf(to, "-- %d\n", res.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		if name != "Date" && name != "Content-Length" {
			fmt.Fprintln(to, normalise(name+": "+strings.Join(res.Header[name], ", ")))
		}
	}
	body := bufio.NewReader(res.Body)
	for read := 0; lines == 0 || read < lines; read++ {
		line, err := body.ReadString('\n')
		fmt.Fprint(to, normalise(line))
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintln(to)
}

var variable = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`^id: .*`), "id: <event>"},
	{regexp.MustCompile(`^Mcp-Session-Id: .*`), "Mcp-Session-Id: <session>"},
	{regexp.MustCompile(`"requestState":"[^"]*"`), `"requestState":"<state>"`},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.]*Z`), "<time>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<upstream>"},
	{regexp.MustCompile(`^malformed payload: .*`), "malformed payload: <why>"}, // in the words of what reads JSON
	{regexp.MustCompile(`"serverInfo":\{[^}]*\}`), `"serverInfo":<info>`},
}

func normalise(line string) string {
	for _, v := range variable {
		line = v.pattern.ReplaceAllString(line, v.with)
	}
	return line
}

// build returns the program of a package, without the version of the checkout, which
// it would name in answers.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	program := filepath.Join(dir, filepath.Base(pkg))
	must.Succeed(t, gobuild.Build(t.Context(), program, []string{pkg}, "-buildvcs=false"))
	return program
}

// free returns an address of the loopback at which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	listener := must.Value((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().String()
}

// start runs a program until the test ends and waits until it listens.
func start(t *testing.T, address, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...) // It ends by a signal, so that it can end what it started.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		_ = cmd.Wait()
	})
	wait.NoError(t, wait.Limit, filepath.Base(program)+" listens", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
}
