// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// one keeps one request of alice, who asked when the profile offered what asked says.
type one struct {
	Store // Nothing else is called.

	kept v1alpha1.BridgeRequest
	err  error
}

func (o *one) All(context.Context) ([]v1alpha1.BridgeRequest, error) {
	return []v1alpha1.BridgeRequest{o.kept}, o.err
}

func (o *one) Decide(_ context.Context, d Decision, check func(*v1alpha1.BridgeRequest) error) (*v1alpha1.BridgeRequest, error) {
	if err := errors.Join(check(&o.kept), o.err); err != nil {
		return nil, err
	}
	o.kept.Spec.Decision = &v1alpha1.RequestDecision{Verdict: d.Verdict, Reason: d.Reason, Time: metav1.NewTime(time.Unix(7, 0))}
	return &o.kept, nil
}

// known is the bridge of alice, whose profile offers jira on request.
type known struct{}

func bridge() *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "alice", UID: "1"}}
	b.Status.Effective = &v1alpha1.EffectiveSettings{Servers: []v1alpha1.EffectiveServer{
		{Name: "jira", Profile: "team", Offer: "recipe jira", Use: v1alpha1.ServerOnRequest, Reason: v1alpha1.ReasonNotApproved},
	}}
	return b
}

func (known) Current() *route.Table { return route.Build([]*v1alpha1.HostedBridge{bridge()}, nil) }

func (known) Bridge(context.Context, route.Backend) (*effective.Bridge, error) {
	return effective.Of(bridge()), nil
}

// acts are what the audit trail has.
type acts []httpapi.Act

func (a *acts) Audit(act httpapi.Act) error {
	*a = append(*a, act)
	return nil
}

func TestAdministratorsAnswerRequests(t *testing.T) {
	for name, test := range map[string]struct {
		offer    string
		bridge   string
		decision Decision
		fails    error
		problem  *httpapi.Problem
		// act is what the audit trail has, state what the request is then, and unsure that nobody
		// knows whether it was done.
		act, state string
		unsure     bool
	}{
		"approved":                               {decision: Decision{Verdict: v1alpha1.RequestApproved}, act: "requests.approve", state: Approved},
		"refused":                                {decision: Decision{Verdict: v1alpha1.RequestRefused, Reason: "use the team's"}, act: "requests.refuse", state: Refused},
		"refused without a reason":               {decision: Decision{Verdict: v1alpha1.RequestRefused, Reason: " "}, problem: errDecision, state: Open},
		"no verdict":                             {decision: Decision{Verdict: "Later"}, problem: errDecision, state: Open},
		"for an earlier bridge of the same user": {bridge: "0", decision: Decision{Verdict: v1alpha1.RequestApproved}, problem: errNone},
		"approved for something else":            {offer: "recipe wiki", decision: Decision{Verdict: v1alpha1.RequestApproved}, problem: errIsOutdated, state: Outdated},
		"refused for something else":             {offer: "recipe wiki", decision: Decision{Verdict: v1alpha1.RequestRefused, Reason: "gone"}, act: "requests.refuse", state: Outdated},
		"changed meanwhile":                      {decision: Decision{Verdict: v1alpha1.RequestApproved}, fails: ErrChanged, problem: errIsChanged, state: Open},
		"while the API server is away":           {decision: Decision{Verdict: v1alpha1.RequestApproved}, fails: errors.New("no route to host"), problem: httpapi.ClusterAway, act: "requests.approve", unsure: true},
	} {
		t.Run(name, func(t *testing.T) {
			kept := v1alpha1.BridgeRequest{Spec: v1alpha1.BridgeRequestSpec{User: "alice", BridgeUID: "1", Server: "jira", Offer: "recipe jira"}}
			if test.offer != "" {
				kept.Spec.Offer = test.offer
			}
			if test.bridge != "" {
				kept.Spec.BridgeUID = "0"
			}
			r, trail := &Requests{Store: &one{kept: kept, err: test.fails}, Bridges: known{}}, &acts{}
			d := test.decision
			d.User, d.Server, d.Version = "alice", "jira", "1"
			got, err := r.Decide(t.Context(), trail, d)
			if test.problem == nil && (err != nil || got.State != test.state || got.Answered == nil) {
				t.Errorf("%+v, %v", got, err)
			}
			if test.problem != nil && !errors.Is(err, test.problem) {
				t.Errorf("%v, want %v", err, test.problem)
			}
			if (test.act == "") != (len(*trail) == 0) || test.act != "" && ((*trail)[0].Name != test.act || (*trail)[0].User != "alice" || (*trail)[0].Unsure != test.unsure) {
				t.Errorf("the audit trail has %+v, want %q", *trail, test.act)
			}
			if test.fails != nil && !errors.Is(test.fails, ErrChanged) {
				return
			}
			r.Store.(*one).err = nil
			all, err := r.All(t.Context(), trail, test.state)
			if err != nil || (test.state == "") != (len(all) == 0) {
				t.Errorf("the requests that are %s: %+v, %v", test.state, all, err)
			}
		})
	}
}

// TestAnAnswerByKubectlHasATime has a decision without one, which its field manager wrote.
func TestAnAnswerByKubectlHasATime(t *testing.T) {
	asked, answered, touched := metav1.NewTime(time.Unix(5, 0)), metav1.NewTime(time.Unix(7, 0)), metav1.NewTime(time.Unix(9, 0))
	q := &v1alpha1.BridgeRequest{Spec: v1alpha1.BridgeRequestSpec{Decision: &v1alpha1.RequestDecision{Verdict: v1alpha1.RequestApproved}}}
	q.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "hosted-bridge-ingress", Time: &asked, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:user":{}}}`)},
		{Manager: "kubectl-patch", Time: &answered, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:decision":{".":{},"f:verdict":{}}}}`)},
		{Manager: "kubectl-label", Time: &touched, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)},
	}
	b := effective.Of(bridge())
	if got := requestOf(b, q).Answered; got == nil || !got.Equal(answered.Time) {
		t.Errorf("answered at %v, want %v", got, answered)
	}
	q.Spec.Decision.Time = asked
	if got := requestOf(b, q).Answered; got == nil || !got.Equal(asked.Time) {
		t.Errorf("answered at %v, want the time of the decision %v", got, asked)
	}
}
