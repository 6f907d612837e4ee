// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/ingress/inflight"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/ingress/proxy"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// router has the steps of each route and takes requests through them.
type router struct {
	config   *Config
	routes   Routes
	paths    *paths
	access   *access
	bounds   *bounds
	observer *observer
	auditor  *auditor
	tracker  *inflight.Tracker
	proxy    *proxy.Proxy
}

// step is one check of a request, or its end. It calls no other: an error ends the
// request with the answer that the error is, and what a step took is given back by
// release.
type step func(*request) error

// addRoute adds a route with its steps.
type addRoute func(method, path string, steps ...step)

// userRoutes adds those of users' bridges: the order of all checks of a call.
func (t *router) userRoutes(add addRoute) {
	post := func(send step) []step {
		return []step{
			t.access.checkOrigin, t.access.authenticate, t.observer.trace, t.bounds.findAccount, t.watchCall, t.bounds.checkTier,
			t.bounds.readBody, checkScope, t.bounds.takeQuota, t.bounds.boundUncounted, t.auditor.auditCalls, send,
		}
	}
	get := func(send step) []step {
		return []step{
			t.access.checkOrigin, t.access.authenticate, t.observer.trace, t.bounds.findAccount, t.watchCall, refuseBody, t.bounds.checkTier,
			t.bounds.takeStream, t.auditor.auditCalls, send,
		}
	}
	end := []step{
		t.access.checkOrigin, t.access.authenticate, t.observer.trace, t.bounds.findAccount, t.watchCall, refuseBody, t.bounds.checkTier,
		t.bounds.boundUncounted, t.auditor.auditCalls, t.forward,
	}
	for _, path := range []string{commonPath, "/u/:userId" + endpointMCP} {
		add(http.MethodPost, path, post(t.forward)...)
		add(http.MethodGet, path, get(t.forward)...)
		add(http.MethodDelete, path, end...)
	}
	if t.config.LegacySSE {
		const path = "/u/:userId" + ssePath
		add(http.MethodPost, path, slices.Insert(post(t.forwardSSE), 5, step(checkSession))...) // Before the tier.
		add(http.MethodGet, path, get(t.forwardSSE)...)
	}
}

// handler returns what serves the paths that checkPath lets pass.
func (t *router) handler() (http.Handler, error) {
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
	e.NoMethod(t.chain(func(*request) error { return problems.MethodNotAllowed }))
	e.NoRoute(t.chain(func(*request) error { return problems.NotFound }))

	add := func(method, path string, steps ...step) { e.Handle(method, path, t.chain(steps...)) }
	t.userRoutes(add)
	t.oauthRoutes(add)
	for _, f := range t.paths.features {
		t.featureRoutes(add, f)
	}
	return e, nil
}

// chain returns what takes a request through steps in their order. Whatever they
// took is released at the end, also of one that panics.
func (t *router) chain(steps ...step) gin.HandlerFunc {
	return func(c *gin.Context) {
		r := requestOf(c)
		r.w, r.params = c.Writer, c
		defer t.release(r)
		for _, check := range steps {
			if err := check(r); err != nil {
				t.refuse(r, err)
				return
			}
		}
	}
}

// requestOf returns the request that the router was given as what it writes to.
func requestOf(c *gin.Context) *request {
	w, _ := c.Writer.(interface{ Unwrap() http.ResponseWriter })
	return w.Unwrap().(*request) // ServeHTTP gives the router nothing else.
}

// release gives back what steps took, the last first, however the request ended.
func (t *router) release(r *request) {
	defer t.bounds.release(r)
	r.audit.End(r.context())
}

// refuse ends a request with the answer that err is.
func (t *router) refuse(r *request, err error) {
	if ended := inflight.EndedBy(r.context()); ended != nil && !r.Began() {
		err = ended
	}
	if canceled(r.http, err) {
		// No client is left to answer, and the router would otherwise send a 200.
		panic(http.ErrAbortHandler)
	}
	p := publicProblem(err)
	t.auditor.auditRefusal(r, p)
	t.access.challenge(r, p)
	body, giveBack := t.bounds.peekBody(r)
	defer giveBack()
	writeProblem(r, err, body)
}

// oauthRoutes adds the metadata of what tokens are for.
func (t *router) oauthRoutes(add addRoute) {
	if t.access.oauth == nil {
		return
	}
	limit := limitSource(limits.NewSourceRatePerSecond(t.config.LoginRequests), problems.TooManyLogins)
	for _, path := range []string{commonPath, "/u/:userId" + endpointMCP, "/u/:userId" + ssePath} {
		path = oauth.MetadataPath(path)
		add(http.MethodGet, path, openToPages, t.access.checkHost, limit, refuseBody, t.access.resourceMetadata)
		add(http.MethodOptions, path, openToPages, t.access.checkHost, limit, refuseBody, preflightFeature(http.MethodGet, readHeaders, http.MethodGet))
	}
}
