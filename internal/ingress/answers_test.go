// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/stalled"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// unread is stalled.Ask of the ingress. The connection stays open until the test ends.
func (w *world) unread(n int, fields ...string) map[int]int {
	w.t.Helper()
	conn := w.dial()
	w.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	return must.Value(stalled.Ask(conn, n, fields...))(w.t)
}

// serveTools has alice's bridge list as many bytes of tools as a list may have, whose
// descriptions are this character.
func (w *world) serveTools(character string) {
	tool := `{"name":"must_%d","server":"must","tool":"t%d","description":"` + strings.Repeat(character, 1000/len(character)) + `"},`
	var list strings.Builder
	list.WriteString(`{"tools":[`)
	for i := 0; list.Len() < 3<<20; i++ {
		fmt.Fprintf(&list, tool, i, i)
	}
	text := strings.TrimSuffix(list.String(), ",") + `]}`
	w.servers[hosts[0]].Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, text) })
}

// TestAnswersThatAUserDoesNotReadTakeNoMoreThanTheirShare asks for lists that a hostile
// server made as long as they can be, and reads none.
func TestAnswersThatAUserDoesNotReadTakeNoMoreThanTheirShare(t *testing.T) {
	for name, character := range map[string]string{"of a hostile server": `\"`, "of a broken-into bridge": "<"} {
		t.Run(name, func(t *testing.T) {
			alone(t) // The heap is the process's.
			w, alice, bob := selfWorld(t)
			w.serveTools(character)
			before := heapInUse()
			statuses := w.unread(90, http2Request("GET", "/u/alice/tools?limit=200", alice)...)
			const share = limits.MaxAnswers / limits.AnswerShare
			if held := w.server.router.bounds.memory.Answers.Held(); held > share || statuses[http.StatusServiceUnavailable] == 0 || statuses[http.StatusOK] == 0 {
				t.Errorf("%d bytes are reserved, %d is the share; %v", held, int64(share), statuses)
			}
			if grown := int64(heapInUse()) - int64(before); grown > 2*share {
				t.Errorf("the heap has grown by %d KiB", grown>>10)
			}
			if got := w.do(w.request("GET", "/u/bob/servers", bob, "")); got.status != http.StatusOK {
				t.Errorf("another user: %d %s", got.status, got.body)
			}
		})
	}
}

// TestNothingThatABridgeSendsGrows compares the answer with what the bridge sent for it.
func TestNothingThatABridgeSendsGrows(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, _ := selfWorld(t)
		w.serveTools("<")
		_, tools, text := ask[selfservice.Tools](w, "GET", "/tools?limit=200", alice, "")
		if len(tools.Tools) != 200 || len(text) > 250<<10 || !strings.Contains(text, "<<<") {
			t.Errorf("%d tools in %d KiB: %.300s", len(tools.Tools), len(text)>>10, text)
		}
	})
}

func TestToolsComeInPages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, _ := selfWorld(t)
		w.serveTools("x")
		seen := map[string]bool{}
		cursor, pages := "", 0
		for {
			_, page, text := ask[selfservice.Tools](w, "GET", "/tools?limit=200"+cursor, alice, "")
			for _, tool := range page.Tools {
				seen[tool.Name] = true
			}
			if len(page.Missing) > 0 != (pages == 0) {
				t.Errorf("page %d misses %v", pages, page.Missing)
			}
			if pages++; page.Next == "" {
				if len(page.Tools) == 0 {
					t.Errorf("the last page is empty: %.300s", text)
				}
				break
			}
			cursor = "&cursor=" + page.Next
		}
		if pages < 10 || len(seen) < 200*(pages-1)+1 {
			t.Errorf("%d pages have %d tools", pages, len(seen))
		}
		if _, page, text := ask[selfservice.Tools](w, "GET", "/tools?search=MUST_70&limit=3", alice, ""); len(page.Tools) != 3 || page.Tools[0].Name != "must_70" || page.Next == "" {
			t.Errorf("a search: %.300s", text)
		}
		for _, query := range []string{"limit=0", "limit=201", "limit=a", "cursor=a", "cursor=-1", "search=", "other=1", "limit=1&limit=2"} {
			if status, _, text := ask[selfservice.Tools](w, "GET", "/tools?"+query, alice, ""); status != http.StatusBadRequest || !strings.Contains(text, `"query_invalid"`) {
				t.Errorf("%s: %d %s", query, status, text)
			}
		}
	})
}

