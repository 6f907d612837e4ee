// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package graceful

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/pipes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get returns the status of one request on a connection of its own, 0 when it
// was not answered.
func get(t *testing.T, l *pipes.Listener, path string) int {
	t.Helper()
	transport := &http.Transport{DialContext: l.Dial, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://pipe"+path, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0
	}
	return res.StatusCode
}

// running is a service whose public handler holds requests until they are
// released.
type running struct {
	public, probes *pipes.Listener
	release        chan struct{}
	stop           context.CancelFunc
	ended          chan error
	drained        time.Time // when streams were to end
}

func run(t *testing.T) *running {
	t.Helper()
	r := &running{public: pipes.New(), probes: pipes.New(), release: make(chan struct{}), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r.stop = cancel
	log := slog.New(slog.DiscardHandler)
	ready := &Readiness{Check: func() bool { return true }}
	handler := func(w http.ResponseWriter, req *http.Request) {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.release:
		case <-req.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	s := &Service{
		Public: []Endpoint{{
			Server: &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Second}, Listener: r.public,
			OnDrain: func() { r.drained = time.Now() },
		}},
		Probes:     Endpoint{Server: NewProbes(ready, prometheus.NewRegistry(), log), Listener: r.probes},
		Readiness:  ready,
		DrainDelay: 5 * time.Second, DrainTimeout: 20 * time.Second,
		Log: log,
	}
	go func() { r.ended <- s.Serve(ctx) }()
	return r
}

// start sends a request and returns where its status will come.
func (r *running) start(t *testing.T) <-chan int {
	status := make(chan int, 1)
	go func() { status <- get(t, r.public, "/") }()
	synctest.Wait()
	return status
}

func TestADrainLosesNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		if got := get(t, r.probes, "/readyz"); got != http.StatusOK {
			t.Fatalf("/readyz answers %d before the drain", got)
		}
		early := r.start(t)
		begun := time.Now()
		r.stop()
		synctest.Wait()
		if got := get(t, r.probes, "/readyz"); got != http.StatusServiceUnavailable {
			t.Errorf("/readyz answers %d in the drain", got)
		}
		late := r.start(t)
		time.Sleep(10 * time.Second)
		if got := <-r.start(t); got != 0 {
			t.Errorf("a request after the delay is answered with %d", got)
		}
		if got := get(t, r.probes, "/healthz"); got != http.StatusOK {
			t.Errorf("/healthz answers %d in the drain", got)
		}
		close(r.release)
		if a, b := <-early, <-late; a != http.StatusOK || b != http.StatusOK {
			t.Errorf("requests in flight are answered with %d and %d", a, b)
		}
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if after := r.drained.Sub(begun); after != 5*time.Second {
			t.Errorf("streams are to end after %s, want the delay", after)
		}
		if took := time.Since(begun); took > 12*time.Second {
			t.Errorf("the drain goes on for %s with nothing left to wait for", took)
		}
	})
}

// TestARequestBehindALongAnswerIsTaken is of a connection that nobody told to
// close: its answer began before the drain and ends in it.
func TestARequestBehindALongAnswerIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		conn := must.Value(r.public.Dial(t.Context(), "", ""))(t)
		defer conn.Close()
		from := bufio.NewReader(conn)
		ask := func() *http.Response {
			must.Value(io.WriteString(conn, "GET / HTTP/1.1\r\nHost: pipe\r\n\r\n"))(t)
			return must.Value(http.ReadResponse(from, nil))(t)
		}
		first := ask()
		r.stop()
		time.Sleep(10 * time.Second) // Connections are no longer accepted.
		close(r.release)
		if _, err := io.Copy(io.Discard, first.Body); err != nil || first.Close {
			t.Fatalf("the first answer closes: %v, error %v", first.Close, err)
		}
		time.Sleep(quietFor / 2)
		second := ask()
		if _, err := io.Copy(io.Discard, second.Body); err != nil || second.StatusCode != http.StatusOK || !second.Close {
			t.Errorf("the request behind it: %d, closes %v, error %v", second.StatusCode, second.Close, err)
		}
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestADrainEndsWithItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		stuck := r.start(t)
		begun := time.Now()
		r.stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 25*time.Second {
			t.Errorf("the drain took %s, want delay and timeout", took)
		}
		if got := <-stuck; got != 0 {
			t.Errorf("the stuck request is answered with %d", got)
		}
	})
}

func TestABrokenListenerEndsTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		synctest.Wait()
		r.public.Close()
		if err := <-r.ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v, want the listener's", err)
		}
	})
}

func TestReadinessFollowsTheCheck(t *testing.T) {
	ok := false
	probes := NewProbes(&Readiness{Check: func() bool { return ok }}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)).Handler
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK, http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		probes.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != want {
			t.Errorf("ready is %v and /readyz answers %d", ok, w.Code)
		}
		ok = !ok
	}
}

// TestReadinessIsAMetricToo asks a process that answers scrapes all the while.
func TestReadinessIsAMetricToo(t *testing.T) {
	ok := false
	ready := &Readiness{Check: func() bool { return ok }}
	registry := prometheus.NewRegistry()
	must.Succeed(t, registry.Register(ready.Gauge("gate")))
	probes := NewProbes(ready, registry, slog.New(slog.DiscardHandler)).Handler
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "hostedbridge_gate_ready 0\n"},
		{func() { ok = true }, "hostedbridge_gate_ready 1\n"},
		{func() { ready.draining.Store(true) }, "hostedbridge_gate_ready 0\n"},
	} {
		step.change()
		w := httptest.NewRecorder()
		probes.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("metrics lack %s%s", step.want, w.Body.String())
		}
	}
}
