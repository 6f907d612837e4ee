// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

// results are what the tools of a variety answer, by name.
var results = map[string]string{
	"plain":      `{"content":[{"type":"text","text":"hello"}]}`,
	"failed":     `{"content":[{"type":"text","text":"no"}],"isError":true}`,
	"html":       `{"content":[{"type":"text","text":"<b>&amp;</b> \u003cb\u003e \u2028"}]}`,
	"numbers":    `{"content":[],"structuredContent":{"big":12345678901234567890,"exact":1.10,"small":1e-400}}`,
	"image":      `{"content":[{"type":"image","mimeType":"image/png","data":"aGk="},{"type":"resource_link","uri":"x:y","name":"y"}]}`,
	"meta":       `{"_meta":{"a/b":1.0,"n":12345678901234567890},"content":[{"type":"text","text":"x","_meta":{"c":true}}],"more":{"x":[null]}}`,
	"modern":     `{"resultType":"complete","content":[]}`,
	"no object":  `7`,
	"no content": `{}`,
	"odd":        `{"content":{"type":7},"isError":"yes"}`,
	"twice":      `{"content":[],"content":[{"type":"text","text":"second"}]}`,
	"large":      `{"content":[{"type":"text","text":"` + strings.Repeat("0123456789<>", 30_000) + `"}]}`,
}

// variety is a legacy server with a tool for each kind of answer.
type variety struct {
	streams bool   // whether it answers in event streams
	during  func() // called while a tool is, where it is set

	mu   sync.Mutex
	seen []string
}

// ServeHTTP implements http.Handler.
func (v *variety) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch {
	case m.Method == methodInitialize:
		w.Header().Set("Mcp-Session-Id", "s")
		answerWith(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"variety","version":"1"}}`)
	case m.Method == methodListTools:
		answerWith(w, m, `{"tools":`+v.tools()+`}`)
	case m.Method == methodCallTool:
		v.note(r, body)
		if v.during != nil {
			v.during()
		}
		v.call(w, m)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		answerWith(w, m, `{}`)
	}
}

func (v *variety) tools() string {
	names := []string{"another id", "another version", "a member more", "upside down", "two", "none", "session", "progress", "log", "asks", "slow", "refused", "broken", "unavailable"}
	names = slices.AppendSeq(names, maps.Keys(results))
	slices.Sort(names)
	var tools []map[string]any
	for _, name := range names {
		tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
	}
	b, _ := json.Marshal(tools)
	return string(b)
}

// The id under which the bridge sends a request, and that of its span, are not
// the same both ways.
var (
	upstreamNumber = regexp.MustCompile(`"id":[0-9]+`)
	upstreamSpan   = regexp.MustCompile(`(00-[0-9a-f]{32}-)[0-9a-f]{16}`)
)

// note keeps what is to be the same both ways.
func (v *variety) note(r *http.Request, body []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var header strings.Builder
	_ = r.Header.Write(&header)
	seen := upstreamNumber.ReplaceAllString(string(body), `"id":0`) + "\n" + header.String()
	v.seen = append(v.seen, upstreamSpan.ReplaceAllString(seen, "${1}x"))
}

// calls returns what has come since it was called before.
func (v *variety) calls() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	seen := v.seen
	v.seen = nil
	return seen
}

func answerWith(w http.ResponseWriter, m message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (v *variety) call(w http.ResponseWriter, m message) {
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
	case "slow":
		time.Sleep(3 * expressTime)
		answerWith(w, m, results["plain"])
	case "refused":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"<no>","data":{"x":1.0}}}`, m.ID)
	case "broken":
		panic(http.ErrAbortHandler)
	case "unavailable":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "none":
		w.Header().Set("Content-Type", "text/event-stream")
	default:
		v.oddly(w, m, p.Name)
	}
}

// oddly answers in a form that is not plain, or plainly.
func (v *variety) oddly(w http.ResponseWriter, m message, tool string) {
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, results[tool])
	plain := results["plain"]
	switch tool {
	case "another id":
		text = fmt.Sprintf(`{"jsonrpc":"2.0","id":1234567,"result":%s}`, plain)
	case "another version":
		text = fmt.Sprintf(`{"jsonrpc":"1.0","id":%s,"result":%s}`, m.ID, plain)
	case "a member more":
		text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s,"more":1}`, m.ID, plain)
	case "upside down":
		text = fmt.Sprintf(" { \"result\" : %s , \"id\" : %s , \"jsonrpc\" : \"2.0\" } ", plain, m.ID)
	case "two":
		text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%[1]s,"result":{},"result":%[2]s}`, m.ID, plain)
	case "session":
		w.Header().Set("Mcp-Session-Id", "another")
		text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, plain)
	}
	if !v.streams {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "id: 1\ndata: \n\n: a comment\n\nevent: message\nid: 2\ndata: %s\n\n", text)
}

