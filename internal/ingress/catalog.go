// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

const (
	// readMethods are those by which a page may read the catalog, and readHeaders
	// what it may send beside what any page may. Some clients name the type of a
	// body that they do not send.
	readMethods = http.MethodGet + ", " + http.MethodHead
	readHeaders = "Content-Type, If-None-Match"
	// maxCatalogPath holds the longest name and version of a recipe in percent
	// encoding.
	maxCatalogPath = 512
	// maxCatalogQuery holds every parameter once, a long search included.
	maxCatalogQuery = 2048
	// rateBurst is for how many seconds' requests may come at once.
	rateBurst = 10
)

// newRate returns a limit of requests, nil for none.
func newRate(perSecond int) *limiter {
	if perSecond <= 0 {
		return nil
	}
	return &limiter{burst: rateBurst * int64(perSecond), every: time.Second / time.Duration(perSecond)}
}

// catalogTarget returns the path and the query of a raw request target, and
// whether it is one of the catalog's.
func (s *Server) catalogTarget(target string) (path, query string, malformed, ok bool) {
	path, query, _ = strings.Cut(target, "?")
	if s.catalog == nil || len(path) > maxCatalogPath {
		return "", "", false, false
	}
	form, ok := s.catalog.Target(path)
	if !ok {
		return "", "", false, false
	}
	if query != "" && (form == nil || len(query) > maxCatalogQuery || !form.MatchString(query)) {
		return path, "", true, true
	}
	return path, query, false, true
}

// catalogRoutes adds what the catalog serves.
func (s *Server) catalogRoutes(e *gin.Engine) {
	if s.catalog == nil {
		return
	}
	methods := map[string][]string{}
	for _, route := range s.catalog.Routes() {
		methods[route.Path] = append(methods[route.Path], route.Method)
		if route.Method == http.MethodGet {
			methods[route.Path] = append(methods[route.Path], http.MethodHead)
		}
	}
	for _, route := range s.catalog.Routes() {
		steps := append(s.catalogSteps(route.Access), s.do(checkCatalogQuery))
		if route.MaxBody == 0 {
			steps = append(steps, s.do(s.refuseBody))
		}
		steps = append(steps, s.serveCatalog(route))
		e.Handle(route.Method, route.Path, steps...)
		if route.Method == http.MethodGet {
			e.Handle(http.MethodHead, route.Path, steps...)
		}
		if route.Access == surface.Public {
			steps := append(s.catalogSteps(route.Access), s.do(checkCatalogQuery), s.do(s.refuseBody), s.do(preflightRead(strings.Join(methods[route.Path], ", "))))
			e.Handle(http.MethodOptions, route.Path, steps...)
		}
	}
}

// catalogSteps are those by which a request of this access comes in.
func (s *Server) catalogSteps(access surface.Access) []gin.HandlerFunc {
	switch access {
	case surface.Public:
		return []gin.HandlerFunc{openToPages, s.do(s.checkHost), s.do(s.limitReads)}
	case surface.Keyed:
		return []gin.HandlerFunc{s.do(s.checkOrigin)}
	default:
		return []gin.HandlerFunc{s.do(s.checkOrigin), s.do(s.requireAdmin)}
	}
}

// openToPages lets the page of any site read what anyone may read.
func openToPages(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id")
}

// preflightRead answers what a browser asks before a page reads with a header
// that not every page may send. What it allows is the same for all. Whoever asks
// nothing is told the methods of the path.
func preflightRead(methods string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		h := c.Writer.Header()
		if c.GetHeader("Access-Control-Request-Method") == "" {
			h.Set("Allow", methods)
			return errMethodNotAllowed
		}
		h.Set("Access-Control-Allow-Methods", readMethods)
		h.Set("Access-Control-Allow-Headers", readHeaders)
		h.Set("Access-Control-Max-Age", preflightAge)
		h.Set("Cache-Control", "no-store")
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return nil
	}
}

func (s *Server) checkHost(c *gin.Context) error { return s.origins.checkHost(c.Request) }

func checkCatalogQuery(c *gin.Context) error {
	if c.Request.URL.ForceQuery {
		return errCatalogQuery
	}
	return nil
}

// limitReads refuses a request of a source that makes too many.
func (s *Server) limitReads(c *gin.Context) error {
	if s.reads == nil {
		return nil
	}
	source := maphash.Comparable(s.attempts.seed, sourceNetwork(s.source(c.Request)))
	if wait := s.reads.take(source, time.Now()); wait > 0 {
		return errTooManyReads.after(wait)
	}
	return nil
}

func (s *Server) serveCatalog(route surface.Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		call := &catalogCall{server: s, c: c, maxBody: route.MaxBody}
		defer func() { s.bodies.give("", call.reserved) }()
		if err := route.Handle(call); err != nil {
			s.refuse(c, err)
		}
	}
}

// catalogCall is a request of the catalog.
type catalogCall struct {
	server   *Server
	c        *gin.Context
	maxBody  int64
	reserved int64
}

// Request implements surface.Call.
func (c *catalogCall) Request() *http.Request { return c.c.Request }

// Writer implements surface.Call.
func (c *catalogCall) Writer() http.ResponseWriter { return c.c.Writer }

// Param implements surface.Call.
func (c *catalogCall) Param(name string) string { return c.c.Param(name) }

// Now implements surface.Call.
func (c *catalogCall) Now() time.Time { return recordOf(c.c.Request.Context()).start }

// Key implements surface.Call.
func (c *catalogCall) Key() string { return presentedKey(c.c.Request.Header) }

// Refuse implements surface.Call.
func (c *catalogCall) Refuse(keyID string) error {
	return c.server.refuseAttempt(c.c.Request, c.Key(), keyID)
}

// Admit implements surface.Call.
func (c *catalogCall) Admit(holder string) error {
	s := c.server
	if s.writes == nil {
		return nil
	}
	if wait := s.writes.take(maphash.String(s.attempts.seed, holder), time.Now()); wait > 0 {
		return errTooManyWrites.after(wait)
	}
	return nil
}

// Body implements surface.Call. The memory of all such bodies is bounded
// together, as that of one user's is.
func (c *catalogCall) Body() ([]byte, error) {
	r := c.c.Request
	if r.ContentLength == 0 {
		return nil, nil
	}
	if !ofJSON(r.Header.Get("Content-Type")) {
		return nil, errMediaType
	}
	if r.ContentLength > c.maxBody {
		return nil, bodyTooLarge(c.maxBody)
	}
	size := bodySize(r, c.maxBody)
	if err := c.server.bodies.take("", size); err != nil {
		return nil, err
	}
	c.reserved += size
	body, err := readWithin(c.c, c.maxBody+1, c.server.config.BodyTimeout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBodyUnreadable, err)
	}
	if int64(len(body)) > c.maxBody {
		return nil, bodyTooLarge(c.maxBody)
	}
	return body, nil
}

// Audit implements surface.Call.
func (c *catalogCall) Audit(a surface.Act) error {
	who, prefix := audit.Principal{Kind: audit.KindAdminKey}, audit.AdminPrefix
	if a.Publisher != "" {
		who, prefix = audit.Principal{Kind: audit.KindPublisherKey, ID: a.Publisher + "/" + a.KeyID}, audit.PublishPrefix
	}
	act := audit.Call{Method: prefix + a.Name, Action: a.On, Status: audit.Success}
	if a.Unsure {
		act.Status, act.ErrorType = audit.UpstreamError, "outcome_unknown"
	}
	return c.server.writeActBy(c.c, who, "", act)
}
