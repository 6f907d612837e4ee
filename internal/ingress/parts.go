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

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

const (
	// readMethods are those by which a page may read what anyone may, and
	// readHeaders what it may send beside what any page may. Some clients name the
	// type of a body that they do not send, and their version of MCP.
	readMethods = http.MethodGet + ", " + http.MethodHead
	readHeaders = "Content-Type, If-None-Match, Mcp-Protocol-Version"
	// maxCatalogPath holds the longest name and version of a recipe in percent
	// encoding.
	maxCatalogPath = 512
	// maxCatalogQuery holds every parameter once, a long search included.
	maxCatalogQuery = 2048
	// maxLoginPath holds the longest provider's name.
	maxLoginPath = 128
	// maxLoginQuery holds what clients send to be authorized, of which a redirect
	// URI and a state may each have 2 KiB, in percent encoding.
	maxLoginQuery = 8192
	// rareBurst and rareEvery limit one source's requests to what is rare: who makes
	// them for several hours is not to fill what there is for all.
	rareBurst = 60
	rareEvery = 2 * time.Second
	// rateBurst is for how many seconds' requests may come at once.
	rateBurst = 10
)

// part is a part of the surface that others serve.
type part struct {
	surface.Part

	// route is the part's name in metrics and logs.
	route             string
	maxPath, maxQuery int
	// rate is of one source's requests to what is open to anyone, nil for no
	// limit, and tooMany the answer to more.
	rate    *limiter
	tooMany *problem
}

// newParts returns the parts that there are.
func newParts(config Config, deps Deps) []*part {
	var parts []*part
	if deps.Catalog != nil {
		parts = append(parts, &part{deps.Catalog, routeCatalog, maxCatalogPath, maxCatalogQuery, newRate(config.CatalogReads), errTooManyReads})
	}
	if deps.Login != nil {
		parts = append(parts, &part{deps.Login, routeLogin, maxLoginPath, maxLoginQuery, newRate(config.LoginRequests), errTooManyLogins})
	}
	return parts
}

// newRate returns a limit of requests, nil for none.
func newRate(perSecond int) *limiter {
	if perSecond <= 0 {
		return nil
	}
	return &limiter{burst: rateBurst * int64(perSecond), every: time.Second / time.Duration(perSecond)}
}

// partTarget returns the path and the query of a raw request target, and whose
// it is, nil for nobody's.
func (s *Server) partTarget(target string) (path, query string, malformed bool, of *part) {
	path, query, _ = strings.Cut(target, "?")
	for _, p := range s.parts {
		if len(path) > p.maxPath {
			continue
		}
		form, ok := p.Target(path)
		if !ok {
			continue
		}
		if query != "" && (form == nil || len(query) > p.maxQuery || !form.MatchString(query)) {
			return path, "", true, p
		}
		return path, query, false, p
	}
	return "", "", false, nil
}

// partRoutes adds what p serves.
func (s *Server) partRoutes(e *gin.Engine, p *part) {
	methods := map[string][]string{}
	for _, route := range p.Routes() {
		methods[route.Path] = append(methods[route.Path], route.Method)
		if route.Method == http.MethodGet {
			methods[route.Path] = append(methods[route.Path], http.MethodHead)
		}
	}
	for _, route := range p.Routes() {
		steps := append(s.partSteps(p, route.Access), s.do(checkPartQuery))
		if route.MaxBody == 0 {
			steps = append(steps, s.do(s.refuseBody))
		}
		if route.Rare {
			steps = append(steps, s.do(s.limitSource(&limiter{burst: rareBurst, every: rareEvery}, p.tooMany)))
		}
		steps = append(steps, s.servePart(route))
		e.Handle(route.Method, route.Path, steps...)
		if route.Method == http.MethodGet {
			e.Handle(http.MethodHead, route.Path, steps...)
		}
		if allowed, headers := pagesMay(route.Access); allowed != "" {
			asked := preflightPart(allowed, headers, strings.Join(methods[route.Path], ", "))
			e.Handle(http.MethodOptions, route.Path, append(s.partSteps(p, route.Access), s.do(checkPartQuery), s.do(s.refuseBody), s.do(asked))...)
		}
	}
}

// pagesMay returns by which methods and with which headers the page of any site
// may call a route, both empty where it may not.
func pagesMay(access surface.Access) (methods, headers string) {
	switch access {
	case surface.Public:
		return readMethods, readHeaders
	case surface.Program:
		return http.MethodPost, "Content-Type"
	default:
		return "", ""
	}
}

// partSteps are those by which a request of this access comes in.
func (s *Server) partSteps(p *part, access surface.Access) []gin.HandlerFunc {
	switch access {
	case surface.Public, surface.Program:
		return []gin.HandlerFunc{openToPages, s.do(s.checkHost), s.do(s.limitSource(p.rate, p.tooMany))}
	case surface.Page:
		return []gin.HandlerFunc{s.do(s.checkHost), s.do(s.checkOwnPage), s.do(s.limitSource(p.rate, p.tooMany))}
	case surface.Keyed:
		return []gin.HandlerFunc{s.do(s.checkOrigin)}
	default:
		return []gin.HandlerFunc{s.do(s.checkOrigin), s.do(s.requireAdmin)}
	}
}

// checkOwnPage refuses what another site's page sends. Browsers name the page's
// site with everything but a GET; the part's own tokens are the second guard.
func (s *Server) checkOwnPage(c *gin.Context) error {
	values := c.Request.Header["Origin"]
	if len(values) == 0 || len(values) == 1 && strings.EqualFold(values[0], s.publicURL()) {
		return nil
	}
	return errOriginNotAllowed
}

