// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// bridge returns a HostedBridge of user alice, made age ago.
func bridge(namespace, name string, age time.Duration) *v1alpha1.HostedBridge {
	return &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name),
			Generation: 3, CreationTimestamp: metav1.NewTime(now.Add(-age)),
		},
		Spec: v1alpha1.HostedBridgeSpec{UserID: "alice", Tier: "free", DesiredState: v1alpha1.StateOnDemand},
	}
}

// observed returns what is seen of a bridge with which all is well.
func observed(change ...func(*Observed)) Observed {
	o := Observed{Bridge: effective.Of(bridge("tenants", "alice", time.Hour)), Tiers: quota.Defaults(), Trust: "certificate", KeybrokerReady: true}
	o.Rivals = []v1alpha1.HostedBridge{*o.Bridge.HostedBridge}
	for _, c := range change {
		c(&o)
	}
	o.Before.Terminations, o.Before.Outages = o.Bridge.Status.Terminations, o.Bridge.Status.Outages
	return o
}

func servers(list ...v1alpha1.Server) (all []effective.Server) {
	for _, s := range list {
		all = append(all, effective.Server{Server: s})
	}
	return all
}

func withServers(n int) func(*Observed) {
	return func(o *Observed) {
		o.Bridge.Spec.Servers = make([]effective.Server, n)
		for i := range o.Bridge.Spec.Servers {
			o.Bridge.Spec.Servers[i] = effective.Server{Server: remote(fmt.Sprintf("s%d", i))}
		}
	}
}

func remote(name string) v1alpha1.Server {
	return v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{URL: "https://" + name + ".example.com/mcp"}}
}

func withTier(name string) func(*Observed) {
	return func(o *Observed) { o.Bridge.Spec.Tier = name }
}

func withState(s v1alpha1.DesiredState) func(*Observed) {
	return func(o *Observed) { o.Bridge.Spec.DesiredState = s }
}

func withRival(rivals ...*v1alpha1.HostedBridge) func(*Observed) {
	return func(o *Observed) {
		for _, r := range rivals {
			o.Rivals = append(o.Rivals, *r)
		}
	}
}

func withoutTrust(o *Observed) { o.Trust = "" }

func withWorkload(o *Observed) { o.WorkloadExists = true }

func deleting(b *v1alpha1.HostedBridge) *v1alpha1.HostedBridge {
	at := metav1.NewTime(now)
	b.DeletionTimestamp = &at
	return b
}

// lacking has one program installed by a method for which there is no image.
func lacking(m v1alpha1.InstallMethod) func(*Observed) {
	return func(o *Observed) {
		o.Lacking = []v1alpha1.InstallMethod{m}
		o.Bridge.Spec.Servers = servers(v1alpha1.Server{Name: "one", Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
			Install: &v1alpha1.Install{Method: m, Package: "server", Version: "1.0.0"},
		}}})
	}
}

// withImage gives the program an image of its own.
func withImage(o *Observed) { o.Bridge.Spec.Servers[0].Transport.Stdio.Image = "team/server" }

// lackingOther has it that there is no image for another method.
func lackingOther(o *Observed) { o.Lacking = []v1alpha1.InstallMethod{v1alpha1.InstallNPX} }

