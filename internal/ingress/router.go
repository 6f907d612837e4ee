// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// handler returns the public surface.
func (s *Server) handler() (http.Handler, error) {
	// Its other mode prints the routes on stdout.
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	// The address that a request claims to come from counts for nothing.
	if err := e.SetTrustedProxies(nil); err != nil {
		return nil, err
	}
	e.ForwardedByClientIP = false
	// A redirect would answer where checkPath has already refused.
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	e.NoMethod(s.do(func(*gin.Context) error { return errMethodNotAllowed }))
	e.NoRoute(s.do(func(*gin.Context) error { return errNotFound }))

	u := e.Group("/u/:userId", s.do(s.checkOrigin), s.do(s.authenticate), s.trace, s.do(s.findAccount))
	u.POST("/mcp", s.watchCall, s.do(s.checkTier), s.limitCalls, s.do(s.readBody), s.countQuota, s.boundFree, s.auditCalls, s.do(s.forward))
	u.GET("/mcp", s.watchCall, s.do(s.refuseBody), s.do(s.checkTier), s.countStream, s.auditCalls, s.do(s.forward))
	u.DELETE("/mcp", s.watchCall, s.do(s.refuseBody), s.do(s.checkTier), s.boundFree, s.auditCalls, s.do(s.forward))
	if s.config.LegacySSE {
		u.GET(ssePath, s.watchCall, s.do(s.refuseBody), s.do(s.checkTier), s.countStream, s.auditCalls, s.do(s.forwardSSE))
		u.POST(ssePath, s.watchCall, s.do(s.checkSession), s.do(s.checkTier), s.limitCalls, s.do(s.readBody), s.countQuota, s.boundFree, s.auditCalls, s.do(s.forwardSSE))
	}
	u.GET("/health", s.do(s.refuseBody), s.do(s.health))

	u.GET("/secrets", s.do(s.refuseBody), s.do(s.listSecrets))
	u.GET("/secrets/:name", s.do(s.refuseBody), s.do(s.getSecret))
	u.PUT("/secrets/:name", s.limitBodies(maxSecret), s.do(s.putSecret))
	u.DELETE("/secrets/:name", s.do(s.refuseBody), s.do(s.deleteSecret))

	s.adminRoutes(e)
	s.catalogRoutes(e)

	return s.observe(s.catch(s.checkPath(s.cors(e)))), nil
}

// do makes a gin handler of one that returns its error.
func (s *Server) do(step func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := step(c); err != nil {
			s.refuse(c, err)
		}
	}
}

// refuse ends a request with the answer that err is.
func (s *Server) refuse(c *gin.Context, err error) {
	c.Abort()
	if p := endedBy(c.Request.Context()); p != nil && !c.Writer.Written() {
		err = p
	}
	if canceled(c.Request, err) {
		// Nobody is left to answer, and gin would otherwise send a 200.
		panic(http.ErrAbortHandler)
	}
	s.auditRefusal(c, publicProblem(err))
	writeProblem(c.Writer, c.Request, err, peekBody(c))
}

func (s *Server) checkOrigin(c *gin.Context) error {
	return s.origins.check(c.Request)
}
