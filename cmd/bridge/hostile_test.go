// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// podMemory is the memory of a pod's bridge (bridgeobjects.defaultLimits), in bytes.
const podMemory = 128 << 20

// hostile is a server that answers as a test tells it to. It is written by hand: an SDK would not
// let a server do such things.
type hostile struct {
	*httptest.Server
	// introduction and tools are parts of its answers.
	introduction string
	tools        []byte
	// call answers a tool call.
	call func(w http.ResponseWriter, tool string, id json.RawMessage)
	// answers counts the responses that the bridge has sent it.
	answers atomic.Int64
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{tools: []byte(`[{"name":"run","inputSchema":{"type":"object"}}]`)}
	h.Server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return h
}

// ServeHTTP implements http.Handler.
func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	switch {
	case m.ID == nil || m.Method == "":
		if m.Method == "" {
			h.answers.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		_, _ = fmt.Fprintf(jsonOf(w), `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
			`"serverInfo":{"name":"hostile","version":"1"},"instructions":"%s"}}`, m.ID, h.introduction)
	case m.Method == "tools/list":
		_, _ = fmt.Fprintf(jsonOf(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, m.ID, h.tools)
	case m.Method == "tools/call" && h.call != nil:
		h.call(w, m.Params.Name, m.ID)
	case m.Method == "tools/call", m.Method == "ping":
		_, _ = fmt.Fprintf(jsonOf(w), `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
	default:
		_, _ = fmt.Fprintf(jsonOf(w), `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
	}
}

func jsonOf(w http.ResponseWriter) io.Writer {
	w.Header().Set("Content-Type", "application/json")
	return w
}

// limited is a bridge program that has the memory of a pod.
type limited struct {
	url string
	cmd *exec.Cmd
	log *bytes.Buffer // complete when the process has ended
}

// buildProgram builds the bridge as it is shipped: the tests' own binary may have the race
// detector, which needs memory of its own.
func buildProgram(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bridge")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// startLimited starts a bridge with servers, each by its URL or, for a program, its path.
func startLimited(t *testing.T, servers map[string]string) *limited {
	t.Helper()
	config := map[string]map[string]map[string]string{"servers": {}}
	for name, place := range servers {
		kind := "url"
		if filepath.IsAbs(place) {
			kind = "command"
		}
		config["servers"][name] = map[string]string{kind: place}
	}
	b := must.Value(json.Marshal(config))(t)
	home := t.TempDir()
	file := filepath.Join(home, "config.json")
	must.Succeed(t, os.WriteFile(file, b, 0o600))
	l := &limited{log: &bytes.Buffer{}}
	l.cmd = exec.CommandContext(context.Background(), buildProgram(t), "serve", "--http", "127.0.0.1:0", "--config", file)
	l.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "HOSTED_BRIDGE_SECRETS=file", fmt.Sprintf("GOMEMLIMIT=%d", podMemory/4*3)}
	out := must.Value(l.cmd.StderrPipe())(t)
	must.Succeed(t, l.cmd.Start())
	found, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		address := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/mcp`)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			l.log.WriteString(lines.Text() + "\n")
			if url := address.FindString(lines.Text()); url != "" {
				select {
				case found <- url:
				default:
				}
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		_ = l.cmd.Process.Signal(syscall.SIGKILL)
		<-ended
		_ = l.cmd.Wait()
		if t.Failed() {
			t.Logf("the bridge's log:\n%.4000s", l.log)
		}
	})
	select {
	case l.url = <-found:
	case <-ended:
		t.Fatalf("the bridge does not start: %s", l.log)
	}
	return l
}

// send sends a request of the modern era and returns the last message of the answer.
func (l *limited) send(method, name string, params string) (answer, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, l.url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		if value != "" {
			r.Header.Set(key, value)
		}
	}
	a, _, err := post(r)
	return a, err
}

// answer is what a client got.
type answer struct {
	status int
	size   int
	text   string // of an error
	code   string // its data.code
	retry  float64
	tools  []string
}

