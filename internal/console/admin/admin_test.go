// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/test/must"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// Of a page for administrators nobody needs to be told to ask one.
func TestPagesNameTheContactOfTheInstallationAlone(t *testing.T) {
	for contact, want := range map[string]bool{"ask@example.com": true, "": false} {
		c := core{Options: Options{Look: console.Look{Contact: contact}}, templates: parsePages()}
		w := httptest.NewRecorder()
		must.Succeed(t, c.write(w, "message", http.StatusOK, &message{Text: "It is done."}))
		if got := w.Body.String(); strings.Contains(got, "Questions? Ask "+contact+".") != want || strings.Contains(got, "an administrator") {
			t.Errorf("with the contact %q: %s", contact, got)
		}
	}
}

func TestAnAxisEndsAtAValueThatIsEasyToRead(t *testing.T) {
	for top, want := range map[float64]float64{0: 1, 1: 1, 1.5: 2, 2: 2, 4: 5, 6: 10, 158: 200, 201: 500, 900: 1000, 1_234_567: 2_000_000} {
		if got := niceTop([]float64{0, top}, nil); got != want {
			t.Errorf("values up to %g: %g, want %g", top, got, want)
		}
	}
}

func TestAChartHasTheFiguresOfTheTable(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	calls := func(ok, failed, p50, p95 int64) overview.Figures {
		return overview.FiguresOf(audit.Calls{ByStatus: map[audit.Status]int64{audit.Success: ok, audit.Timeout: failed}, Latency: audit.Latency{P50: p50, P95: p95}})
	}
	a := overview.Analytics{From: start, To: start.Add(2 * time.Hour), CallFigures: &overview.CallFigures{
		Calls: calls(150, 50, 40, 90), Step: "hour",
		Steps: []overview.StepFigures{{Start: start, Figures: calls(50, 50, 20, 100), Users: 3}, {Start: start.Add(time.Hour), Figures: calls(100, 0, 50, 50), Users: 5}},
	}}
	want := []chart{
		{
			ID: "calls", Title: "Calls in each hour", Summary: "200 calls in all, at most 100 in one hour.", Top: "100", From: "1 Mar 00:00", To: "1 Mar 02:00 UTC",
			Lines: []line{{Class: "first", Points: "150.0,0.0 450.0,0.0", Area: "150.0,120 150.0,0.0 450.0,0.0 450.0,120"}},
		},
		{
			ID: "people", Title: "People who called in each hour", Summary: "At most 5 in one hour. A person who called twice is counted once.", Top: "5", From: "1 Mar 00:00", To: "1 Mar 02:00 UTC",
			Lines: []line{{Class: "first", Points: "150.0,48.0 450.0,0.0", Area: "150.0,120 150.0,48.0 450.0,0.0 450.0,120"}},
		},
		{
			ID: "errors", Title: "Calls that failed, of those that were let through", Summary: "25.0 % of all calls failed, at most 50.0 % in one hour.", Top: "50 %",
			From: "1 Mar 00:00", To: "1 Mar 02:00 UTC", Bars: []bar{{X: "45.0", Y: "0.0", Width: "210.0", Height: "120.0"}},
		},
		{
			ID: "latency", Title: "Time that calls took", Summary: "Half of the calls took at most 40 ms, and 95 % at most 90 ms.", Top: "100 ms", From: "1 Mar 00:00", To: "1 Mar 02:00 UTC",
			Lines: []line{{Class: "first", Label: "half of the calls", Points: "150.0,96.0 450.0,60.0"}, {Class: "second", Label: "95 % of the calls", Points: "150.0,0.0 450.0,60.0"}},
		},
	}
	if diff := cmp.Diff(want, chartsOf(a)); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
}

func TestAChartOfNothingHasNoLine(t *testing.T) {
	for _, c := range chartsOf(overview.Analytics{CallFigures: &overview.CallFigures{Step: "day"}}) {
		for _, l := range c.Lines {
			if l.Points != "" || l.Area != "" {
				t.Errorf("%s: %+v", c.ID, l)
			}
		}
		if len(c.Bars) > 0 {
			t.Errorf("%s: %+v", c.ID, c.Bars)
		}
	}
}

