// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"hash/maphash"
	"net/http"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

const (
	// readMethods are those by which a page may read what anyone may, and
	// readHeaders what it may send beside what any page may. Some clients name the
	// type of a body that they do not send, and their version of MCP.
	readMethods = http.MethodGet + ", " + http.MethodHead
	readHeaders = "Content-Type, If-None-Match, Mcp-Protocol-Version"
	// rareBurst and rareEvery limit one source's requests to what is rare: a source
	// that makes them for hours must not use up what there is for all.
	rareBurst = 60
	rareEvery = 2 * time.Second
)

// rateSeed hashes what rates are kept by. It differs from process to process.
var rateSeed = maphash.MakeSeed()

// feature is what is served beside users' bridges.
type feature struct {
	httpapi.Feature

	paths httpapi.Paths
	// sources and holders limit requests, nil for no limit.
	sources *limits.SourceRate
	holders *limits.Rate
}

// newFeatures returns the features as the router has them.
func newFeatures(of []httpapi.Feature) []*feature {
	features := make([]*feature, 0, len(of))
	for _, f := range of {
		n := &feature{Feature: f, paths: httpapi.NewPaths(f), sources: limits.NewSourceRatePerSecond(f.SourceRate), holders: limits.NewRate(f.HolderRate)}
		features = append(features, n)
	}
	return features
}

// featureRoutes adds what f serves.
func (t *router) featureRoutes(add addRoute, f *feature) {
	methods := map[string][]string{}
	for _, route := range f.Routes {
		methods[route.Path] = append(methods[route.Path], route.Method)
		if hasHead(route) {
			methods[route.Path] = append(methods[route.Path], http.MethodHead)
		}
	}
	for _, route := range f.Routes {
		steps := t.featureSteps(f, route)
		if !route.AnyQuery {
			steps = append(steps, checkQuery)
		}
		if route.MaxBody == 0 {
			steps = append(steps, refuseBody)
		}
		if route.Rare {
			steps = append(steps, limitSource(limits.NewSourceRate(rareBurst, rareEvery), f.TooManyFromSource))
		}
		steps = append(steps, t.serveFeature(f, route))
		add(route.Method, route.Path, steps...)
		if hasHead(route) {
			add(http.MethodHead, route.Path, steps...)
		}
		if allowed, headers := pagesMay(route.Access); allowed != "" {
			asked := preflightFeature(allowed, headers, strings.Join(methods[route.Path], ", "))
			add(http.MethodOptions, route.Path, append(t.featureSteps(f, route), checkQuery, refuseBody, asked)...)
		}
	}
}

// hasHead reports whether a route also answers HEAD.
func hasHead(route httpapi.Route) bool { return route.Method == http.MethodGet && !route.NoHead }

// pagesMay returns by which methods and with which headers the page of any site
// may call a route, both empty where it may not.
func pagesMay(access httpapi.Access) (methods, headers string) {
	switch access {
	case httpapi.Public:
		return readMethods, readHeaders
	case httpapi.Program:
		return http.MethodPost, "Content-Type"
	default:
		return "", ""
	}
}

// featureSteps are those by which a request of a route comes in.
func (t *router) featureSteps(f *feature, route httpapi.Route) []step {
	switch route.Access {
	case httpapi.Public, httpapi.Program:
		return []step{openToPages, t.access.checkHost, limitSource(f.sources, f.TooManyFromSource)}
	case httpapi.Page:
		return []step{showProblems(f), checkCrowd, t.access.checkHost, t.access.checkOwnPage, limitSource(f.sources, f.TooManyFromSource)}
	case httpapi.Session:
		return []step{showProblems(f), t.access.checkHost, t.access.checkSameSite, limitSource(f.sources, f.TooManyFromSource)}
	case httpapi.Keyed:
		return []step{t.access.checkOrigin}
	case httpapi.User:
		return []step{t.access.checkOrigin, t.access.authenticate, t.observer.trace, t.bounds.findAccount}
	case httpapi.UserManage:
		return []step{t.access.checkOrigin, t.access.authenticate, t.observer.trace, t.bounds.findAccount, checkManage}
	default:
		return []step{t.access.checkOrigin, t.access.requireAdmin(route.Roles)}
	}
}

// showProblems has problems answered with a page where a browser asks for one.
func showProblems(f *feature) step {
	return func(r *request) error {
		if httpapi.WantsPage(r.http.Header) {
			r.showProblem = f.ShowProblem
		}
		return nil
	}
}

// openToPages lets the page of any site read what anyone may read.
func openToPages(r *request) error {
	if err := checkCrowd(r); err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, X-Request-Id")
	return nil
}

// preflightFeature answers what a browser asks before a page calls with a header
// that not every page may send. What it allows is the same for all. A
// request that is no preflight is answered with the methods of the path.
func preflightFeature(allowed, headers, methods string) step {
	return func(r *request) error {
		h := r.w.Header()
		if r.http.Header.Get("Access-Control-Request-Method") == "" {
			h.Set("Allow", methods)
			return problems.MethodNotAllowed
		}
		h.Set("Access-Control-Allow-Methods", allowed)
		h.Set("Access-Control-Allow-Headers", headers)
		h.Set("Access-Control-Max-Age", preflightAge)
		h.Set("Cache-Control", "no-store")
		r.w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

func checkQuery(r *request) error {
	if r.http.URL.ForceQuery {
		return problems.PartQuery
	}
	return nil
}

// limitSource refuses a request of a source that makes too many, with tooMany. A nil
// rate is no limit.
func limitSource(rate *limits.SourceRate, tooMany *httpapi.Problem) step {
	return func(r *request) error {
		if rate == nil {
			return nil
		}
		if wait := rate.Take(r.source, time.Now()); wait > 0 {
			return tooMany.After(wait)
		}
		return nil
	}
}

func (t *router) serveFeature(f *feature, route httpapi.Route) step {
	return func(r *request) error {
		call := &featureCall{router: t, feature: f, r: r, route: route}
		if err := call.reserve(); err != nil {
			return err
		}
		defer call.body.Release()
		defer call.answer.Release()
		// All that was read, also of a body that broke off. What net/http had in
		// its buffers is out of reach.
		defer func() { clear(call.secret[:cap(call.secret)]) }()
		err := route.Handle(call)
		if err == nil {
			t.deliver(r)
		}
		if route.LetsIn && err == nil && r.Status() == http.StatusOK {
			t.bounds.memory.LetIn.Remember(r.source, time.Now())
		}
		return err
	}
}
