// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/bridge/health"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// The states of a bridge that the bridge itself cannot report.
const (
	healthSuspended health.Status = "suspended"
	healthStarting  health.Status = "starting"
)

// health answers from what is known: the table and the last probe's report.
// It neither dials nor wakes anything, so that a monitor costs a sleeping
// tenant nothing.
func (s *Server) health(c *gin.Context) error {
	b, err := s.hold.lookup(principalOf(c), time.Now())
	if err != nil {
		return err
	}
	return answerJSON(c, http.StatusOK, s.healthOf(b))
}

func (s *Server) healthOf(b route.Backend) health.Report {
	nothing := map[string]health.Server{}
	switch b.State {
	case route.Suspended, route.Sleeping:
		return health.Report{Status: healthSuspended, Servers: nothing}
	case route.Ready:
		if report, ok := s.reports.Report(b.BridgeUID); ok {
			return report
		}
	}
	return health.Report{Status: healthStarting, Servers: nothing}
}
