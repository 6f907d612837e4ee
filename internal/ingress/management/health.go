// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// get answers from what is known: the table and the last probe's report.
// It neither dials nor wakes anything, so that a monitor costs a sleeping
// tenant nothing.
func (h *healthAPI) get(c httpapi.Call) error {
	b, err := c.Bridge()
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, h.healthOf(c.Request().Context(), b))
}

// healthOf returns the bridge's report. Of a bridge that does not run, it has the
// servers as they were last reported.
func (h *healthAPI) healthOf(ctx context.Context, b route.Backend) health.Report {
	state := selfservice.Starting
	switch b.State {
	case route.Sleeping:
		state = selfservice.Asleep
	case route.Suspended:
		state = selfservice.Suspended
	case route.Ready:
		if report, ok := h.reports.Report(b.BridgeUID); ok {
			return report
		}
	}
	report := h.last(ctx, b)
	if report.Status = state; state == selfservice.Starting && b.Blocked != "" {
		report.Status = selfservice.Blocked
	}
	return report
}
