// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge/token"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// ofIngress adds to a header what an ingress asks about lists.
func ofIngress(header map[string]string, value string) map[string]string {
	asking := map[string]string{bridgeconfig.HeaderLists: value}
	maps.Copy(asking, header)
	return asking
}

// keptBy returns what the bridge says of the answer to a modern request of an ingress.
func (r *rig) keptBy(t *testing.T, method string) string {
	t.Helper()
	resp, body := r.do(t, "POST", r.url, modernBody(1, method, ""), ofIngress(modernHeader(method, ""), bridgeconfig.ListsAwaited))
	if resp.StatusCode != http.StatusOK || answerOf(t, body)["result"] == nil {
		t.Fatalf("%s: %d %s", method, resp.StatusCode, body)
	}
	return resp.Trailer.Get(bridgeconfig.HeaderLists)
}

func TestAnAnswerSaysOfWhichConfigurationItIs(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string]string{"one server": " client", "several": "", "router": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newBubbleRig(t, startWays[name](t, 0))
				time.Sleep(time.Second)
				synctest.Wait()
				digest := must.Value(r.bridge.config.Digest())(t)
				if got := r.keptBy(t, methods.Discover); got != digest {
					t.Errorf("discover: %q, want %q", got, digest)
				}
				if got := r.keptBy(t, methods.ListTools); got != digest+lists {
					t.Errorf("tools/list: %q, want %q", got, digest+lists)
				}
				resp, _ := r.do(t, "POST", r.url, modernBody(1, methods.ListTools, ""), modernHeader(methods.ListTools, ""))
				if got := resp.Trailer.Get(bridgeconfig.HeaderLists); got != "" {
					t.Errorf("nobody asks, and the answer says %q", got)
				}
				initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
				resp, _ = r.do(t, "POST", r.url, initialize, ofIngress(nil, bridgeconfig.ListsAwaited))
				if got := resp.Trailer.Get(bridgeconfig.HeaderLists); got != digest {
					t.Errorf("initialize: %q, want %q", got, digest)
				}
				resp, _ = r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, ofIngress(r.session(t), bridgeconfig.ListsAwaited))
				if got := resp.Trailer.Get(bridgeconfig.HeaderLists); got != digest+lists {
					t.Errorf("tools/list of a session: %q, want %q", got, digest+lists)
				}
				c := r.bridge.config
				c.Servers = c.Servers[:1]
				c.LeftOut = 1
				must.Succeed(t, r.bridge.Reconfigure(c))
				if got := r.keptBy(t, methods.Discover); got != must.Value(c.Digest())(t) {
					t.Errorf("after a change of the configuration: %q", got)
				}
			})
		})
	}
}

// TestAListThatLacksAServerIsNotKept reads lists before and after a program has started.
func TestAListThatLacksAServerIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, startWays["several"](t, 12*time.Second))
		if got := r.keptBy(t, methods.ListTools); got != "" {
			t.Errorf("the list is kept of %q", got)
		}
		time.Sleep(10 * time.Second)
		if got := r.keptBy(t, methods.ListTools); got == "" {
			t.Error("the whole list is not kept")
		}
	})
}

func TestARequestIsDeclinedOnlyWhileAServerStartsAndAnAnswerIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, startWays["one server"](t, 12*time.Second))
		ask := func() (*http.Response, string) {
			method := methods.ListTools
			return r.do(t, "POST", r.url, modernBody(1, method, ""), ofIngress(modernHeader(method, ""), bridgeconfig.ListsKept))
		}
		began := time.Now()
		resp, _ := ask()
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get(bridgeconfig.HeaderLists) != bridgeconfig.ListsDeclined || time.Since(began) > 0 {
			t.Errorf("%d %v after %s", resp.StatusCode, resp.Header, time.Since(began))
		}
		r.keptBy(t, methods.ListTools)
		if took := time.Since(began); took < 12*time.Second {
			t.Errorf("a request of which no answer is kept waits for %s", took)
		}
		if resp, body := ask(); resp.StatusCode != http.StatusOK {
			t.Errorf("after the start: %d %s", resp.StatusCode, body)
		}
	})
}