// sides are two bridges with a session each, of which the second has all go through the SDK.
type sides struct {
	rigs     [2]*rig
	servers  [2]*variety
	sessions [2]string
}

func newSides(t testing.TB, configure func(*config.Config)) *sides {
	t.Helper()
	s := &sides{}
	for i := range s.rigs {
		s.servers[i] = &variety{}
		front := httptest.NewServer(s.servers[i])
		t.Cleanup(front.Close)
		c := config.Config{Servers: []config.Server{{Name: "one", URL: front.URL}}}
		if configure != nil {
			configure(&c)
		}
		s.rigs[i] = newPolicyRig(t, Options{thorough: i == 1}, c)
		awaitLists(t, s.rigs[i].bridge)
		s.sessions[i] = s.rigs[i].session(t)["Mcp-Session-Id"]
	}
	return s
}

// What differs by chance: the ids of events and entries, and how long it took.
var byChance = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^(id: )[A-Z2-7]+(_[0-9]+\.)[A-Z2-7]+`),
	regexp.MustCompile(`(http://127\.0\.0\.1:)[0-9]+()`),
}

// ending is all that there is of one request: its answer, its record, and what its
// server saw.
type ending struct {
	Status   int
	Header   http.Header
	Body     string
	Recorded []audit.Call
	Upstream []string
}

// send sends the request both ways.
func (s *sides) send(t testing.TB, body string, header map[string]string) (got [2]ending) {
	t.Helper()
	for i, r := range s.rigs {
		sent := map[string]string{"Mcp-Session-Id": s.sessions[i], "Mcp-Protocol-Version": "2025-11-25"}
		maps.Copy(sent, header)
		resp, text := r.do(t, "POST", r.url, body, sent)
		for _, chance := range byChance {
			text = chance.ReplaceAllString(text, "${1}x${2}")
		}
		resp.Header.Del("Date")
		got[i] = ending{Status: resp.StatusCode, Header: resp.Header, Body: text, Upstream: s.servers[i].calls()}
		if value := resp.Trailer.Get(audit.TrailerName); value != "" {
			trailer, err := audit.ParseTrailer(value)
			if err != nil {
				t.Fatal(err)
			}
			got[i].Recorded = trailer.Calls
		}
		for j := range got[i].Recorded {
			// Whether the end of a connection is known before the next call goes
			// there, which is then repeated, is chance too.
			got[i].Recorded[j].ID, got[i].Recorded[j].LatencyMS, got[i].Recorded[j].Retries = "", 0, 0
		}
	}
	return got
}