// openToPages lets the page of any site read what anyone may read.
func openToPages(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id")
}

// preflightPart answers what a browser asks before a page calls with a header
// that not every page may send. What it allows is the same for all. Whoever asks
// nothing is told the methods of the path.
func preflightPart(allowed, headers, methods string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		h := c.Writer.Header()
		if c.GetHeader("Access-Control-Request-Method") == "" {
			h.Set("Allow", methods)
			return errMethodNotAllowed
		}
		h.Set("Access-Control-Allow-Methods", allowed)
		h.Set("Access-Control-Allow-Headers", headers)
		h.Set("Access-Control-Max-Age", preflightAge)
		h.Set("Cache-Control", "no-store")
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return nil
	}
}

func (s *Server) checkHost(c *gin.Context) error { return s.origins.checkHost(c.Request) }

func checkPartQuery(c *gin.Context) error {
	if c.Request.URL.ForceQuery {
		return errPartQuery
	}
	return nil
}

// limitSource refuses a request of a source that makes too many, with tooMany. A nil
// rate is no limit.
func (s *Server) limitSource(rate *limiter, tooMany *problem) func(*gin.Context) error {
	return func(c *gin.Context) error {
		if rate == nil {
			return nil
		}
		source := maphash.Comparable(s.attempts.seed, sourceNetwork(s.source(c.Request)))
		if wait := rate.take(source, time.Now()); wait > 0 {
			return tooMany.after(wait)
		}
		return nil
	}
}

func (s *Server) servePart(route surface.Route) gin.HandlerFunc {
	return func(c *gin.Context) {
		call := &partCall{server: s, c: c, route: route, memory: s.memoryOf(c, route.Access)}
		defer call.memory.giveBack()
		if err := route.Handle(call); err != nil {
			s.refuse(c, err)
		}
	}
}

// memory is where a request's body is counted.
type memory struct {
	of      *bodies
	holder  v1alpha1.UserID // or a network, or nobody in particular
	timeout time.Duration
	size    int64
}

// memoryOf returns where the body of a part's request is counted: that of who has a
// key together, and of strangers by their address, so that none of them is in
// another's way.
func (s *Server) memoryOf(c *gin.Context, access surface.Access) *memory {
	if access == surface.Program || access == surface.Page {
		network := sourceNetwork(s.source(c.Request))
		return &memory{of: s.strangers, holder: v1alpha1.UserID(network.String()), timeout: min(strangersTimeout, s.config.BodyTimeout)}
	}
	return &memory{of: s.bodies, timeout: s.config.BodyTimeout}
}

func (m *memory) take(size int64) error {
	if err := m.of.take(m.holder, size); err != nil {
		return err
	}
	m.size += size
	return nil
}

func (m *memory) giveBack() { m.of.give(m.holder, m.size) }

// partCall is a request of a part.
type partCall struct {
	server *Server
	c      *gin.Context
	route  surface.Route
	memory *memory
}

// Request implements surface.Call.
func (c *partCall) Request() *http.Request { return c.c.Request }

// Writer implements surface.Call.
func (c *partCall) Writer() http.ResponseWriter { return c.c.Writer }

// Param implements surface.Call.
func (c *partCall) Param(name string) string { return c.c.Param(name) }

// Now implements surface.Call.
func (c *partCall) Now() time.Time { return recordOf(c.c.Request.Context()).start }

// Key implements surface.Call.
func (c *partCall) Key() string { return presentedKey(c.c.Request.Header) }

// Refuse implements surface.Call.
func (c *partCall) Refuse(keyID string) error {
	return c.server.refuseAttempt(c.c.Request, c.Key(), keyID)
}

// Admit implements surface.Call.
func (c *partCall) Admit(holder string) error {
	s := c.server
	if s.writes == nil {
		return nil
	}
	if wait := s.writes.take(maphash.String(s.attempts.seed, holder), time.Now()); wait > 0 {
		return errTooManyWrites.after(wait)
	}
	return nil
}

// Body implements surface.Call.
func (c *partCall) Body() ([]byte, error) {
	r := c.c.Request
	if r.ContentLength == 0 {
		return nil, nil
	}
	if err := c.checkType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	most := c.route.MaxBody
	if r.ContentLength > most {
		return nil, bodyTooLarge(most)
	}
	if err := c.memory.take(bodySize(r, most)); err != nil {
		return nil, err
	}
	body, err := readWithin(c.c, most+1, c.memory.timeout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBodyUnreadable, err)
	}
	if int64(len(body)) > most {
		return nil, bodyTooLarge(most)
	}
	return body, nil
}

func (c *partCall) checkType(contentType string) error {
	switch {
	case c.route.Form && !isMediaType(contentType, formType):
		return errFormType
	case !c.route.Form && !ofJSON(contentType):
		return errMediaType
	}
	return nil
}

// Audit implements surface.Call.
func (c *partCall) Audit(a surface.Act) error {
	who, prefix := audit.Principal{Kind: audit.KindAdminKey}, audit.AdminPrefix
	switch {
	case a.Publisher != "":
		who, prefix = audit.Principal{Kind: audit.KindPublisherKey, ID: a.Publisher + "/" + a.KeyID}, audit.PublishPrefix
	case a.Login != "":
		who, prefix = audit.Principal{Kind: audit.KindOAuth, ID: a.Login, Issuer: c.server.publicURL()}, audit.LoginPrefix
	}
	act := audit.Call{Method: prefix + a.Name, Action: a.On, Status: audit.Success}
	if a.Unsure {
		act.Status, act.ErrorType = audit.UpstreamError, "outcome_unknown"
	}
	return c.server.writeActBy(c.c, who, a.User, act)
}
