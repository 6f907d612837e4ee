// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const (
	rpcRequest      = `{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`
	rpcOpening      = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	rpcNotification = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	rpcResponse     = `{"jsonrpc":"2.0","id":1,"result":{}}`
)

// ofTier is oneUser of a tier that has that limits.
func ofTier(t testing.TB, change func(*quota.Tier), bridge http.HandlerFunc) (w *world, alice string) {
	t.Helper()
	w, alice = oneUser(t, defaults(), bridge)
	tier := testTiers()[testTier]
	change(&tier)
	w.setTiers(quota.Tiers{testTier: testTiers()[testTier], "tight": tier})
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "tight" })
	return w, alice
}

// parked is a bridge whose calls end when the test says so.
type parked struct {
	came chan string
	end  chan struct{}
}

func newParked() *parked { return &parked{came: make(chan string, 16), end: make(chan struct{})} }

func (p *parked) serve(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.came <- string(body)
	if strings.Contains(string(body), `"id"`) && !strings.Contains(string(body), `"result"`) || r.Method == http.MethodGet {
		select {
		case <-p.end:
		case <-r.Context().Done():
		}
	}
	rw.Header().Set("Content-Type", "application/json")
	fmt.Fprint(rw, `{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// begin sends a request and returns its answer's status when that has come.
func (w *world) begin(r *http.Request) <-chan int {
	status := make(chan int, 1)
	go func() {
		res, err := w.client.Do(r)
		if err != nil {
			status <- 0
			return
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		status <- res.StatusCode
	}()
	return status
}

func TestEachAnswerTellsWhatIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice := ofTier(t, func(t *quota.Tier) { t.PerMinute = 30 }, servedBy("alice"))
		for _, test := range []struct {
			name, method, path, body string
			status, left             int
		}{
			{"a request", "POST", "/mcp", rpcRequest, 200, 29},
			{"a notification costs nothing", "POST", "/mcp", rpcNotification, 200, 29},
			{"a response costs nothing", "POST", "/mcp", rpcResponse, 200, 29},
			{"each of a batch costs", "POST", "/mcp", "[" + rpcRequest + "," + rpcNotification + "," + rpcRequest + "]", 200, 27},
			{"a stream costs nothing", "GET", "/mcp", "", 200, 27},
			{"the end of a session costs nothing", "DELETE", "/mcp", "", 200, 27},
			{"health costs nothing", "GET", "/health", "", 200, 27},
			{"secrets cost nothing", "GET", "/secrets", "", 200, 27},
			{"a message of the old transport", "POST", "/sse?sessionid=s", rpcRequest, 200, 26},
			{"what is refused", "PUT", "/mcp", "", 405, 26},
		} {
			got := w.do(w.request(test.method, "/u/alice"+test.path, alice, test.body))
			if want := fmt.Sprintf(`"minute";r=%d;t=60, `, test.left); got.status != test.status || test.status != 405 && !strings.HasPrefix(got.header.Get("RateLimit"), want) {
				t.Errorf("%s: %d %s, RateLimit %s, want %d and %s", test.name, got.status, got.body, got.header.Get("RateLimit"), test.status, want)
			}
			if policy := got.header.Get("RateLimit-Policy"); test.status != 405 && !strings.HasPrefix(policy, `"minute";q=30;w=60, `) {
				t.Errorf("%s: RateLimit-Policy %s", test.name, policy)
			}
		}
		if got := w.do(w.request("POST", "/u/alice/mcp", "wrong", rpcRequest)).header; got.Get("RateLimit") != "" || got.Get("RateLimit-Policy") != "" {
			t.Errorf("who is nobody has a quota: %v", got)
		}
	})
}

// TestAnAgentThatStartsIsNotRefused has an agent begin in each shipped tier: it lists what there
// is, and calls as fast as it is answered.
func TestAnAgentThatStartsIsNotRefused(t *testing.T) {
	for name, tier := range quota.Defaults() {
		inBubble(t, func(t *testing.T) {
			w, alice := ofTier(t, func(t *quota.Tier) { *t = tier }, servedBy("alice"))
			send := func(method string) reply {
				return w.do(w.request("POST", "/u/alice/mcp", alice, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`))
			}
			for _, method := range []string{"initialize", "tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
				if got := send(method); got.status != http.StatusOK {
					t.Errorf("%s: %s: %d %s", name, method, got.status, got.body)
				}
			}
			for n := range 20 {
				if got := send("prompts/get"); got.status != http.StatusOK {
					t.Fatalf("%s: the call %d: %d %s", name, n+1, got.status, got.body)
				}
			}
			for range int(tier.Burst) - 20 {
				send("prompts/get")
			}
			got, every := send("prompts/get"), time.Minute/time.Duration(tier.PerMinute)
			want := fmt.Sprintf("The tier allows %d requests in quick succession, and then one every %v. Wait, or send requests more slowly.", tier.Burst, every)
			if got.status != http.StatusTooManyRequests || !strings.Contains(got.body, want) {
				t.Errorf("%s: beyond the burst: %d %s, want %s", name, got.status, got.body, want)
			}
		})
	}
}

