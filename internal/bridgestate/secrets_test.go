// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func withoutKeybroker(o *Observed) { o.KeybrokerReady = false }

// needing adds a server that may use the secrets.
func needing(server string, secrets ...v1alpha1.SecretName) func(*Observed) {
	return func(o *Observed) {
		s := remote(server)
		s.Secrets = secrets
		o.Bridge.Spec.Servers = append(o.Bridge.Spec.Servers, effective.Server{Server: s})
	}
}

func withRef(name string) func(*Observed) {
	return func(o *Observed) { o.Bridge.Spec.SecretRefs = []v1alpha1.SecretRef{{Name: name}} }
}

// reported is what the keybroker says of the observed generation.
func reported(change func(*v1alpha1.SecretsStatus)) func(*Observed) {
	return func(o *Observed) {
		s := &v1alpha1.SecretsStatus{ObservedGeneration: o.Bridge.Generation, Revision: "0123456789abcdef"}
		change(s)
		o.Bridge.Status.Secrets = s
	}
}

func sealed(count int32) func(*Observed) {
	return reported(func(s *v1alpha1.SecretsStatus) { s.Count = count })
}

func notSet(names ...string) func(*Observed) {
	return reported(func(s *v1alpha1.SecretsStatus) { s.Missing = names })
}

func failing(reason, name, message string) func(*Observed) {
	return reported(func(s *v1alpha1.SecretsStatus) {
		s.Count, s.Failures = 1, []v1alpha1.SecretFailure{{Name: name, Reason: reason, Message: message}}
	})
}

func late(o *Observed) { o.Bridge.Status.Secrets.ObservedGeneration-- }

// condition decides about o, whose pod is ready, and returns the condition.
func condition(t *testing.T, kind string, o Observed) metav1.Condition {
	t.Helper()
	withPods(Pod{Name: "ready", Created: now, Ready: true})(&o)
	status := Decide(o, now).Status(o, Outcome{Workload: &rolled}, now)
	if status.Phase != v1alpha1.PhaseRunning && status.Phase != v1alpha1.PhaseFailed {
		t.Errorf("phase of a bridge that runs is %s", status.Phase)
	}
	c := meta.FindStatusCondition(status.Conditions, kind)
	if c == nil {
		t.Fatalf("no condition %s", kind)
	}
	return *c
}

