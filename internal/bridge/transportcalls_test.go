// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// results are what the tools of a variety answer, by name.
var results = map[string]string{
	"plain":  `{"content":[{"type":"text","text":"hello"}]}`,
	"failed": `{"content":[{"type":"text","text":"no"}],"isError":true}`,
	"large":  `{"content":[{"type":"text","text":"` + strings.Repeat("0123456789<>", 30_000) + `"}]}`,
}

// variety is a legacy server whose tools answer in different ways.
type variety struct {
	read chan struct{} // is sent to once the answer of a stream was read

	mu    sync.Mutex
	peers map[string]int // how many calls came on each connection
}

// ServeHTTP implements http.Handler.
func (v *variety) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m sentMessage
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch {
	case m.Method == methods.Initialize:
		answerWith(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"variety","version":"1"}}`)
	case m.Method == methods.ListTools:
		answerWith(w, m, `{"tools":`+tools("plain", "failed", "large", "progress", "log", "refused", "stream")+`}`)
	case m.Method == methods.CallTool:
		v.mu.Lock()
		v.peers[r.RemoteAddr]++
		v.mu.Unlock()
		v.call(w, m)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		answerWith(w, m, `{}`)
	}
}

// tools returns the list of tools with these names.
func tools(names ...string) string {
	var list []map[string]any
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
	}
	b, _ := json.Marshal(list)
	return string(b)
}

func answerWith(w http.ResponseWriter, m sentMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// call answers the call of a tool in the way that its name says.
func (v *variety) call(w http.ResponseWriter, m sentMessage) {
	var p struct {
		Name string `json:"name"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	event := func(format string, args ...any) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: message\ndata: "+format+"\n\n", args...)
		_ = http.NewResponseController(w).Flush()
	}
	switch p.Name {
	case "progress":
		if p.Meta.Token != nil {
			event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1.50}}`, p.Meta.Token)
		}
		event(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results["plain"])
	case "log":
		event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"n":1.0}}}`)
		event(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results["plain"])
	case "refused":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"<no>","data":{"x":1.0}}}`, m.ID)
	case "stream":
		event(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results["plain"])
		<-v.read // The end of the stream comes after the answer, as over a network.
		_, _ = io.WriteString(w, ": the end\n\n")
	default:
		answerWith(w, m, results[p.Name])
	}
}

// newVariety starts a bridge before a variety, with a session.
func newVariety(t *testing.T) (r *rig, header map[string]string, v *variety) {
	t.Helper()
	v = &variety{read: make(chan struct{}), peers: map[string]int{}}
	front := httptest.NewServer(v)
	t.Cleanup(front.Close)
	r = newPolicyRig(t, Options{}, mcpserver.Config{Servers: []mcpserver.Server{{Name: "one", URL: front.URL}}})
	awaitLists(t, r.bridge)
	return r, r.session(t), v
}

// toolCall is the body of a POST that calls the tool.
func toolCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool)
}

// reply is an answer to a POST that may still be under way.
type reply struct {
	status int
	body   string
}

// newPost builds a POST as a client sends it.
func (r *rig) newPost(ctx context.Context, t *testing.T, body string, header map[string]string) *http.Request {
	t.Helper()
	req := must.Value(http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return req
}

// start posts in the background.
func (r *rig) start(t *testing.T, body string, header map[string]string) <-chan reply {
	t.Helper()
	done := make(chan reply, 1)
	req := r.newPost(t.Context(), t, body, header)
	go func() {
		resp, err := r.http.Do(req)
		if err != nil {
			done <- reply{}
			return
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		done <- reply{resp.StatusCode, string(answer)}
	}()
	return done
}

// newHanging starts a bridge before a server whose calls end when release is
// called, with a session.
func newHanging(t *testing.T) (r *rig, header map[string]string, began chan struct{}, release func()) {
	t.Helper()
	server, called, release := hanging(t)
	r = newPolicyRig(t, Options{}, mcpserver.Config{Servers: []mcpserver.Server{server}})
	awaitLists(t, r.bridge)
	t.Cleanup(release)
	return r, r.session(t), called, release
}

// TestACallCanBeCancelled cancels a call as soon as its server has it. Its request ends, and nothing
// answers it.
func TestACallCanBeCancelled(t *testing.T) {
	t.Parallel()
	r, header, began, _ := newHanging(t)
	done := r.start(t, toolCall(7, "hang"), header)
	next(t, began, "call")
	r.do(t, "POST", r.url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, header)
	if got := next(t, done, "end of the call"); got.status != http.StatusOK || strings.Contains(got.body, `"id":7`) {
		t.Errorf("the call ended with %d %s, want no answer", got.status, got.body)
	}
}

// TestAnIDInUseIsRefused calls with the id of a call that is in progress.
func TestAnIDInUseIsRefused(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{
		"the same call":           toolCall(7, "hang"),
		"a call with more fields": `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hang"},"x":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, header, began, release := newHanging(t)
			done := r.start(t, toolCall(7, "hang"), header)
			next(t, began, "call")
			resp, body := r.do(t, "POST", r.url, second, header)
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "duplicate in-flight request ID 7") {
				t.Errorf("the second is answered with %d %s", resp.StatusCode, body)
			}
			release()
			if got := next(t, done, "end of the first"); got.status != http.StatusOK || !strings.Contains(got.body, `"id":7,"result"`) {
				t.Errorf("the first is answered with %d %s", got.status, got.body)
			}
		})
	}
}