func TestABridgeCannotTellOfAQuota(t *testing.T) {
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("RateLimit", "canary")
		rw.Header().Set("RateLimit-Policy", "canary")
	})
	got := w.do(w.request("POST", "/u/alice/mcp", alice, rpcRequest)).header
	if len(got["Ratelimit"]) != 1 || got.Get("RateLimit") == "canary" || got.Get("RateLimit-Policy") == "canary" {
		t.Errorf("%v", got)
	}
}

func TestAUserOverHisQuotaIsToldWhenToComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		asked := 0
		w, alice := ofTier(t, func(t *quota.Tier) { t.PerHour = 2 }, func(http.ResponseWriter, *http.Request) { asked++ })
		for range 2 {
			if got := w.do(w.request("POST", "/u/alice/mcp", alice, rpcRequest)); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		got := w.do(w.request("POST", "/u/alice/mcp", alice, `{"jsonrpc":"2.0","id":"x","method":"prompts/get"}`))
		var answer struct {
			ID    string `json:"id"`
			Error struct {
				Code    int       `json:"code"`
				Message string    `json:"message"`
				Data    quotaData `json:"data"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
			t.Fatal(err)
		}
		if got.status != 429 || answer.ID != "x" || answer.Error.Code != rpcRefused || answer.Error.Message != "The tier allows 2 requests each hour." {
			t.Errorf("%d %s", got.status, got.body)
		}
		data := answer.Error.Data
		if data.Code != "rate_limited" || data.Policy != "hour" || data.Limit != 2 || data.Remaining == nil || *data.Remaining != 0 {
			t.Errorf("data %s", got.body)
		}
		wait := time.Until(data.ResetAt)
		if data.RetryAfterMs != time.Hour.Milliseconds() || wait != time.Hour {
			t.Errorf("retry after %d ms, at %v", data.RetryAfterMs, data.ResetAt)
		}
		var seconds int
		if _, err := fmt.Sscan(got.header.Get("Retry-After"), &seconds); err != nil || int64(seconds)*1000 < data.RetryAfterMs {
			t.Errorf("Retry-After %s is before %d ms", got.header.Get("Retry-After"), data.RetryAfterMs)
		}
		if !strings.Contains(got.header.Get("RateLimit"), `"hour";r=0;t=`) {
			t.Errorf("RateLimit %s", got.header.Get("RateLimit"))
		}
		if asked != 2 {
			t.Errorf("the bridge was asked %d times", asked)
		}
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, rpcNotification)); got.status != 200 {
			t.Errorf("a notification: %d %s", got.status, got.body)
		}
	})
}

// quotaData is a refusal's, as a client reads it.
type quotaData struct {
	Code         string    `json:"code"`
	Policy       string    `json:"policy"`
	RetryAfterMs int64     `json:"retryAfterMs"`
	Limit        int64     `json:"limit"`
	Remaining    *int64    `json:"remaining"`
	ResetAt      time.Time `json:"resetAt"`
}

func TestABatchThatNeverFitsIsRefusedForGood(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice := ofTier(t, func(t *quota.Tier) { t.PerMinute = 3 }, servedBy("alice"))
		batch := "[" + rpcRequest + "," + rpcRequest + "," + rpcRequest + "," + rpcRequest + "]"
		// The attempt costs one of the three.
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, batch)); got.status != 413 || !strings.Contains(got.body, "batch_too_large") || got.header.Get("Retry-After") != "" {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, "["+rpcRequest+","+rpcRequest+"]")); got.status != 200 {
			t.Errorf("a smaller one: %d %s", got.status, got.body)
		}
	})
}

// TestOpeningsDoNotCountAsCallsAndHaveABoundOfTheirOwn has the clients of a user begin 50 times, as fast as
// they can, and then without end.
func TestOpeningsDoNotCountAsCallsAndHaveABoundOfTheirOwn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice := ofTier(t, func(t *quota.Tier) { t.PerMinute, t.Burst = 1, 1 }, servedBy("alice"))
		send := func(method string) reply {
			return w.do(w.request("POST", "/u/alice/mcp", alice, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`))
		}
		begun := 0
		for range 50 {
			for _, method := range []string{"initialize", "server/discover", "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
				switch got := send(method); {
				case got.status == 200:
					begun++
				case got.status != 429 || !strings.Contains(got.body, "too_many_openings") || got.header.Get("Retry-After") == "":
					t.Fatalf("%s: %d %s", method, got.status, got.body)
				}
			}
		}
		if begun != 200 {
			t.Errorf("%d openings at once, want 200", begun)
		}
		if got := send("prompts/get"); got.status != 200 {
			t.Errorf("a call after them: %d %s", got.status, got.body)
		}
		if got := send("prompts/get"); got.status != 429 || !strings.Contains(got.body, "rate_limited") {
			t.Errorf("a second call: %d %s", got.status, got.body)
		}
	})
}

