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

	anyone := e.Group(anyonePath, s.userSteps()...)
	s.mcpRoutes(anyone, "")
	u := e.Group("/u/:userId", s.userSteps()...)
	s.mcpRoutes(u, endpointMCP)
	if s.config.LegacySSE {
		u.GET(ssePath, s.watchCall, s.do(s.refuseBody), s.do(s.checkTier), s.countStream, s.auditCalls, s.do(s.forwardSSE))
		u.POST(ssePath, s.watchCall, s.do(s.checkSession), s.do(s.checkTier), s.limitCalls, s.do(s.readBody), s.do(s.checkScope), s.countQuota, s.boundFree, s.auditCalls, s.do(s.forwardSSE))
	}
	u.GET("/health", s.do(s.refuseBody), s.do(s.health))

	secrets := u.Group("/secrets", s.do(s.requireKey))
	secrets.GET("", s.do(s.refuseBody), s.do(s.listSecrets))
	secrets.GET("/:name", s.do(s.refuseBody), s.do(s.getSecret))
	secrets.PUT("/:name", s.limitBodies(maxSecret), s.do(s.putSecret))
	secrets.DELETE("/:name", s.do(s.refuseBody), s.do(s.deleteSecret))

	s.adminRoutes(e)
	s.oauthRoutes(e)
	for _, p := range s.parts {
		s.partRoutes(e, p)
	}

	return s.observe(s.catch(s.checkPath(s.cors(e)))), nil
}

// userSteps are those by which a request for a user's bridge comes in.
func (s *Server) userSteps() []gin.HandlerFunc {
	return []gin.HandlerFunc{s.do(s.checkOrigin), s.do(s.authenticate), s.trace, s.do(s.findAccount)}
}

// mcpRoutes adds the streamable HTTP transport.
func (s *Server) mcpRoutes(g *gin.RouterGroup, path string) {
	g.POST(path, s.watchCall, s.do(s.checkTier), s.limitCalls, s.do(s.readBody), s.do(s.checkScope), s.countQuota, s.boundFree, s.auditCalls, s.do(s.forward))
	g.GET(path, s.watchCall, s.do(s.refuseBody), s.do(s.checkTier), s.countStream, s.auditCalls, s.do(s.forward))
	g.DELETE(path, s.watchCall, s.do(s.refuseBody), s.do(s.checkTier), s.boundFree, s.auditCalls, s.do(s.forward))
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
	if ended := endedBy(c.Request.Context()); ended != nil && !c.Writer.Written() {
		err = ended
	}
	if canceled(c.Request, err) {
		// Nobody is left to answer, and gin would otherwise send a 200.
		panic(http.ErrAbortHandler)
	}
	p := publicProblem(err)
	s.auditRefusal(c, p)
	s.challenge(c, p)
	writeProblem(c.Writer, c.Request, err, peekBody(c))
}

func (s *Server) checkOrigin(c *gin.Context) error {
	return s.origins.check(c.Request)
}
