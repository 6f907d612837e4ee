// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestServersThatTheOperatorLeftOutAreInTheReport(t *testing.T) {
	b := &v1alpha1.HostedBridge{
		Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{{Name: "good"}, {Name: "lost"}, {Name: "used"}, {Name: "ended"}, {Name: "new"}}},
		Status: v1alpha1.HostedBridgeStatus{
			Recipes: []v1alpha1.RecipeStatus{
				{Server: "lost", Recipe: "nowhere", Reason: v1alpha1.ReasonRecipeNotFound, Message: "the catalog has no recipe nowhere"},
				{Server: "used", Recipe: "notes", Secrets: []string{"NOTES_TOKEN"}},
				{Server: "gone", Recipe: "nowhere", Reason: v1alpha1.ReasonRecipeNotFound},
			},
			Outages: []v1alpha1.ServerOutage{{Server: "ended", Message: "the process ended three times with it"}, {Server: "used"}},
		},
	}
	good := health.Server{Status: health.Healthy, Tools: 2}
	report := health.Report{Status: health.Healthy, Tools: 2, Servers: map[string]health.Server{"good": good}}
	fetch := func(context.Context, route.Backend) (health.Report, error) { return report, nil }
	read := func(context.Context, route.Backend) (*effective.Bridge, error) { return effective.Of(b), nil }
	got := must.Value(WithLeftOut(fetch, read)(t.Context(), route.Backend{}))(t)
	want := health.Report{Status: health.Degraded, Tools: 2, Servers: map[string]health.Server{
		"good":  good,
		"lost":  {Status: health.Unhealthy, Reason: "not_found", Error: "the catalog has no recipe nowhere"},
		"ended": {Status: health.Unhealthy, Error: "the process ended three times with it"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(report.Servers) != 1 {
		t.Error("the bridge's own report was changed")
	}
	read = func(context.Context, route.Backend) (*effective.Bridge, error) { return nil, errors.New("gone") }
	if got, err := WithLeftOut(fetch, read)(t.Context(), route.Backend{}); err != nil || !cmp.Equal(got, report) {
		t.Errorf("of a bridge that is gone: %+v, %v", got, err)
	}
	fetch = func(context.Context, route.Backend) (health.Report, error) {
		return health.Report{}, errors.New("away")
	}
	if _, err := WithLeftOut(fetch, read)(t.Context(), route.Backend{}); err == nil {
		t.Error("a bridge that does not answer has a report")
	}
}
