// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/internal/mcpserver/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// The states of a bridge that the bridge itself cannot report.
const (
	healthSuspended health.Status = "suspended"
	healthStarting  health.Status = "starting"
)

// get answers from what is known: the table and the last probe's report.
// It neither dials nor wakes anything, so that a monitor costs a sleeping
// tenant nothing.
func (h *healthAPI) get(c httpapi.Call) error {
	b, err := c.Bridge()
	if err != nil {
		return err
	}
	return answerJSON(c, http.StatusOK, h.healthOf(b))
}

func (h *healthAPI) healthOf(b route.Backend) health.Report {
	nothing := map[string]health.Server{}
	switch b.State {
	case route.Suspended, route.Sleeping:
		return health.Report{Status: healthSuspended, Servers: nothing}
	case route.Ready:
		if report, ok := h.reports.Report(b.BridgeUID); ok {
			return report
		}
	}
	return health.Report{Status: healthStarting, Servers: nothing}
}