func TestSecretsSealed(t *testing.T) {
	const away = "Unknown KeybrokerUnavailable"
	tests := map[string]struct {
		o    Observed
		want string
		says string
	}{
		"nothing":                                    {observed(needing("open")), "True NothingToSeal", "has no secrets"},
		"nothing, as the keybroker reports":          {observed(sealed(0)), "True NothingToSeal", "has no secrets"},
		"nothing, and no keybroker":                  {observed(withoutKeybroker), "True NothingToSeal", "has no secrets"},
		"nothing, and a late report":                 {observed(sealed(0), late), "True NothingToSeal", "has no secrets"},
		"a server's secret, and no report":           {observed(needing("github", "TOKEN")), "False Sealing", "has not yet acted"},
		"a source, and no report":                    {observed(withRef("source")), "False Sealing", "has not yet acted"},
		"a late report":                              {observed(needing("github", "TOKEN"), notSet("TOKEN"), late), "False Sealing", "has not yet acted"},
		"a late report of what nobody names":         {observed(sealed(2), late), "True Sealed", "there are 2 in all"},
		"all there":                                  {observed(needing("github", "TOKEN"), withRef("source"), sealed(1)), "True Sealed", "there are 1 in all"},
		"set by the user, and named by nobody":       {observed(sealed(2)), "True Sealed", "there are 2 in all"},
		"no keybroker, and a server's secret":        {observed(needing("github", "TOKEN"), sealed(1), withoutKeybroker), away, "what runs goes on"},
		"no keybroker, and a source":                 {observed(withRef("source"), withoutKeybroker), away, "none can be set or sealed"},
		"no keybroker, and the user's own":           {observed(sealed(1), withoutKeybroker), away, "what runs goes on"},
		"no keybroker, and one that was missing":     {observed(needing("github", "TOKEN"), notSet("TOKEN"), withoutKeybroker), away, "what runs goes on"},
		"one that nobody has set":                    {observed(needing("github", "TOKEN"), notSet("TOKEN")), "False SecretsMissing", "server github is out of service until these secrets are set: TOKEN; set a secret by PUT /u/alice/secrets/<NAME>, or by a Secret in spec.secretRefs"},
		"several of several servers":                 {observed(needing("one", "B", "A", "SET"), needing("two", "A"), needing("three", "SET"), notSet("A", "B")), "False SecretsMissing", "server one is out of service until these secrets are set: A, B; server two is out of service until these secrets are set: A; set"},
		"one that no server names any more":          {observed(needing("github", "OTHER"), notSet("TOKEN")), "True Sealed", "all secrets"},
		"a source that is gone":                      {observed(withRef("source"), failing("SourceMissing", "source", "there is no Secret source")), "False SourceMissing", "source: there is no Secret source"},
		"a source that cannot be sealed":             {observed(withRef("source"), failing("SourceInvalid", "source", "a value is too long")), "False SourceInvalid", "source: a value is too long"},
		"more than the tier allows":                  {observed(withRef("source"), failing("TierLimitExceeded", "source", "at most 5")), "False TierLimitExceeded", "source: at most 5"},
		"one that does not open":                     {observed(needing("github", "TOKEN"), failing("SecretsUnreadable", "TOKEN", "it does not open")), "False SecretsUnreadable", "TOKEN: it does not open"},
		"a failure without words":                    {observed(failing("SecretsUnreadable", "TOKEN", "")), "False SecretsUnreadable", "TOKEN: SecretsUnreadable"},
		"a failure of what a server waits for":       {observed(needing("github", "TOKEN"), withRef("source"), failing("SourceMissing", "source", "no such Secret"), func(o *Observed) { o.Bridge.Status.Secrets.Missing = []string{"TOKEN"} }), "False SecretsMissing", "spec.secretRefs; besides, source: no such Secret"},
		"one missing where the user id is another's": {observed(withRival(bridge("other", "first", 2*time.Hour)), needing("github", "TOKEN"), notSet("TOKEN")), "False SecretsMissing", "TOKEN; set a secret by a Secret in spec.secretRefs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := condition(t, v1alpha1.ConditionSecretsSealed, tt.o)
			if got := string(c.Status) + " " + c.Reason; got != tt.want || !strings.Contains(c.Message, tt.says) {
				t.Errorf("got %s, %q; want %s with %q", got, c.Message, tt.want, tt.says)
			}
		})
	}
}

func TestReadyDoesNotDependOnSecretsAndSaysWhatIsOutOfService(t *testing.T) {
	const ready = "calls to status.url reach the bridge"
	const wanting = ready + "; out of service for want of a secret: "
	tests := map[string]struct {
		o    Observed
		want string
	}{
		"all there":               {observed(needing("github", "TOKEN"), sealed(1)), ready},
		"not yet sealed":          {observed(needing("github", "TOKEN")), ready},
		"no keybroker":            {observed(needing("github", "TOKEN"), sealed(1), withoutKeybroker), ready},
		"one that is missing":     {observed(needing("open"), needing("github", "TOKEN"), notSet("TOKEN")), wanting + "server github (TOKEN)"},
		"missing, no keybroker":   {observed(needing("github", "TOKEN"), notSet("TOKEN"), withoutKeybroker), wanting + "server github (TOKEN)"},
		"one that does not open":  {observed(needing("github", "A", "B"), failing("SecretsUnreadable", "B", "")), wanting + "server github (B)"},
		"a source of that name":   {observed(needing("github", "A.B"), failing("SourceMissing", "A.B", "")), ready},
		"two servers, two secret": {observed(needing("one", "B", "A"), needing("two", "B"), notSet("A", "B")), wanting + "server one (A, B), server two (B)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := condition(t, v1alpha1.ConditionReady, tt.o)
			if c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonReady || c.Message != tt.want {
				t.Errorf("got %s %s %q, want True Ready %q", c.Status, c.Reason, c.Message, tt.want)
			}
			if c := condition(t, v1alpha1.ConditionWorkloadAvailable, tt.o); c.Reason != v1alpha1.ReasonAvailable {
				t.Errorf("the pod, which runs, is %s", c.Reason)
			}
		})
	}
}