// expressCorpus are bodies for which both ways must do the same.
func expressCorpus() map[string]string {
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`
	}
	corpus := map[string]string{
		"arguments":                call(`{"name":"plain","arguments":{"b":12345678901234567890,"a":[1.10,"<&>",null]}}`),
		"arguments in other types": call(`{"name":"plain","arguments":[1]}`),
		"arguments of null":        call(`{"name":"plain","arguments":null}`),
		"white space":              " {\n\"id\" : \"a-1\" , \"params\" : { \"name\" : \"plain\" } , \"method\":\"tools/call\",\r\n\"jsonrpc\":\"2.0\" } \n",
		"an id of zero":            `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"plain"}}`,
		"a negative id":            `{"jsonrpc":"2.0","id":-5,"method":"tools/call","params":{"name":"plain"}}`,
		"an id with a fraction":    `{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"plain"}}`,
		"a large id":               `{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"name":"plain"}}`,
		"an id of another type":    `{"jsonrpc":"2.0","id":true,"method":"tools/call","params":{"name":"plain"}}`,
		"an empty id":              `{"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"plain"}}`,
		"an id of HTML":            `{"jsonrpc":"2.0","id":"<&>","method":"tools/call","params":{"name":"plain"}}`,
		"no id":                    `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"plain"}}`,
		"no version":               `{"id":7,"method":"tools/call","params":{"name":"plain"}}`,
		"a member more":            `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plain"},"x":1}`,
		"a member twice":           `{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/call","params":{"name":"plain"}}`,
		"a member in capitals":     `{"jsonrpc":"2.0","id":7,"method":"tools/call","Method":"ping","params":{"name":"plain"}}`,
		"an escaped member":        `{"jsonrpc":"2.0","id":7,"m\u0065thod":"tools/call","params":{"name":"plain"}}`,
		"an escaped method":        `{"jsonrpc":"2.0","id":7,"method":"tools\/call","params":{"name":"plain"}}`,
		"a name twice":             call(`{"name":"failed","name":"plain"}`),
		"a name in capitals":       call(`{"NAME":"failed","name":"plain"}`),
		"an escaped name":          call(`{"name":"pl\u0061in"}`),
		"a name of another type":   call(`{"name":7}`),
		"no name":                  call(`{}`),
		"an unknown tool":          call(`{"name":"nobody's","arguments":{}}`),
		"a denied tool":            call(`{"name":"modern"}`),
		"no params":                `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`,
		"params of null":           call(`null`),
		"params that are a list":   call(`[]`),
		"more params":              call(`{"name":"plain","x":{"y":1.0}}`),
		"metadata":                 call(`{"name":"plain","_meta":{"a/b":1.0,"big":12345678901234567890}}`),
		"metadata of another type": call(`{"name":"plain","_meta":[]}`),
		"a trace":                  call(`{"name":"failed","_meta":{"x":"traceparent"}}`),
		"a progress token":         call(`{"name":"progress","_meta":{"progressToken":"p"}}`),
		"a modern version":         call(`{"name":"plain","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`),
		"an escaped version":       call(`{"name":"plain","_meta":{"io.modelcontextprotocol/protocol\u0056ersion":"2026-07-28"}}`),
		"a legacy version":         call(`{"name":"plain","_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`),
		"hops":                     call(`{"name":"plain","_meta":{"hostedbridge.dev/hops":"0123456789abcdef"}}`),
		"malformed hops":           call(`{"name":"plain","_meta":{"hostedbridge.dev/hops":"x"}}`),
		"an answer to a question":  call(`{"name":"plain","requestState":"x","inputResponses":{"a":{}}}`),
		"a task":                   call(`{"name":"plain","task":{"ttl":1000}}`),
		"too deep":                 call(`{"name":"plain","arguments":{"a":` + strings.Repeat("[", 1200) + strings.Repeat("]", 1200) + `}}`),
		"just not too deep":        call(`{"name":"plain","arguments":{"a":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}}`),
		"bytes that are no text":   call("{\"name\":\"plain\",\"arguments\":{\"a\":\"\xff\xfe\"}}"),
		"a control character":      call("{\"name\":\"plain\",\"arguments\":{\"a\":\"\x01\"}}"),
		"more behind it":           call(`{"name":"plain"}`) + ` {}`,
		"a batch":                  `[` + call(`{"name":"plain"}`) + `]`,
		"no JSON":                  `{"jsonrpc"`,
		"nothing":                  ``,
		"another method":           `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`,
		"an unknown method":        `{"jsonrpc":"2.0","id":7,"method":"tools/calls","params":{"name":"plain"}}`,
		"an answer":                `{"jsonrpc":"2.0","id":7,"result":{}}`,
		"a call and an answer":     `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plain"},"result":{}}`,
	}
	for name := range results {
		corpus["an answer: "+name] = call(fmt.Sprintf(`{"name":%q}`, name))
	}
	for _, name := range []string{"log", "slow", "refused", "broken", "unavailable", "another version", "a member more", "upside down", "two", "none", "session"} {
		corpus["an end: "+name] = call(fmt.Sprintf(`{"name":%q}`, name))
	}
	return corpus
}