func TestAReasonIsReadAsWords(t *testing.T) {
	for reason, want := range map[string]string{
		"CredentialsRefused": "Credentials refused", "Ready": "Ready", "UserIDConflict": "User ID conflict", "name_not_resolved": "name not resolved", "": "",
	} {
		if got := overview.Words(reason); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
	}
}

func TestNumbersArePartedByThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567"} {
		if got := number(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestARecipeThatNeedsSomebodyIsToldFromOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		entry catalog.Entry
		word  string
		class string
	}{
		"accepted":                   {catalog.Entry{Accepted: true}, "Accepted", "ok"},
		"refused":                    {catalog.Entry{Refused: "why"}, "Refused", "bad"},
		"a refused version":          {catalog.Entry{Accepted: true, Refused: "why"}, "New version refused", "bad"},
		"not checked yet":            {catalog.Entry{}, "Waits for its check", "start"},
		"a signature withdrawn":      {catalog.Entry{Accepted: true, Versions: []catalog.Version{{Withdrawn: true}}}, "Signature withdrawn", "bad"},
		"deprecated":                 {catalog.Entry{Accepted: true, Deprecated: &catalog.Deprecation{}}, "Deprecated", "warn"},
		"one that cannot run here":   {catalog.Entry{Accepted: true, Here: &catalog.Here{Why: "why"}}, "Cannot run here", "warn"},
		"one that runs here":         {catalog.Entry{Accepted: true, Here: &catalog.Here{Runs: true}}, "Accepted", "ok"},
		"deprecated, and not usable": {catalog.Entry{Accepted: true, Deprecated: &catalog.Deprecation{}, Here: &catalog.Here{}}, "Deprecated", "warn"},
	} {
		if got := rowOf(tt.entry); got.Look.Word != tt.word || got.Look.Class != tt.class {
			t.Errorf("%s: %+v", name, got.Look)
		}
	}
}

func TestAConditionIsGoodOrNot(t *testing.T) {
	for _, tt := range []struct {
		kind   string
		status metav1.ConditionStatus
		word   string
		class  string
	}{
		{v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready: yes", "ok"},
		{v1alpha1.ConditionReady, metav1.ConditionFalse, "Ready: no", "warn"},
		{v1alpha1.ConditionReady, metav1.ConditionUnknown, "Ready: not known", "off"},
		{v1alpha1.ConditionConflicting, metav1.ConditionFalse, "Conflicting: no", "ok"},
		{v1alpha1.ConditionConflicting, metav1.ConditionTrue, "Conflicting: yes", "warn"},
		{v1alpha1.ConditionProgressing, metav1.ConditionFalse, "Progressing: no", "ok"},
		{v1alpha1.ConditionProgressing, metav1.ConditionTrue, "Progressing: yes", "start"},
	} {
		if got := conditionOf(metav1.Condition{Type: tt.kind, Status: tt.status}); got.Word != tt.word || got.Class != tt.class {
			t.Errorf("%s %s looks as %+v", tt.kind, tt.status, got)
		}
	}
}

func TestALoginLeadsToAPageOfTheConsoleAlone(t *testing.T) {
	for asked, want := range map[string]string{
		"/console": "/console", "/console/people/alice": "/console/people/alice", "": "/console", "/keys": "/console", "/consolex": "/console",
		"//evil.example": "/console", "/console/../keys": "/console", "https://evil.example": "/console", "/console//evil": "/console",
	} {
		if got := nextPage(asked); got != want {
			t.Errorf("%q leads to %q, want %q", asked, got, want)
		}
	}
}

func TestLabelsOfActsHaveWhatIsSeen(t *testing.T) {
	for _, now := range []v1alpha1.Access{v1alpha1.AccessAllowed, v1alpha1.AccessSuspended, v1alpha1.AccessOffboarded} {
		links := actsFor("alice", access.Report{Access: now})
		if len(links) == 0 {
			t.Errorf("%s: there is no act", now)
		}
		for _, l := range links {
			if !strings.Contains(l.Label, l.Word) || !strings.Contains(l.Label, "alice") {
				t.Errorf("%s: the label %q of %q", now, l.Label, l.Word)
			}
		}
	}
}