func TestAPodThatStartsWithoutAKeybrokerSaysWhatItWaitsFor(t *testing.T) {
	starting := Pod{Name: "p", Created: now}
	unscheduled := Pod{Name: "p", Created: now, Waiting: "0/1 nodes are available"}
	notYet := workload(func(w *Workload) { w.Available = 0 })
	tests := map[string]struct {
		o     Observed
		out   Outcome
		want  string
		says  string
		phase v1alpha1.Phase
	}{
		"a pod that starts":              {observed(withPods(starting), withoutKeybroker), notYet, "False KeybrokerUnavailable", "pod p waits for a keybroker to be ready, and then starts by itself", "Pending"},
		"with a keybroker":               {observed(withPods(starting)), notYet, "False Progressing", "pod p is not ready yet", "Pending"},
		"one that waits for a node":      {observed(withPods(unscheduled), withoutKeybroker), notYet, "False Progressing", "0/1 nodes", "Pending"},
		"none made yet":                  {observed(withoutKeybroker), notYet, "False Progressing", "being made", "Pending"},
		"one that the quota keeps away":  {observed(withoutKeybroker), workload(func(w *Workload) { w.Available, w.ReplicaFailure = 0, "exceeded quota" }), "False PodRefused", "exceeded quota", "Pending"},
		"never a certificate":            {observed(withoutTrust, withoutKeybroker), Outcome{}, "False TrustMissing", "certificate", "Pending"},
		"suspended":                      {observed(withState(v1alpha1.StateSuspended), withoutKeybroker), workload(func(w *Workload) { w.Replicas, w.Updated, w.Available = 0, 0, 0 }), "True Suspended", "as spec.desiredState asks", "Suspended"},
		"a pod that is ready and stays":  {observed(withPods(Pod{Name: "p", Ready: true}), withoutKeybroker), Outcome{}, "True Available", "the change of the spec is applied when a keybroker is ready", "Running"},
		"a spec that is not accepted":    {observed(withTier("gold"), withPods(starting), withoutKeybroker), Outcome{}, "False NotAccepted", "not accepted", "Failed"},
		"one that the API server refuse": {observed(withoutKeybroker), Outcome{Failed: Finding{v1alpha1.ReasonApplyFailed, "quota"}}, "False ApplyFailed", "quota", "Failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := Decide(tt.o, now).Status(tt.o, tt.out, now)
			c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionWorkloadAvailable)
			if got := string(c.Status) + " " + c.Reason; got != tt.want || !strings.Contains(c.Message, tt.says) || s.Phase != tt.phase {
				t.Errorf("got %s, %q, phase %s; want %s with %q, %s", got, c.Message, s.Phase, tt.want, tt.says, tt.phase)
			}
		})
	}
}

func TestManyFailuresMakeNoMessageThatTheAPIRefuses(t *testing.T) {
	o := observed()
	all := reported(func(s *v1alpha1.SecretsStatus) {
		for i := range 64 {
			server := fmt.Sprintf("server-%d", i)
			var names []v1alpha1.SecretName
			for j := range 32 {
				names = append(names, v1alpha1.SecretName(fmt.Sprintf("%s_%d_%d", strings.Repeat("A", 50), i, j)))
				s.Missing = append(s.Missing, string(names[j]))
			}
			needing(server, names...)(&o)
			s.Failures = append(s.Failures, v1alpha1.SecretFailure{Name: server, Reason: "SourceInvalid", Message: strings.Repeat("é", 10_000)})
		}
	})
	all(&o)
	c := condition(t, v1alpha1.ConditionSecretsSealed, o)
	if len(c.Message) > messageLimit+len("…") || !utf8.ValidString(c.Message) {
		t.Errorf("%d bytes, valid UTF-8: %v", len(c.Message), utf8.ValidString(c.Message))
	}
	if c.Reason != v1alpha1.ReasonSecretsMissing || !strings.Contains(c.Message, "and 27 more; server server-1") || !strings.Contains(c.Message, "and 59 more; set a secret by PUT") {
		t.Errorf("it is %s: %s", c.Reason, c.Message)
	}
}