func TestDecide(t *testing.T) {
	older := bridge("other", "first", 2*time.Hour)
	tests := map[string]struct {
		o        Observed
		action   Action
		rejected string
		blocked  string
	}{
		"all is well":                                {observed(), Run, "", ""},
		"a bridge that should run":                   {observed(withState(v1alpha1.StateRunning)), Run, "", ""},
		"a pod that runs, and no keybroker":          {observed(withPods(Pod{Name: "p", Ready: true}), withoutKeybroker), Hold, "", ""},
		"a pod that starts, and no keybroker":        {observed(withPods(Pod{Name: "p"}), withoutKeybroker), Run, "", ""},
		"a pod that ends, and no keybroker":          {observed(withPods(Pod{Name: "p", Ready: true, Deleting: true}), withoutKeybroker), Run, "", ""},
		"a bridge that should end, and no keybroker": {observed(withPods(Pod{Name: "p", Ready: true}), withoutKeybroker, withState(v1alpha1.StateSuspended)), Suspend, "", ""},
		"a bridge that should not":                   {observed(withState(v1alpha1.StateSuspended)), Suspend, "", ""},
		"no certificate":                             {observed(withoutTrust), Prepare, "", "TrustMissing"},
		"no certificate and no need for one":         {observed(withoutTrust, withState(v1alpha1.StateSuspended)), Suspend, "", ""},
		"an unknown tier":                            {observed(withTier("gold")), Leave, "UnknownTier", ""},
		"an unknown tier and a workload":             {observed(withTier("gold"), withWorkload), Leave, "UnknownTier", ""},
		"an unknown tier of a suspended bridge":      {observed(withTier("gold"), withState(v1alpha1.StateSuspended)), Leave, "UnknownTier", ""},
		"as many servers as the tier allows":         {observed(withServers(3)), Run, "", ""},
		"more servers than the tier allows":          {observed(withServers(4)), Leave, "TierLimitExceeded", ""},
		"many servers in a tier without a limit":     {observed(withServers(64), withTier("pro")), Run, "", ""},
		"no image for a method of install":           {observed(lacking(v1alpha1.InstallUVX)), Run, "", ""},
		"an image of the server's own":               {observed(lacking(v1alpha1.InstallUVX), withImage), Run, "", ""},
		"no image for another method":                {observed(lacking(v1alpha1.InstallUVX), lackingOther), Run, "", ""},
		"a younger rival":                            {observed(withRival(bridge("other", "late", time.Minute))), Run, "", ""},
		"an older rival":                             {observed(withRival(older)), Leave, "UserIDConflict", ""},
		"an older rival and an unknown tier":         {observed(withRival(older), withTier("gold")), Leave, "UserIDConflict", ""},
		"an older rival that is being deleted":       {observed(withRival(deleting(bridge("other", "first", 2*time.Hour)))), Run, "", ""},
		"a rival of the same second sorting later":   {observed(withRival(bridge("tenants", "bob", time.Hour))), Run, "", ""},
		"a rival of the same second sorting earlier": {observed(withRival(bridge("a", "a", time.Hour))), Leave, "UserIDConflict", ""},
		"an older rival after this one had started":  {observed(withRival(older), withWorkload), Suspend, "UserIDConflict", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := Decide(tt.o, now)
			if p.Action != tt.action || p.Rejected.Reason != tt.rejected || p.Blocked.Reason != tt.blocked {
				t.Errorf("got %s, rejected %q, blocked %q; want %s, %q, %q",
					p.Action, p.Rejected.Reason, p.Blocked.Reason, tt.action, tt.rejected, tt.blocked)
			}
			if p.Trust != tt.o.Trust {
				t.Errorf("the pod would trust %q", p.Trust)
			}
			if p.OwnsURL() == (tt.rejected == "UserIDConflict") {
				t.Errorf("owns the URL: %v", p.OwnsURL())
			}
		})
	}
}

func TestRejectionsNameTheFieldAndTheAcceptedForm(t *testing.T) {
	named := observed(withRival(bridge("other", "first", 2*time.Hour)))
	named.Bridge.Spec.UserID = ""
	tests := map[string]struct {
		o    Observed
		want string
	}{
		"an unknown tier": {observed(withTier("gold")),
			`spec.tier: "gold" is not a tier of this installation; it must be one of: business, free, pro`},
		"too many servers, and larger tiers": {observed(withServers(4)),
			`spec.servers: 4 servers are more than tier "free" allows; it must have at most 3, or spec.tier must be one of: business, pro`},
		"the oldest of several rivals": {
			observed(withRival(bridge("b", "second", 2*time.Hour), bridge("c", "first", 3*time.Hour), bridge("a", "third", 90*time.Minute))),
			`spec.userID: "alice" belongs to the older HostedBridge c/first; it must be a user id that no other HostedBridge of the installation has`},
		"a user id from the name": {named, `metadata.name, which is the user id where spec.userID is not set: "alice" belongs to`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Decide(tt.o, now).Rejected.Message; !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTooManyServersForAnyTier(t *testing.T) {
	o := observed(withServers(4))
	o.Tiers = quota.Tiers{"free": o.Tiers["free"]}
	want := `spec.servers: 4 servers are more than tier "free" allows; it must have at most 3`
	if got := Decide(o, now).Rejected.Message; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
