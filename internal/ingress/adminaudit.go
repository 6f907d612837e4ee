// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/audit"
)

// The acts of administrators, as the method of their audit entries.
const (
	actListKeys       = audit.AdminPrefix + "keys.list"
	actCreateKey      = audit.AdminPrefix + "keys.create"
	actRevokeKey      = audit.AdminPrefix + "keys.revoke"
	actQueryAudit     = audit.AdminPrefix + "audit.query"
	actQueryAnalytics = audit.AdminPrefix + "analytics.query"
)

// auditAdmin writes the entry of an act that was done, before it is answered.
// user is whom it is about, and keyID that of the key that was acted on, if any.
// Where the entry cannot be written the act is not answered: a key that nobody
// was given opens nothing for anybody.
func (s *Server) auditAdmin(c *gin.Context, act, user, keyID string) error {
	return s.writeAct(c, user, audit.Call{Method: act, Action: keyID, Status: audit.Success})
}

// auditUnsure is auditAdmin for an act that may have been done.
func (s *Server) auditUnsure(c *gin.Context, act, user, keyID string) error {
	return s.writeAct(c, user, audit.Call{Method: act, Action: keyID, Status: audit.UpstreamError, ErrorType: "outcome_unknown"})
}

func (s *Server) writeAct(c *gin.Context, user string, act audit.Call) error {
	return s.writeActBy(c, audit.Principal{Kind: audit.KindAdminKey}, user, act)
}

func (s *Server) writeActBy(c *gin.Context, who audit.Principal, user string, act audit.Call) error {
	r := c.Request
	err := s.audit.Write(audit.Entry{
		ID: rand.Text(), Time: time.Now(), UserID: user,
		Principal:    who,
		Call:         act,
		ReportedBy:   audit.Ingress,
		SourceIPHash: s.hasher.Address(s.source(r)),
		UserAgent:    r.UserAgent(),
		RequestID:    recordOf(r.Context()).id,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errActNotAudited, err)
	}
	return nil
}