// TestASessionOfAKeptAnswerIsLikeARestoredOne begins a session whose initialize the bridge has not
// seen, with the id of another session of the same client.
func TestASessionOfAKeptAnswerIsLikeARestoredOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, startWays["several"](t, 0))
		first := r.session(t)
		ids := map[string]bool{}
		for range 2 {
			id := token.Sibling(first["Mcp-Session-Id"], rand.Text())
			ids[id] = true
			header := maps.Clone(first)
			header["Mcp-Session-Id"] = id
			resp, body := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, header)
			if resp.StatusCode != http.StatusOK || answerOf(t, body)["result"] == nil {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			expectEvents(t, r, header, "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed")
			if resp, _ := r.do(t, "DELETE", r.url, "", header); resp.StatusCode != http.StatusNoContent {
				t.Errorf("the end: %d", resp.StatusCode)
			}
			if resp, _ := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`, header); resp.StatusCode != http.StatusNotFound {
				t.Errorf("a session that ended comes back: %d", resp.StatusCode)
			}
		}
		if resp, _ := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, first); resp.StatusCode != http.StatusOK {
			t.Errorf("the first session: %d", resp.StatusCode)
		}
		header := maps.Clone(first)
		for _, id := range []string{first["Mcp-Session-Id"] + ".", first["Mcp-Session-Id"] + ".short", token.Sibling("x", rand.Text())} {
			header["Mcp-Session-Id"] = id
			if resp, _ := r.do(t, "POST", r.url, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, header); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%q opens a session: %d", id, resp.StatusCode)
			}
		}
	})
}

// expectEvents reads a session's stream until it has had all of these notifications.
func expectEvents(t *testing.T, r *rig, header map[string]string, notes ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := must.Value(http.NewRequestWithContext(ctx, http.MethodGet, r.url, http.NoBody))(t)
	req.Header.Set("Accept", "text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	expectNotes(t, must.Value(r.http.Do(req))(t).Body, notes...)
}

func expectNotes(t *testing.T, stream io.ReadCloser, notes ...string) {
	t.Helper()
	defer stream.Close()
	left := map[string]bool{}
	for _, note := range notes {
		left[note] = true
	}
	for lines := bufio.NewScanner(stream); len(left) > 0; {
		if !lines.Scan() {
			t.Fatalf("the stream ends without %v", left)
		}
		for note := range left {
			if strings.Contains(lines.Text(), note) {
				delete(left, note)
			}
		}
	}
}

// TestAClientThatListensAfterAWakeIsToldThatItsListsMayHaveChanged opens streams when all servers
// have started, so that no change follows.
func TestAClientThatListensAfterAWakeIsToldThatItsListsMayHaveChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, startWays["several"](t, 5*time.Second))
		time.Sleep(30 * time.Second)
		listen := func(ctx context.Context, header map[string]string) io.ReadCloser {
			body := modernBody(1, methods.Listen, `"notifications":{"toolsListChanged":true,"promptsListChanged":true},`)
			return must.Value(r.http.Do(r.newPost(ctx, t, body, header)))(t).Body
		}
		header := modernHeader(methods.Listen, "")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		expectNotes(t, listen(ctx, ofIngress(header, bridgeconfig.ListsKept)), methods.ToolsChanged, methods.PromptsChanged)
		later := func(header map[string]string) string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			stream := listen(ctx, header)
			defer stream.Close()
			text, _ := io.ReadAll(stream)
			return string(text)
		}
		if text := later(header); strings.Contains(text, "list_changed") {
			t.Errorf("a client that got no kept list is told %s", text)
		}
		time.Sleep(time.Minute)
		if text := later(ofIngress(header, bridgeconfig.ListsKept)); strings.Contains(text, "list_changed") {
			t.Errorf("long after the start a client is told %s", text)
		}
		last := listen(ctx, header)
		go r.bridge.Close()
		if text, err := io.ReadAll(last); err != nil || strings.Contains(string(text), "list_changed") {
			t.Errorf("with the bridge the stream ends with %s, %v", text, err)
		}
	})
}
