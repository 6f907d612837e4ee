// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/eventstream"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// recorded is an exchange that writes down what it is told.
func recorded(x *Call) *[]string {
	var notes []string
	x.Ctx = context.Background()
	x.ToClient = func(_ context.Context, method string, params mcp.Params) (mcp.Result, error) {
		b, err := json.Marshal(params)
		if err != nil {
			panic(err)
		}
		notes = append(notes, method+" "+string(b))
		return nil, nil
	}
	return &notes
}

func TestTapReadsEventStreams(t *testing.T) {
	const (
		progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"hb-1","progress":0.5}}`
		message  = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
		answer   = `{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}`
		elicit   = `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}`
		changed  = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	)
	huge := `{"jsonrpc":"2.0","id":1,"result":{"t":"` + strings.Repeat("x", 70_000) + `"}}`
	tests := map[string]struct {
		in     string
		out    string // what the SDK sees; "" for the same
		notes  []string
		result string
	}{
		"a result passes and is kept": {in: "data: " + answer + "\n\n", result: `{"n":12345678901234567890}`},
		"a large result is kept, and the SDK gets none to copy": {
			in: "data: " + huge + "\n\n", out: `data: {"jsonrpc":"2.0","id":1,"result":{}}` + "\n\n", result: huge[strings.Index(huge, `{"t"`) : len(huge)-1],
		},
		"progress goes to the client with the client's token": {
			in: "data: " + progress + "\n\ndata: " + answer + "\n\n", out: "\ndata: " + answer + "\n\n",
			notes: []string{`notifications/progress {"progress":0.5,"progressToken":42}`}, result: `{"n":12345678901234567890}`,
		},
		"the id of an event stays, from which a stream resumes": {
			in: "event: message\nid: s_4\ndata: " + message + "\n\n", out: "event: message\nid: s_4\n\n",
			notes: []string{`notifications/message {"level":"info","data":"x"}`},
		},
		"requests of the server pass with a note": {
			in:  "id: 5\ndata: " + elicit + "\n\n",
			out: "id: 5\n" + `data: {"id":7,"jsonrpc":"2.0","method":"elicitation/create","params":{"_meta":{"hostedbridge.dev/exchange":"9","hostedbridge.dev/id":"7","hostedbridge.dev/passed":"{}"}}}` + "\n\n",
		},
		"list changes pass": {
			in:  "data: " + changed + "\n\n",
			out: `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"hostedbridge.dev/exchange":"9","hostedbridge.dev/passed":""}}}` + "\n\n",
		},
		"what is no JSON passes": {in: "data: nonsense\n\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x := &Call{Serial: "9", Progress: progressToken{Token: 42, Alias: "hb-1"}}
			notes := recorded(x)
			src := io.NopCloser(iotest.OneByteReader(strings.NewReader(tt.in)))
			got, err := io.ReadAll(eventstream.NewReader(src, func(message []byte) []byte {
				return (&HTTPObserver{Questions: &Questions{}}).observe(t.Context(), message, x, nil)
			}))
			if err != nil {
				t.Fatal(err)
			}
			want := tt.out
			if want == "" {
				want = tt.in
			}
			if string(got) != want {
				t.Errorf("the SDK sees %.200q, want %.200q", got, want)
			}
			if diff := cmp.Diff(tt.notes, *notes); diff != "" {
				t.Errorf("notifications (-want +got):\n%s", diff)
			}
			if string(x.Delivery.Result()) != tt.result {
				t.Errorf("result = %.100s, want %.100s", x.Delivery.Result(), tt.result)
			}
		})
	}
}

// answering is a network with one answer.
type answering struct{ *http.Response }

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(*http.Request) (*http.Response, error) { return a.Response, nil }

// answered returns the JSON answer to a call as the SDK gets it.
func answered(t *testing.T, x *Call, resp *http.Response) (*http.Response, error) {
	t.Helper()
	resp.StatusCode, resp.Header = http.StatusOK, http.Header{"Content-Type": {"application/json"}}
	r, err := http.NewRequestWithContext(context.WithValue(t.Context(), CallKey{}, x), http.MethodPost, "http://server", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`))
	if err != nil {
		t.Fatal(err)
	}
	return (&HTTPObserver{Next: answering{resp}, Questions: &Questions{}}).RoundTrip(r)
}

// TestAnAnswerThatIsTooLargeEndsItsRequestAlone has an answer come that is no event stream.
func TestAnAnswerThatIsTooLargeEndsItsRequestAlone(t *testing.T) {
	large := strings.Repeat("x", eventstream.MaxMessage)
	refused := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is larger than %d MiB","data":{"code":"answer_too_large"}}}`, eventstream.MaxMessage>>20)
	t.Run("one message that is no stream", func(t *testing.T) {
		x := &Call{}
		body := io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","result":"` + large + `","id":7}`))
		resp := must.Value(answered(t, x, &http.Response{Body: body, ContentLength: -1}))(t)
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != refused || x.Delivery.Result() != nil {
			t.Errorf("the SDK sees %.300q, %v", got, err)
		}
	})
	t.Run("what is no answer", func(t *testing.T) {
		resp, err := answered(t, &Call{}, &http.Response{Body: io.NopCloser(strings.NewReader(large + "x")), ContentLength: -1})
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, errAnswerTooLarge) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestLogMessagesOfALegacyServerAreFiltered(t *testing.T) {
	tests := map[string]struct {
		level, message string
		want           bool
	}{
		"none without a level": {"", "emergency", false},
		"the level itself":     {"warning", "warning", true},
		"what is more severe":  {"warning", "error", true},
		"not what is less":     {"warning", "info", false},
		"not an unknown level": {"debug", "loud", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x := &Call{Log: LogFilter{Filter: true, Level: tt.level}}
			notes := recorded(x)
			x.Notify(methods.LogMessage, json.RawMessage(`{"level":"`+tt.message+`","data":1}`))
			if got := len(*notes) == 1; got != tt.want {
				t.Errorf("delivered = %v, want %v", got, tt.want)
			}
		})
	}
}