// TestAnIDIsFreeOnceItsAnswerIsRead calls again and again with the same id, each
// time as soon as the answer to the call before has arrived.
func TestAnIDIsFreeOnceItsAnswerIsRead(t *testing.T) {
	t.Parallel()
	r, header, _ := newVariety(t)
	for n := range 200 {
		resp, body := r.do(t, "POST", r.url, toolCall(7, "plain"), header)
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"id":7,"result"`) {
			t.Fatalf("call %d is answered with %d %s", n, resp.StatusCode, body)
		}
	}
}

var eventID = regexp.MustCompile(`(?m)^id: (.+)$`)

// TestACallCanBeResumed breaks the POST once its stream has begun, at once and after another request,
// and goes on from its first event.
func TestACallCanBeResumed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"at once", "later"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, header, began, release := newHanging(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			resp := must.Value(r.http.Do(r.newPost(ctx, t, toolCall(7, "hang"), header)))(t)
			begun := make([]byte, 512)
			n := must.Value(resp.Body.Read(begun))(t)
			found := eventID.FindSubmatch(begun[:n])
			if found == nil {
				t.Fatalf("the stream begins with %s", begun[:n])
			}
			next(t, began, "call")
			if name == "later" {
				r.do(t, "POST", r.url, pingBody, header)
			}
			leave()
			_ = resp.Body.Close()
			header["Last-Event-Id"] = string(found[1])
			rest := make(chan string, 1)
			go func() {
				_, body := r.do(t, "GET", r.url, "", header)
				rest <- body
			}()
			release()
			if got := next(t, rest, "rest of the stream"); !strings.Contains(got, `"id":7,"result"`) || eventID.FindString(got) == "" {
				t.Errorf("the rest of the stream is %q", got)
			}
		})
	}
}

// TestALostAnswerIsSentAgain asks for what comes after the first event of a call
// that has ended.
func TestALostAnswerIsSentAgain(t *testing.T) {
	t.Parallel()
	r, header, _ := newVariety(t)
	for _, tool := range []string{"plain", "log"} {
		delete(header, "Last-Event-Id")
		_, first := r.do(t, "POST", r.url, toolCall(7, tool), header)
		id := eventID.FindStringSubmatch(first)
		if id == nil {
			t.Fatalf("%s has no events: %s", tool, first)
		}
		header["Last-Event-Id"] = id[1]
		_, again := r.do(t, "GET", r.url, "", header)
		_, after, _ := strings.Cut(first, "\n\n")
		if again != after || !strings.Contains(after, `"id":7,"result"`) {
			t.Errorf("%s: what came after the first event is %q, and again %q", tool, after, again)
		}
	}
}

// TestCallsOfASessionCross has a session make calls of all kinds at once.
func TestCallsOfASessionCross(t *testing.T) {
	t.Parallel()
	r, header, _ := newVariety(t)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := range 30 {
				id := worker*1000 + n
				tool := []string{"plain", "progress", "log", "failed", "large", "refused"}[(worker+n)%6]
				body := toolCall(id, tool)
				if n%5 == 0 {
					body = strings.TrimSuffix(body, "}") + `,"x":1}`
				}
				_, answer := r.do(t, "POST", r.url, body, header)
				if string(answerOf(t, answer)["id"]) != fmt.Sprint(id) {
					t.Errorf("call %d of %s is answered with %.200s", id, tool, answer)
				}
			}
		})
	}
	all.Wait()
}

// TestAConnectionOutlastsItsAnswers calls a server that ends its streams a while
// after the answer.
func TestAConnectionOutlastsItsAnswers(t *testing.T) {
	t.Parallel()
	r, header, v := newVariety(t)
	calls := 0
	// A call may begin before the stream of the one before has ended, and has a connection of its own.
	wait.Until(t, "ten calls on connections of earlier ones", func() bool {
		r.do(t, "POST", r.url, toolCall(7, "stream"), header)
		v.read <- struct{}{}
		calls++
		v.mu.Lock()
		defer v.mu.Unlock()
		return calls-len(v.peers) >= 10
	})
}