// TestAStreamBeyondTheTiersNumberIsRefusedByAnAnswer has one stream more than the tier allows.
func TestAStreamBeyondTheTiersNumberIsRefusedByAnAnswer(t *testing.T) {
	bridge := newParked()
	w, alice := ofTier(t, func(t *quota.Tier) { t.Streams = 1 }, bridge.serve)
	listen := `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen"}`
	first := w.begin(w.request("POST", "/u/alice/mcp", alice, listen))
	<-bridge.came
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, listen)); got.status != 200 || !strings.Contains(got.body, `"id":7,"error":{"code":-32050`) || !strings.Contains(got.body, "too_many_streams") {
		t.Errorf("%d %s", got.status, got.body)
	}
	close(bridge.end)
	if got := <-first; got != 200 {
		t.Errorf("the first ended with %d", got)
	}
}

func TestCallsAtATimeAreLimited(t *testing.T) {
	bridge := newParked()
	w, alice := ofTier(t, func(t *quota.Tier) { t.ConcurrentCalls = 1 }, bridge.serve)
	first := w.begin(w.request("POST", "/u/alice/mcp", alice, rpcRequest))
	<-bridge.came
	got := w.do(w.request("POST", "/u/alice/mcp", alice, rpcRequest))
	if got.status != 429 || !strings.Contains(got.body, `"code":"too_many_calls","retryAfterSeconds":1,"policy":"calls","retryAfterMs":1000,"limit":1,"remaining":0}`) || got.header.Get("Retry-After") != "1" {
		t.Errorf("a second call: %d %s, Retry-After %s", got.status, got.body, got.header.Get("Retry-After"))
	}
	// The first may wait for what its client answers.
	for _, body := range []string{rpcNotification, rpcResponse} {
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, body)); got.status != 200 {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
		<-bridge.came
	}
	close(bridge.end)
	if status := <-first; status != 200 {
		t.Errorf("the first call: %d", status)
	}
	// A client that goes on at once is not refused for the call that just ended.
	for i := range 20 {
		if got := w.do(w.request("POST", "/u/alice/mcp", alice, rpcRequest)); got.status != 200 {
			t.Fatalf("call %d: %d %s", i, got.status, got.body)
		}
		<-bridge.came
	}
}

