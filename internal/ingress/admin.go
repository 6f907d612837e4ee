// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

// adminRoutes adds the surface of the installation's administrators.
func (s *Server) adminRoutes(e *gin.Engine) {
	a := e.Group("/admin", s.do(s.checkOrigin), s.do(s.requireAdmin))
	a.GET("/audit", s.do(s.refuseBody), s.do(s.queryAudit))
	a.GET("/analytics", s.do(s.refuseBody), s.do(s.queryAnalytics))
	a.GET("/users/:userId/keys", s.do(s.refuseBody), s.do(s.listKeys))
	a.POST("/users/:userId/keys", s.do(s.createKey))
	a.DELETE("/users/:userId/keys/:keyId", s.do(s.refuseBody), s.do(s.revokeKey))
}

// requireAdmin lets those pass who have the installation's admin key. Without
// one configured nobody passes, and it is said that this is why.
func (s *Server) requireAdmin(c *gin.Context) error {
	key := s.adminKey()
	if len(key) == 0 {
		return errAdminDisabled
	}
	// Match hashes what was presented, so that neither length nor content of
	// the key show in the time it takes.
	presented := presentedKey(c.Request.Header)
	if _, ok := apikey.Match(presented, []apikey.Hash{apikey.HashOf(string(key))}); !ok {
		return s.refuseAttempt(c.Request, presented, "")
	}
	return nil
}
