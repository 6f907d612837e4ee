// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// results are what tools answer.
var results = map[string]string{"plain": `{"content":[{"type":"text","text":"hello"}]}`}

func answerWith(w http.ResponseWriter, m sentMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// toolCall is the body of a POST that calls the tool.
func toolCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool)
}

// TestAConnectionOutlastsItsAnswers calls a server that ends its streams a while
// after the answer.
func TestAConnectionOutlastsItsAnswers(t *testing.T) {
	t.Parallel()
	read := make(chan struct{}) // is sent to once the answer of a stream was read
	var mu sync.Mutex
	peers, calls := map[string]bool{}, 0 // the connections with calls
	s := &script{answer: func(w http.ResponseWriter, r *http.Request, m sentMessage, _ int) string {
		mu.Lock()
		peers[r.RemoteAddr] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, results["plain"])
		_ = http.NewResponseController(w).Flush()
		<-read // The end of the stream comes after the answer, as over a network.
		_, _ = io.WriteString(w, ": the end\n\n")
		return ""
	}}
	r := newPolicyRig(t, Options{}, bridgeconfig.Config{Servers: []bridgeconfig.Server{s.serve(t)}})
	awaitLists(t, r.bridge)
	header := r.session(t)
	// A call may begin before the stream of the one before has ended, and has a connection of its own.
	wait.Until(t, "ten calls on connections of earlier ones", func() bool {
		r.do(t, "POST", r.url, toolCall(7, "t"), header)
		read <- struct{}{}
		calls++
		mu.Lock()
		defer mu.Unlock()
		return calls-len(peers) >= 10
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