// TestTheReportIsAllThatConditionsRead holds the two against each other: what
// changes a condition must change the report, since it alone wakes the operator.
func TestTheReportIsAllThatConditionsRead(t *testing.T) {
	wanting := func(o *Observed) { needing("github", "TOKEN")(o); sealed(1)(o) }
	for name, tt := range map[string]struct {
		before func(*Observed)
		change func(*v1alpha1.HostedBridgeStatus)
		wakes  bool
	}{
		"another value":              {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.Revision = "other" }, false},
		"another key version":        {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.KeyVersion = new(int32(2)) }, false},
		"another count":              {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.Count++ }, true},
		"one that is missing":        {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.Missing = []string{"TOKEN"} }, true},
		"a report that is late":      {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.ObservedGeneration-- }, true},
		"no report":                  {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.Secrets = nil }, true},
		"late, and nobody waits":     {sealed(0), func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.ObservedGeneration-- }, false},
		"the first, of nothing":      {sealed(0), func(s *v1alpha1.HostedBridgeStatus) { s.Secrets = nil }, false},
		"a secret that nobody names": {sealed(0), func(s *v1alpha1.HostedBridgeStatus) { s.Secrets.Count++ }, true},
		"what the operator writes":   {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.Phase, s.Conditions = "Failed", nil }, false},
		"what the ingress writes":    {wanting, func(s *v1alpha1.HostedBridgeStatus) { s.Servers = "1/1" }, false},
		"a failure": {wanting, func(s *v1alpha1.HostedBridgeStatus) {
			s.Secrets.Failures = []v1alpha1.SecretFailure{{Name: "TOKEN", Reason: "SecretsUnreadable"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := observed(tt.before), observed(tt.before)
			tt.change(&after.Bridge.Status)
			if wakes := !cmp.Equal(Report(before.Bridge), Report(after.Bridge)); wakes != tt.wakes {
				t.Errorf("wakes the operator: %v, want %v", wakes, tt.wakes)
			}
			for _, kind := range []string{v1alpha1.ConditionSecretsSealed, v1alpha1.ConditionReady} {
				b, a := condition(t, kind, before), condition(t, kind, after)
				if !tt.wakes && (b.Status != a.Status || b.Reason != a.Reason || b.Message != a.Message) {
					t.Errorf("%s changes from %v to %v, and nobody looks", kind, b, a)
				}
			}
		})
	}
}

func TestSecretsChangeTheStatusAtNoTimeByThemselves(t *testing.T) {
	o := observed(needing("github", "TOKEN"), notSet("TOKEN"), withPods(Pod{Name: "p", Ready: true}), withState(v1alpha1.StateRunning))
	report := *o.Bridge.Status.Secrets
	first := Decide(o, now).Status(o, Outcome{Workload: &rolled}, now)
	if first.Secrets != nil || first.KeyVersion != nil {
		t.Error("the operator's status holds what the keybroker writes")
	}
	o.Bridge.Status = first
	o.Bridge.Status.Secrets = &report
	later := now.Add(time.Hour)
	if diff := cmp.Diff(first.Conditions, Decide(o, later).Status(o, Outcome{Workload: &rolled}, later).Conditions); diff != "" {
		t.Errorf("time alone changes the conditions (-before +after):\n%s", diff)
	}
	withoutKeybroker(&o)
	away := Decide(o, later).Status(o, Outcome{Workload: &rolled}, later)
	if c := meta.FindStatusCondition(away.Conditions, v1alpha1.ConditionSecretsSealed); !c.LastTransitionTime.Time.Equal(later) {
		t.Errorf("it became %s at %s", c.Status, c.LastTransitionTime)
	}
	if c := meta.FindStatusCondition(away.Conditions, v1alpha1.ConditionReady); !c.LastTransitionTime.Time.Equal(now) {
		t.Errorf("Ready, which stays %s, changed at %s", c.Status, c.LastTransitionTime)
	}
}
