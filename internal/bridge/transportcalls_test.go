// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// firstID returns the id of the first event of a stream.
func firstID(t *testing.T, resp *http.Response) string {
	t.Helper()
	for lines := bufio.NewReader(resp.Body); ; {
		if id, ok := strings.CutPrefix(must.Value(lines.ReadString('\n'))(t), "id: "); ok {
			return strings.TrimSpace(id)
		}
	}
}