// TestAUsersBridgeIsAskedForToolsOnceAtATime has a bridge that does not answer.
func TestAUsersBridgeIsAskedForToolsOnceAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, _ := selfWorld(t)
		asked := make(chan struct{}, 10)
		w.servers[hosts[0]].Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-r.Context().Done()
		})
		answers := make(chan reply, 3)
		for range cap(answers) {
			go func() { answers <- w.do(w.request("GET", "/u/alice/tools", alice, "")) }()
		}
		synctest.Wait()
		if len(asked) != 1 {
			t.Errorf("the bridge is asked %d times at once", len(asked))
		}
		for range cap(answers) {
			if got := <-answers; got.status != http.StatusServiceUnavailable && (got.status != http.StatusOK || !strings.Contains(got.body, `"known":false`)) {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
	})
}

// behindProxy is the configuration of a world in which clients say where they are.
func behindProxy() Config {
	config := defaults()
	config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return config
}

// TestAStrangersUnreadAnswersLeaveRoomForOthers has one source not read what anyone may ask.
func TestAStrangersUnreadAnswersLeaveRoomForOthers(t *testing.T) {
	for name, test := range map[string]struct {
		path, key string
		status    int
	}{
		"what anyone may read": {"/recipes", "", http.StatusOK},
		"a refusal":            {"/u/nobody/mcp", "", http.StatusUnauthorized},
		"no such path":         {"/nothing", "", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, behindProxy())
			alice := w.addUser("alice")
			const share = limits.MaxStrangerRequests / 16
			fields := append(http2Request("GET", test.path, ""), "x-forwarded-for", "198.51.100.1")[:8]
			fields = append(fields, "x-forwarded-for", "198.51.100.1")
			statuses := w.unread(share+50, fields...)
			if statuses[test.status] != share || statuses[http.StatusServiceUnavailable] != 50 {
				t.Errorf("%v", statuses)
			}
			r := w.request("GET", test.path, "", "")
			r.Header.Set("X-Forwarded-For", "198.51.100.2")
			if got := w.do(r); got.status != test.status {
				t.Errorf("another source: %d %s", got.status, got.body)
			}
			r = w.request("GET", "/u/alice/servers", alice, "")
			r.Header.Set("X-Forwarded-For", "198.51.100.1")
			if got := w.do(r); got.status != http.StatusOK {
				t.Errorf("a user of the same source: %d %s", got.status, got.body)
			}
		})
	}
}

// TestKnownCallersAreNoStrangers counts none of a user's calls, also while they run.
func TestKnownCallersAreNoStrangers(t *testing.T) {
	var w *world
	w, alice := oneUser(t, defaults(), func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(rw, w.server.router.bounds.memory.Requests.Held())
	})
	for _, method := range []string{"POST", "GET", "DELETE"} {
		body := ""
		if method == "POST" {
			body = toolCall
		}
		if got := w.do(w.request(method, "/u/alice/mcp", alice, body)); got.status != http.StatusOK || got.body != "0" {
			t.Errorf("%s: %d, %s strangers", method, got.status, got.body)
		}
	}
}

// holders is a feature whose keys are the names of their holders, and which takes large
// bodies.
func holders() httpapi.Feature {
	const most = 4 << 20
	return httpapi.Feature{Name: "holders", MaxPath: 100, Routes: []httpapi.Route{
		{Method: http.MethodPost, Path: "/held", Access: httpapi.Keyed, MaxBody: most, Handle: func(c httpapi.Call) error {
			if err := c.LimitRate(c.Key()); err != nil {
				return err
			}
			_, err := c.Body()
			return err
		}},
		{Method: http.MethodPost, Path: "/admin/held", Access: httpapi.Admin, MaxBody: most, Handle: func(c httpapi.Call) error {
			_, err := c.Body()
			return err
		}},
	}}
}

