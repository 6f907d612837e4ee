// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package suspects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/internal/bridge/suspects"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/mcp/client"
	"github.com/hostedbridge/hostedbridge/internal/mcp/rpc"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is that of a container, of which the process uses as much as a test
// says.
type memory struct{ used atomic.Int64 }

const limit = 128 << 20

// watched is a Watch and the records that it has written.
type watched struct {
	*suspects.Watch
	memory
	records chan health.Suspect
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{records: make(chan health.Suspect, 1000)}
	w.Watch = suspects.New(suspects.Options{
		Limit: limit, Used: w.used.Load,
		Write: func(text string) { w.records <- health.ParseSuspect(text) },
	})
	t.Cleanup(w.Stop)
	return w
}

// await waits until the record is that one.
func (w *watched) await(t *testing.T, want health.Suspect) {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		select {
		case got := <-w.records:
			if got == want {
				return
			}
			t.Logf("passing: %+v", got)
		case <-late:
			t.Fatalf("the record never says %+v", want)
		}
	}
}

// call sends the server a request, and returns its answer's body.
func (w *watched) call(t *testing.T, server string, at *httptest.Server, method string) io.ReadCloser {
	t.Helper()
	client := &http.Client{Transport: w.Network(server, at.Client().Transport)}
	verb := http.MethodPost
	if method == "" {
		verb = http.MethodGet
	}
	r := must.Value(http.NewRequestWithContext(t.Context(), verb, at.URL, strings.NewReader("{}")))(t)
	r.Header.Set("Mcp-Method", method)
	resp := must.Value(client.Do(r))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp.Body
}

// halting sends size bytes and then waits for its client to go.
func halting(t *testing.T, size int) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write(bytes.Repeat([]byte{'x'}, size))
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return s
}

func read(t *testing.T, from io.Reader, n int64) {
	t.Helper()
	must.Value(io.CopyN(io.Discard, from, n))(t)
}

func TestTheServerWithMostBytesIsSuspectedWhenMemoryIsShort(t *testing.T) {
	w := newWatched(t)
	small, large := w.call(t, "small", halting(t, 200<<10), "tools/call"), w.call(t, "large", halting(t, 300<<10), "tools/call")
	w.used.Store(limit / 2)
	read(t, small, 200<<10)
	read(t, large, 300<<10)
	w.await(t, health.Suspect{Server: "large", Cause: health.SuspectMemory})
	large.Close()
	// Its bytes may be garbage for a moment. Then those of the other are the most.
	w.await(t, health.Suspect{Server: "small", Cause: health.SuspectMemory})
	small.Close()
	w.await(t, health.Suspect{})
}

// TestAStreamThatFillsTheMemoryIsSuspected is about both forms of a stream on
// which the bridge listens, without a call that waits.
func TestAStreamThatFillsTheMemoryIsSuspected(t *testing.T) {
	for _, method := range []string{"", "subscriptions/listen"} {
		w := newWatched(t)
		w.used.Store(limit)
		stream := w.call(t, "stream", halting(t, 300<<10), method)
		read(t, stream, 300<<10)
		w.await(t, health.Suspect{Server: "stream", Cause: health.SuspectMemory})
		w.await(t, health.Suspect{})
		// It is open still, and does not hide whose call is in flight.
		one := w.call(t, "one", halting(t, 10), "tools/call")
		w.await(t, health.Suspect{Server: "one", Cause: health.SuspectInFlight})
		one.Close()
	}
}

func TestTheOnlyServerWithACallInFlightIsSuspected(t *testing.T) {
	w := newWatched(t)
	one := w.call(t, "one", halting(t, 10), "tools/call")
	w.await(t, health.Suspect{Server: "one", Cause: health.SuspectInFlight})
	other := w.call(t, "other", halting(t, 10), "tools/call")
	w.await(t, health.Suspect{})
	one.Close()
	w.await(t, health.Suspect{Server: "other", Cause: health.SuspectInFlight})
	w.Stop()
	w.await(t, health.Suspect{}) // An end that was asked for has no suspect.
	other.Close()
}

func TestARequestThatFailsIsNotInFlight(t *testing.T) {
	w := newWatched(t)
	refused := &http.Client{Transport: w.Network("refused", &http.Transport{})}
	if _, err := refused.Post("http://127.0.0.1:1", "application/json", strings.NewReader("{}")); err == nil {
		t.Fatal("a server that does not run answers")
	}
	last := w.call(t, "last", halting(t, 10), "tools/call")
	w.await(t, health.Suspect{Server: "last", Cause: health.SuspectInFlight})
	last.Close()
	w.await(t, health.Suspect{})
}

// program is a server whose answers the test gives.
type program struct{ answers chan rpc.Message }

func (p program) dial(context.Context) (client.Stream, error)      { return p, nil }
func (p program) Write(context.Context, http.Header, []byte) error { return nil }
func (p program) Read() (rpc.Message, error)                       { return <-p.answers, nil }
func (p program) Close() error                                     { return nil }

func TestAProgramWithACallInFlightIsSuspected(t *testing.T) {
	w := newWatched(t)
	p := program{answers: make(chan rpc.Message, 1)}
	for name, end := range map[string]func(client.Stream) error{
		"answered": func(c client.Stream) error {
			p.answers <- rpc.Message{ID: json.RawMessage("1"), Result: []byte(`{}`)}
			_, err := c.Read()
			return err
		},
		"closed": client.Stream.Close,
	} {
		c := must.Value(w.Program(name, p.dial)(t.Context()))(t)
		must.Succeed(t, c.Write(t.Context(), nil, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)))
		w.await(t, health.Suspect{Server: name, Cause: health.SuspectInFlight})
		must.Succeed(t, end(c))
		w.await(t, health.Suspect{})
	}
}

func TestTheFileHoldsTheLastRecordAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	if _, _, err := suspects.File(path, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a file is made, which would be another than the kubelet's")
	}
	must.Succeed(t, os.WriteFile(path, nil, 0o600))
	write, closed := must.Values(suspects.File(path, slog.New(slog.DiscardHandler)))(t)
	for _, text := range []string{"a long text", "short", ""} {
		write(text)
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file holds %q, want %q (%v)", got, text, err)
		}
	}
	must.Succeed(t, closed())
}

// BenchmarkACall is what a call to a server costs with and without a Watch.
func BenchmarkACall(b *testing.B) {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(answer)), Request: r}, nil
	})
	for name, w := range map[string]*suspects.Watch{"unwatched": nil, "watched": suspects.New(suspects.Options{Limit: limit, Write: func(string) {}})} {
		b.Run(name, func(b *testing.B) {
			network := w.Network("one", next)
			r := must.Value(http.NewRequestWithContext(b.Context(), http.MethodPost, "http://one.test", nil))(b)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := network.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
		w.Stop()
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
