// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestStatusFollowsProbes(t *testing.T) {
	const ok, bad = "", "connection refused"
	tests := map[string]struct {
		probes   []string
		status   Status
		failures int
		since    int // the index of the probe that changed the status, -1 for none
	}{
		"no probe yet":                                 {nil, Connecting, 0, -1},
		"one success makes it healthy":                 {[]string{ok}, Healthy, 0, 0},
		"a later success keeps the time of the change": {[]string{ok, ok}, Healthy, 0, 0},
		"two failures leave it connecting":             {[]string{bad, bad}, Connecting, 2, -1},
		"three failures make it unhealthy":             {[]string{bad, bad, bad}, Unhealthy, 3, 2},
		"two failures leave it healthy":                {[]string{ok, bad, bad}, Healthy, 2, 0},
		"three failures end its health":                {[]string{ok, bad, bad, bad}, Unhealthy, 3, 3},
		"a success in between starts the count again":  {[]string{ok, bad, bad, ok, bad, bad}, Healthy, 2, 0},
		"one success recovers":                         {[]string{bad, bad, bad, bad, ok}, Healthy, 0, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := New(start.Add(-time.Minute))
			for i, failure := range tt.probes {
				s = s.After(Probe{At: start.Add(time.Duration(i) * time.Minute), Failure: failure, Tools: 3})
			}
			since := start.Add(time.Duration(tt.since) * time.Minute)
			if s.Status != tt.status || s.Failures != tt.failures || !s.Since.Equal(since) {
				t.Errorf("got %s after %d failures since %s, want %s, %d, %s", s.Status, s.Failures, s.Since, tt.status, tt.failures, since)
			}
		})
	}
}

func TestSummarize(t *testing.T) {
	tests := map[string]struct {
		statuses []Status
		want     Status
	}{
		"no servers is healthy":                         {nil, Healthy},
		"all healthy":                                   {[]Status{Healthy, Healthy}, Healthy},
		"one of two unhealthy is degraded":              {[]Status{Healthy, Unhealthy}, Degraded},
		"one connecting is degraded":                    {[]Status{Healthy, Connecting}, Degraded},
		"all unhealthy":                                 {[]Status{Unhealthy, Unhealthy}, Unhealthy},
		"nothing works yet but something may: degraded": {[]Status{Connecting, Unhealthy}, Degraded},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			servers := map[string]Server{}
			for i, s := range tt.statuses {
				servers[string(rune('a'+i))] = Server{Status: s, Tools: 2}
			}
			got := Summarize(servers)
			if got.Status != tt.want || got.Tools != 2*len(tt.statuses) {
				t.Errorf("got %s with %d tools, want %s with %d", got.Status, got.Tools, tt.want, 2*len(tt.statuses))
			}
		})
	}
}

func TestReportOnTheWire(t *testing.T) {
	s := New(start).After(Probe{At: start, Latency: 12 * time.Millisecond, Tools: 7})
	got := must.Value(json.Marshal(Summarize(map[string]Server{"files": s})))(t)
	want := `{"status":"healthy","tools":7,"servers":{"files":{"status":"healthy","tools":7,"latencyMs":12,"lastCheck":"2026-01-02T03:04:05Z","failures":0,"since":"2026-01-02T03:04:05Z"}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestErrorTextIsBoundedAndStaysUTF8(t *testing.T) {
	s := New(start).After(Probe{At: start, Failure: "x" + strings.Repeat("é", errorLimit)})
	if len(s.Error) > errorLimit || !utf8.ValidString(s.Error) {
		t.Errorf("error of %d bytes, valid UTF-8: %v", len(s.Error), utf8.ValidString(s.Error))
	}
}

func TestAServerThatIsNotReadyHasNotFailed(t *testing.T) {
	waits := New(start).NotReady(start.Add(-time.Minute), "the package is being installed")
	if waits.Status != Connecting || waits.Reason != ReasonNotReady || waits.Error != "the package is being installed" ||
		!waits.Since.Equal(start.Add(-time.Minute)) || waits.Failures != 0 {
		t.Errorf("not ready: %+v", waits)
	}
	if up := waits.After(Probe{At: start, Tools: 1}); up.Status != Healthy || up.Error != "" || up.Reason != "" {
		t.Errorf("once it is there: %+v", up)
	}
}

func TestAFailureThatIsFinalIsUnhealthyAtOnce(t *testing.T) {
	all := []string{strings.Repeat("x", lastLine+1)}
	for range lastLines {
		all = append(all, "line")
	}
	s := New(start).After(Probe{At: start, Failure: "it ended", Final: true, LastLines: all})
	if s.Status != Unhealthy || s.Failures != 1 || !slices.Equal(s.LastLines, all[1:]) {
		t.Errorf("after the failure: %+v", s)
	}
	for what, next := range map[string]Server{
		"a success": s.After(Probe{At: start, Tools: 1}), "another failure": s.After(Probe{At: start, Failure: "refused"}),
		"other secrets": s.InService(start), "being out of service": s.OutOfService(start, "no secret"),
	} {
		if next.LastLines != nil {
			t.Errorf("after %s the last lines are %q", what, next.LastLines)
		}
	}
}

func TestOutOfServiceIsUnhealthyAtOnce(t *testing.T) {
	later := start.Add(time.Minute)
	up := New(start).After(Probe{At: start, Tools: 7})
	down := up.OutOfService(later, "secret TOKEN is not set")
	if down.Status != Unhealthy || down.Tools != 0 || down.Error != "secret TOKEN is not set" || !down.Since.Equal(later) || !down.LastCheck.Equal(later) {
		t.Errorf("out of service: %+v", down)
	}
	if still := down.OutOfService(later.Add(time.Minute), "x"); !still.Since.Equal(later) {
		t.Errorf("the status changed anew at %s", still.Since)
	}
	if back := down.InService(later.Add(time.Minute)); back.Status != Connecting || back.Error != "" || !back.Since.Equal(later.Add(time.Minute)) {
		t.Errorf("back in service: %+v", back)
	}
	if failed := down.After(Probe{At: later, Failure: "refused"}); failed.Status != Unhealthy || failed.Error != "refused" {
		t.Errorf("after a failed attempt: %+v", failed)
	}
	if back := down.After(Probe{At: later, Tools: 7}); back.Status != Healthy || back.Error != "" || back.Tools != 7 {
		t.Errorf("after a success: %+v", back)
	}
}

func TestAReasonEndsWithWhatItIsTheReasonOf(t *testing.T) {
	out := New(start).OutOfService(start, "other tools")
	out.Reason = ReasonToolsChanged
	for what, next := range map[string]Server{
		"another reason": out.OutOfService(start, "secret TOKEN is not set"),
		"being back":     out.InService(start),
		"a failure":      out.After(Probe{At: start, Failure: "refused"}),
		"a success":      out.After(Probe{At: start, Tools: 7}),
	} {
		if next.Reason != "" {
			t.Errorf("after %s the reason is %s", what, next.Reason)
		}
	}
}

func TestTheRevisionOfTheSecretsIsInTheReport(t *testing.T) {
	r := Summarize(nil)
	r.SecretsRevision = "0011223344556677"
	got := must.Value(json.Marshal(r))(t)
	if want := `{"status":"healthy","tools":0,"servers":{},"secretsRevision":"0011223344556677"}`; string(got) != want {
		t.Errorf("report = %s, want %s", got, want)
	}
}