// TestTheBodiesOfOneProgramLeaveRoomForOthersAndAdministrators declares large bodies, first
// without sending them, and then sends all but their ends.
func TestTheBodiesOfOneProgramLeaveRoomForOthersAndAdministrators(t *testing.T) {
	w := newWorldWith(t, defaults(), func(d *Deps) { d.Features = []httpapi.Feature{holders()} })
	post := func(path, key string) reply {
		r := w.request("POST", path, key, `"a"`)
		r.Header.Set("Content-Type", "application/json")
		return w.do(r)
	}
	const declared = 4 << 20
	header := fmt.Sprintf("POST /held HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer evil\r\nContent-Length: %d\r\n\r\n", declared)
	var slow []net.Conn
	programs := w.server.router.bounds.memory.Programs
	for range 8 {
		slow = append(slow, w.open(header+strings.Repeat("x", 300)))
	}
	eventually(t, func() bool { return programs.Held() >= 8*firstRead })
	if held := programs.Held(); held > 8*(firstRead+defaultAnswer) {
		t.Errorf("%d bytes are reserved, and next to nothing has come", held)
	}
	if got := post("/held", "evil"); got.status != http.StatusOK {
		t.Errorf("another request of the program itself: %d %s", got.status, got.body)
	}
	for _, conn := range slow {
		go func() { _, _ = io.WriteString(conn, strings.Repeat("x", declared-301)) }()
	}
	eventually(t, func() bool { return programs.Held() > limits.MaxPrograms/8 })
	for key, path := range map[string]string{"good": "/held", adminKey: "/admin/held"} {
		if got := post(path, key); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if held := programs.Held(); held > limits.MaxPrograms/4 {
		t.Errorf("one program holds %d bytes", held)
	}
	for _, conn := range slow {
		_ = conn.Close()
	}
	eventually(t, func() bool { return programs.Held() == 0 })
}

// TestATriedToolTakesTheMemoryOfItsUser has a user try tools whose answers may be long.
func TestATriedToolTakesTheMemoryOfItsUser(t *testing.T) {
	const most = limits.MaxAnswers/limits.AnswerShare/2 + 1
	asked, end := make(chan struct{}, 2), make(chan struct{})
	feature := httpapi.Feature{Name: "trying", MaxPath: 100, Params: map[string]httpapi.Param{"userId": {Form: "[a-z]+"}}, Routes: []httpapi.Route{
		{Method: http.MethodGet, Path: "/u/:userId/try", Access: httpapi.User, Handle: func(c httpapi.Call) error {
			x := c.Exchange(httpapi.RPC{Method: "tools/list", Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), Keep: most})
			_, err := fmt.Fprintf(c.Writer(), "%d %s", x.Status, x.Body)
			return err
		}},
	}}
	w := newWorldWith(t, defaults(), func(d *Deps) { d.Features = []httpapi.Feature{feature} })
	alice := w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-end
	})
	w.setPod("alice", "pod-alice", hosts[0])
	first := make(chan reply)
	go func() { first <- w.do(w.request("GET", "/u/alice/try", alice, "")) }()
	<-asked
	if got := w.do(w.request("GET", "/u/alice/try", alice, "")); !strings.HasPrefix(got.body, "503 ") || !strings.Contains(got.body, `"busy"`) {
		t.Errorf("a second one meanwhile: %s", got.body)
	}
	close(end)
	if got := <-first; !strings.HasPrefix(got.body, "200 ") || len(asked) > 0 {
		t.Errorf("the first one: %s", got.body)
	}
}

// TestAnswersCountAsWhatTheyAre has an answer that is larger than its route says.
func TestAnswersCountAsWhatTheyAre(t *testing.T) {
	const size = 1 << 20
	large := httpapi.Feature{Name: "large", MaxPath: 100, Routes: []httpapi.Route{
		{Method: http.MethodGet, Path: "/u/:userId/large", Access: httpapi.User, Handle: func(c httpapi.Call) error {
			_, err := c.Writer().Write(make([]byte, size))
			return err
		}},
	}, Params: map[string]httpapi.Param{"userId": {Form: "[a-z]+"}}}
	w := newWorldWith(t, defaults(), func(d *Deps) { d.Features = []httpapi.Feature{large} })
	alice := w.addUser("alice")
	const fit = limits.MaxAnswers / limits.AnswerShare / 2 / size
	statuses := map[int]int{}
	for range fit + 1 {
		for status := range w.unread(1, http2Request("GET", "/u/alice/large", alice)...) {
			statuses[status]++
		}
	}
	if statuses[http.StatusOK] != fit || statuses[problems.Busy.Status] != 1 {
		t.Errorf("%v", statuses)
	}
}