// TestAnExpressCallIsLikeAnyOther sends the same both ways.
func TestAnExpressCallIsLikeAnyOther(t *testing.T) {
	for name, header := range map[string]map[string]string{
		"the newest version":     nil,
		"the version before":     {"Mcp-Protocol-Version": "2025-06-18"},
		"the first version":      {"Mcp-Protocol-Version": "2025-03-26"},
		"no version":             {"Mcp-Protocol-Version": ""},
		"more headers":           {"Traceparent": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", "Hosted-Bridge-Hops": "0123456789abcdef", "Mcp-Param-X": "1"},
		"an event":               {"Last-Event-Id": "x_1"},
		"a bridge before it":     {"Hosted-Bridge-Record": "1"},
		"who takes what is told": {audit.TrailerName: audit.InStreams},
		"a server that streams":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSides(t, func(c *config.Config) { c.Servers[0].Tools.Deny = []string{"modern"} })
			for _, server := range s.servers {
				server.streams = name == "a server that streams"
			}
			for name, body := range expressCorpus() {
				got := s.send(t, body, header)
				if diff := cmp.Diff(untold(got[1]), untold(got[0])); diff != "" {
					t.Errorf("%s (-SDK +express):\n%s", name, diff)
				}
			}
		})
	}
}

var comments = regexp.MustCompile(`(?m)^: .*\n`)

// untold returns the outcome without what the comments for the ingress say, which has
// ids and times in it.
func untold(o ending) ending {
	o.Body = comments.ReplaceAllString(o.Body, ": told\n")
	return o
}

// FuzzExpress compares both ways for any body.
func FuzzExpress(f *testing.F) {
	for _, body := range expressCorpus() {
		if len(body) < 4096 {
			f.Add(body)
		}
	}
	s := newSides(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		got := s.send(t, body, nil)
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%q (-SDK +express):\n%s", body, diff)
		}
	})
}