func TestStreamsAtATimeAreLimited(t *testing.T) {
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`
	for _, test := range []struct{ name, method, path, body string }{
		{"of a session", "GET", "/mcp", ""},
		{"of the old transport", "GET", "/sse", ""},
		{"of the newest version", "POST", "/mcp", listen},
	} {
		t.Run(test.name, func(t *testing.T) {
			bridge := newParked()
			w, alice := ofTier(t, func(t *quota.Tier) { t.Streams, t.ConcurrentCalls = 1, 1 }, bridge.serve)
			first := w.begin(w.request(test.method, "/u/alice"+test.path, alice, test.body))
			<-bridge.came
			got := w.do(w.request("GET", "/u/alice/mcp", alice, ""))
			if got.status != 429 || !strings.Contains(got.body, `"code":"too_many_streams"`) || !strings.Contains(got.body, `"limit":1,"remaining":0`) {
				t.Errorf("a second stream: %d %s", got.status, got.body)
			}
			if got := w.do(w.request("POST", "/u/alice/mcp", alice, listen)); got.status != 200 || !strings.Contains(got.body, "too_many_streams") {
				t.Errorf("a second stream of the newest version: %d %s", got.status, got.body)
			}
			call := w.begin(w.request("POST", "/u/alice/mcp", alice, rpcRequest))
			<-bridge.came // A call beside the stream reaches the bridge.
			close(bridge.end)
			if status := <-first; status != 200 {
				t.Errorf("the stream: %d", status)
			}
			if status := <-call; status != 200 {
				t.Errorf("the call: %d", status)
			}
		})
	}
}

func TestAClientThatLeavesGivesItsSlotBack(t *testing.T) {
	bridge := newParked()
	w, alice := ofTier(t, func(t *quota.Tier) { t.Streams = 1 }, bridge.serve)
	r := w.request("GET", "/u/alice/mcp", alice, "")
	conn := w.open("GET /u/alice/mcp HTTP/1.1\r\nHost: x\r\nAuthorization: " + r.Header.Get("Authorization") + "\r\n\r\n")
	<-bridge.came
	_ = conn.Close()
	for deadline := time.Now().Add(wait.Limit); ; {
		second := w.begin(w.request("GET", "/u/alice/mcp", alice, ""))
		select {
		case <-bridge.came:
			close(bridge.end)
			if status := <-second; status != 200 {
				t.Errorf("the second stream: %d", status)
			}
			return
		case status := <-second:
			if status != 429 || time.Now().After(deadline) {
				t.Fatalf("the second stream: %d", status)
			}
		}
	}
}

func TestATierThatDoesNotExistAllowsNothing(t *testing.T) {
	asked := 0
	w, alice := oneUser(t, defaults(), func(http.ResponseWriter, *http.Request) { asked++ })
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "platinum" })
	for _, test := range []struct{ method, path, body string }{
		{"POST", "/mcp", rpcRequest}, {"GET", "/mcp", ""}, {"DELETE", "/mcp", ""}, {"GET", "/sse", ""}, {"POST", "/sse?sessionid=s", rpcRequest},
	} {
		got := w.do(w.request(test.method, "/u/alice"+test.path, alice, test.body))
		if got.status != 409 || !strings.Contains(got.body, "tier_unknown") || !strings.Contains(got.body, `platinum`) || !strings.Contains(got.body, testTier+".") {
			t.Errorf("%s %s: %d %s", test.method, test.path, got.status, got.body)
		}
	}
	for _, path := range []string{"/health", "/secrets"} {
		if got := w.do(w.request("GET", "/u/alice"+path, alice, "")); got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if asked != 0 {
		t.Errorf("the bridge was asked %d times", asked)
	}
	// An administrator adds the tier, and nobody restarts anything.
	w.setTiers(quota.Tiers{"platinum": testTiers()[testTier]})
	if got := w.do(w.request("POST", "/u/alice/mcp", alice, rpcRequest)); got.status != 200 {
		t.Errorf("with the tier: %d %s", got.status, got.body)
	}
}

func TestATierLimitsBodies(t *testing.T) {
	size := func(n int32) func(*quota.Tier) { return func(t *quota.Tier) { t.MaxBodyBytes = &n } }
	for _, test := range []struct {
		name   string
		change func(*quota.Tier)
		most   int
	}{
		{"smaller than usual", size(1000), 1000},
		{"as usual", func(*quota.Tier) {}, 4 << 20},
		{"not more than the part of the memory that one user may take", size(16 << 20), 16 << 20 / limits.UserShare},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, alice := ofTier(t, test.change, servedBy("alice"))
			message := func(n int) string {
				frame := `{"jsonrpc":"2.0","method":"x","params":""}`
				return strings.Replace(frame, `""`, `"`+strings.Repeat("a", n-len(frame))+`"`, 1)
			}
			if got := w.do(w.request("POST", "/u/alice/mcp", alice, message(test.most))); got.status != 200 {
				t.Errorf("%d bytes: %d %s", test.most, got.status, got.body)
			}
			got := w.do(w.request("POST", "/u/alice/mcp", alice, message(test.most+1)))
			if want := fmt.Sprintf("limited to %d bytes", test.most); got.status != 413 || !strings.Contains(got.body, want) {
				t.Errorf("a byte more: %d %s, want %s", got.status, got.body, want)
			}
		})
	}
}