func post(r *http.Request) (answer, http.Header, error) {
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return answer{}, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, nil, err
	}
	if at := bytes.LastIndex(b, []byte("data: ")); at >= 0 {
		b = b[at+len("data: "):]
	}
	var m struct {
		Result struct {
			Tools []struct{ Name string }
		}
		Error *struct {
			Message string
			Data    struct {
				Code              string
				RetryAfterSeconds float64
			}
		}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return answer{}, nil, fmt.Errorf("status %d and no message: %.200q", resp.StatusCode, b)
	}
	got := answer{status: resp.StatusCode, size: len(b)}
	for _, tool := range m.Result.Tools {
		got.tools = append(got.tools, tool.Name)
	}
	if m.Error != nil {
		got.text, got.code, got.retry = m.Error.Message, m.Error.Data.Code, m.Error.Data.RetryAfterSeconds
	}
	return got, resp.Header, nil
}

// session calls tools of the earlier era.
func (l *limited) session() (func(name, arguments string) (answer, error), error) {
	id := ""
	do := func(body string) (answer, http.Header, error) {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, l.url, strings.NewReader(body))
		if err != nil {
			return answer{}, nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		return post(r)
	}
	_, header, err := do(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if err != nil {
		return nil, err
	}
	id = header.Get("Mcp-Session-Id")
	var last atomic.Int64
	return func(name, arguments string) (answer, error) {
		a, _, err := do(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{%s}}}`, last.Add(1)+1, name, arguments))
		return a, err
	}, nil
}

func (l *limited) callTool(name, arguments string) (answer, error) {
	return l.send("tools/call", name, fmt.Sprintf(`"name":%q,"arguments":{%s},`, name, arguments))
}

// peak returns the most memory that the process has had so far, in bytes.
func (l *limited) peak(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		t.Fatalf("the bridge has ended: %v", err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(b)
	if found == nil {
		t.Fatal("the bridge has ended")
	}
	kb := must.Value(strconv.Atoi(string(found[1])))(t)
	return kb << 10
}

// health returns what the bridge says of its servers' errors.
func (l *limited) health(t *testing.T) map[string]string {
	t.Helper()
	r := must.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(l.url, "/mcp")+"/health", nil))(t)
	resp := must.Value((&http.Transport{DisableKeepAlives: true}).RoundTrip(r))(t)
	defer func() { _ = resp.Body.Close() }()
	var report struct {
		Servers map[string]struct{ Error string }
	}
	must.Succeed(t, json.NewDecoder(resp.Body).Decode(&report))
	said := map[string]string{}
	for name, s := range report.Servers {
		said[name] = s.Error
	}
	return said
}

// waitForError waits until the bridge says want of a server's error.
func (l *limited) waitForError(t *testing.T, server, want string) {
	t.Helper()
	deadline := time.After(wait.Limit)
	for {
		got := l.health(t)[server]
		if strings.Contains(got, want) {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-deadline:
			t.Fatalf("server %s is out of service because of %q, want %q", server, got, want)
		}
	}
}

// largeAnswer is an answer of 10 MiB.
var largeAnswer = sync.OnceValue(func() string { return strings.Repeat("line of text\\n", 10<<20/14) })

// heavyServer is a program whose answers have 10 MiB each.
func heavyServer() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "":
			continue
		case "initialize":
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"heavy","version":"1"}}}`, m.ID)
		case "tools/list":
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"run","inputSchema":{"type":"object"}}]}}`, m.ID)
		case "tools/call":
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, m.ID, largeAnswer())
		default:
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
		_ = out.WriteByte('\n')
		_ = out.Flush()
	}
}

// stream writes events before the answer to a call.
func stream(count int, event string) func(http.ResponseWriter, string, json.RawMessage) {
	return func(w http.ResponseWriter, _ string, id json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range count {
			_, _ = fmt.Fprintf(w, "data: "+event+"\n\n", i)
		}
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
	}
}

// hostiles returns the servers of TestNoServerEndsTheBridge.
func hostiles(t *testing.T) (servers map[string]string) {
	t.Helper()
	pings, questions, notes, verbose, many, heavy := newHostile(t), newHostile(t), newHostile(t), newHostile(t), newHostile(t), newHostile(t)
	pings.call = stream(5000, `{"jsonrpc":"2.0","id":"p%d","method":"ping"}`)
	questions.call = stream(5000, `{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
	notes.call = stream(20_000, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///%d"}}`)
	verbose.introduction = strings.Repeat("x", 25<<20)
	var tools bytes.Buffer
	for i := range 100_000 {
		_, _ = fmt.Fprintf(&tools, `,{"name":"tool_%d","inputSchema":{"type":"object"}}`, i)
	}
	many.tools = append([]byte("["), append(tools.Bytes()[1:], ']')...)
	heavy.call = func(w http.ResponseWriter, _ string, id json.RawMessage) {
		_, _ = fmt.Fprintf(jsonOf(w), `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, largeAnswer())
	}
	self := must.Value(os.Executable())(t)
	program := filepath.Join(t.TempDir(), "heavy")
	must.Succeed(t, os.Symlink(self, program))
	return map[string]string{
		"good": newHostile(t).URL, "takes": newHostile(t).URL, "pings": pings.URL, "questions": questions.URL, "notes": notes.URL,
		"verbose": verbose.URL, "many": many.URL, "heavy": heavy.URL, "program": program,
	}
}

// TestNoServerEndsTheBridge runs the bridge program with the memory of a pod and with servers that
// try to exceed it, and calls an honest server all the while. It does not run beside other tests: the
// bridge gives up a server that is too slow, as all are that lack a processor.
func TestNoServerEndsTheBridge(t *testing.T) {
	l := startLimited(t, hostiles(t))
	must.Value(l.send("tools/list", "", ""))(t)
	// Under the load below, a server may instead be too slow for its next attempt.
	l.waitForError(t, "verbose", "introduces itself with more than 1 MiB")
	l.waitForError(t, "many", "lists too much: at most 5000 tools")
	legacy := must.Value(l.session())(t)
	ctx, stop := context.WithCancel(t.Context())
	honest := make(chan int, 1)
	go func() {
		calls := 0
		for ctx.Err() == nil {
			if got, err := l.callTool("good_run", ""); err != nil || got.text != "" {
				t.Errorf("a call to an honest server fails: %s %v", got.text, err)
				break
			}
			calls++
		}
		honest <- calls
	}()
	body := fmt.Sprintf(`"x":%q`, strings.Repeat("y", 3_900_000))
	for _, tt := range []struct {
		name      string
		calls     int
		tool      string
		arguments string
		do        func(name, arguments string) (answer, error)
	}{
		{"5,000 pings before an answer", 1, "pings_run", "", l.callTool},
		{"5,000 questions before an answer", 1, "questions_run", "", legacy},
		{"20,000 notifications before an answer", 1, "notes_run", "", legacy},
		{"16 answers of 10 MiB at once", 16, "heavy_run", "", l.callTool},
		{"8 answers of 10 MiB at once to a session", 8, "heavy_run", "", legacy},
		{"8 answers of 10 MiB of a program", 8, "program_run", "", l.callTool},
		{"16 requests of 3.9 MB at once", 16, "takes_run", body, l.callTool},
		{"16 requests of 3.9 MB at once of a session", 16, "takes_run", body, legacy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all sync.WaitGroup
			var passed atomic.Int32
			for range tt.calls {
				all.Go(func() {
					got, err := tt.do(tt.tool, tt.arguments)
					switch {
					case err != nil:
						t.Errorf("no answer: %v", err)
					case got.text == "":
						passed.Add(1)
					case got.code != "bridge_busy" || got.retry <= 0:
						t.Errorf("refused with %q, code %q, retry after %v s", got.text, got.code, got.retry)
					}
				})
			}
			all.Wait()
			if passed.Load() == 0 {
				t.Error("no call passes")
			}
			if peak := l.peak(t); peak > podMemory {
				t.Errorf("the bridge took %d MiB of %d", peak>>20, podMemory>>20)
			}
		})
	}
	stop()
	if calls := <-honest; calls < 8 {
		t.Errorf("%d calls to the honest server", calls)
	}
}