// TestExpressCallsAreTaken shows that the comparison compares something.
func TestExpressCallsAreTaken(t *testing.T) {
	s := newSides(t, nil)
	for i, want := range []bool{true, false} {
		r, stays := s.rigs[i], newStays(s.rigs[i].bridge)
		front := httptest.NewServer(stays)
		t.Cleanup(front.Close)
		own := &rig{bridge: r.bridge, url: front.URL, http: r.http}
		header := own.session(t)
		taken := 0
		s.servers[i].during = func() {
			stays.mu.Lock()
			conn := stays.open[header["Mcp-Session-Id"]].conn
			stays.mu.Unlock()
			conn.mu.Lock()
			defer conn.mu.Unlock()
			for _, e := range conn.calls {
				if e != nil {
					taken++
				}
			}
		}
		for range 3 {
			own.do(t, "POST", own.url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plain"}}`, header)
		}
		if (taken == 3) != want {
			t.Errorf("%d of 3 calls were express calls, want all: %v", taken, want)
		}
	}
}

// expressCall is a call of the tool in the test's own server.
func expressCall(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`, id, tool)
}

// reply is an answer to a POST that may still be under way.
type reply struct {
	status int
	body   string
}

// start posts in the background.
func (r *rig) start(t *testing.T, body string, header map[string]string) <-chan reply {
	t.Helper()
	done := make(chan reply, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
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
	r = newPolicyRig(t, Options{}, config.Config{Servers: []config.Server{server}})
	awaitLists(t, r.bridge)
	t.Cleanup(release)
	return r, r.session(t), called, release
}

// TestAnExpressCallCanBeCancelled cancels at once, before the SDK's HTTP would
// have the call by itself.
func TestAnExpressCallCanBeCancelled(t *testing.T) {
	r, header, began, _ := newHanging(t)
	done := r.start(t, expressCall(7, "hang"), header)
	next(t, began, "call")
	r.do(t, "POST", r.url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, header)
	if got := next(t, done, "end of the call"); !strings.Contains(got.body, `"id":7,"error"`) {
		t.Errorf("the call ended with %d %s, want an error", got.status, got.body)
	}
}

// TestAnExpressCallsIdIsNotUsedTwice calls with an id that is in use.
func TestAnExpressCallsIdIsNotUsedTwice(t *testing.T) {
	for name, second := range map[string]string{
		"an express call": expressCall(7, "hang"),
		"an odd one":      `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hang"},"x":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, header, began, release := newHanging(t)
			done := r.start(t, expressCall(7, "hang"), header)
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

var eventID = regexp.MustCompile(`(?m)^id: (.+)$`)

// TestAnExpressCallCanBeResumed breaks the POST once its stream has begun, at
// once and after the SDK's HTTP has taken it, and goes on from its first event.
func TestAnExpressCallCanBeResumed(t *testing.T) {
	for name, delay := range map[string]time.Duration{"at once": 0, "later": 2 * expressTime} {
		t.Run(name, func(t *testing.T) {
			r, header, began, release := newHanging(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(expressCall(7, "hang")))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for name, value := range header {
				req.Header.Set(name, value)
			}
			resp, err := r.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			begun := make([]byte, 512)
			n, err := resp.Body.Read(begun)
			if err != nil {
				t.Fatal(err)
			}
			found := eventID.FindSubmatch(begun[:n])
			if found == nil {
				t.Fatalf("the stream begins with %s", begun[:n])
			}
			next(t, began, "call")
			time.Sleep(delay)
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

// TestALostAnswerOfAnExpressCallIsSentAgain asks for what comes after the first
// event of a call that has ended.
func TestALostAnswerOfAnExpressCallIsSentAgain(t *testing.T) {
	s := newSides(t, nil)
	for i, r := range s.rigs {
		for _, tool := range []string{"plain", "slow", "log"} {
			header := map[string]string{"Mcp-Session-Id": s.sessions[i], "Mcp-Protocol-Version": "2025-11-25"}
			_, first := r.do(t, "POST", r.url, expressCall(7, tool), header)
			id := eventID.FindStringSubmatch(first)
			if id == nil {
				t.Fatalf("%s has no events: %s", tool, first)
			}
			header["Last-Event-Id"] = id[1]
			_, again := r.do(t, "GET", r.url, "", header)
			_, after, _ := strings.Cut(first, "\n\n")
			if again != after {
				t.Errorf("%s: what came after the first event is %q, and again %q", tool, after, again)
			}
		}
	}
}

// TestExpressCallsCrossOthers has a session call in all ways at once.
func TestExpressCallsCrossOthers(t *testing.T) {
	s := newSides(t, nil)
	header := map[string]string{"Mcp-Session-Id": s.sessions[0], "Mcp-Protocol-Version": "2025-11-25"}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for n := range 30 {
				id := worker*1000 + n
				tool := []string{"plain", "progress", "log", "failed", "large", "refused"}[(worker+n)%6]
				body := expressCall(id, tool)
				if n%5 == 0 {
					body = strings.TrimSuffix(body, "}") + `,"x":1}`
				}
				_, answer := s.rigs[0].do(t, "POST", s.rigs[0].url, body, header)
				if string(answerOf(t, answer)["id"]) != fmt.Sprint(id) {
					t.Errorf("call %d of %s is answered with %.200s", id, tool, answer)
				}
			}
		})
	}
	all.Wait()
}

// TestAnIdIsFreeOnceItsAnswerIsThere looks for the call of an answer when
// somebody has the answer.
func TestAnIdIsFreeOnceItsAnswerIsThere(t *testing.T) {
	id, err := jsonrpc.MakeID(7.0)
	if err != nil {
		t.Fatal(err)
	}
	c := &askingConn{calls: map[jsonrpc.ID]*express{}}
	for range 1000 {
		e := newExpress(id)
		e.answer = make(chan jsonrpc.Message) // Who takes the answer runs before who gave it.
		if !c.admit(e) {
			t.Fatal("the id is in use")
		}
		done := make(chan bool)
		go func() { done <- c.leave(t.Context(), &jsonrpc.Response{ID: id}) }()
		<-e.answer
		if next := newExpress(id); !c.admit(next) {
			t.Fatal("the id is in use after its answer")
		}
		c.leave(t.Context(), &jsonrpc.Response{ID: id})
		if !<-done {
			t.Fatal("the answer is the SDK's")
		}
	}
}

// TestWhoAsksForAnAnswerWaitsUntilItIsKept asks for the rest of a stream whose
// answer is taken and cannot be found yet.
func TestWhoAsksForAnAnswerWaitsUntilItIsKept(t *testing.T) {
	id, err := jsonrpc.MakeID(7.0)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, e := &askingConn{calls: map[jsonrpc.ID]*express{}}, newExpress(id)
		if !c.admit(e) || !c.leave(t.Context(), &jsonrpc.Response{ID: id}) {
			t.Fatal("it is no express call")
		}
		found := make(chan string, 1)
		go func() { found <- c.current(t.Context(), "stream_0") }()
		synctest.Wait()
		if len(found) > 0 {
			t.Error("the stream is looked for before its answer is kept")
		}
		c.dismiss(e)
		if got := <-found; got != "stream_0" {
			t.Errorf("the event is %s", got)
		}
	})
}
