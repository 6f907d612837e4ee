// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/jsonrpc"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

const (
	// exchangeTimeout bounds a person's own call. A person waits for its page.
	exchangeTimeout = 60 * time.Second
	// exchangeVersion is the version of MCP in which a request needs no session.
	exchangeVersion = "2026-07-28"
)

// Identify implements httpapi.Call.
func (c *featureCall) Identify(key string) (httpapi.Identity, error) {
	return c.router.access.authn.Identify(c.r.source, key)
}

// Enter implements httpapi.Call.
func (c *featureCall) Enter(who httpapi.Identity) error {
	p, err := c.router.access.authn.Resume(who)
	if err != nil {
		return err
	}
	c.r.caller, c.r.admitted = p, true
	if err := c.knowAs(c.router.bounds.memory.OfUser(string(p.User))); err != nil || !c.route.Act {
		return err
	}
	return c.countAct()
}

// IdentifyAdministrator implements httpapi.Call.
func (c *featureCall) IdentifyAdministrator(key string) (httpapi.Administrator, error) {
	return c.router.access.authn.IdentifyAdministrator(c.r.source, key)
}

// EnterAdministrator implements httpapi.Call.
func (c *featureCall) EnterAdministrator(who httpapi.Administrator) error {
	a, err := c.router.access.authn.ResumeAdministrator(who)
	switch {
	case err != nil:
		return err
	case !a.May(c.route.Roles):
		return problems.NotFound
	}
	c.r.administrator = a
	return c.knowAs(c.router.bounds.memory.OfAdministrator(a.Audited().ID))
}

// Exchange implements httpapi.Call.
func (c *featureCall) Exchange(rpc httpapi.RPC) httpapi.Exchanged {
	// A page that asks several times keeps one answer at a time.
	if more := int64(rpc.Keep) - c.kept; more > 0 {
		if err := c.answer.Reserve(more); err != nil {
			return httpapi.Exchanged{Status: http.StatusServiceUnavailable, Header: http.Header{}, Body: encodeRPC(publicProblem(err), jsonrpc.ID(rpc.Body), nil)}
		}
		c.kept += more
	}
	ctx, cancel := context.WithTimeout(c.r.context(), exchangeTimeout)
	defer cancel()
	w := &keptAnswer{header: http.Header{}, most: rpc.Keep}
	c.router.serveExchange(newExchange(ctx, c.r, rpc, w))
	if w.status == 0 {
		w.status = http.StatusGatewayTimeout // The call was cut off before it was answered.
	}
	return httpapi.Exchanged{Status: w.status, Header: w.header, Body: w.body.Bytes(), Truncated: w.truncated}
}

// userParam is the user of a path that has no other part.
type userParam v1alpha1.UserID

func (u userParam) Param(name string) string {
	if name == "userId" {
		return string(u)
	}
	return ""
}

// newExchange returns the request that a person's client would send to their URL.
func newExchange(ctx context.Context, of *request, rpc httpapi.RPC, w http.ResponseWriter) *request {
	user := of.principal().User
	r := &request{
		id: newRequestID(), route: routeMCP, start: time.Now(), source: of.source, params: userParam(user),
		caller: of.caller, admitted: true, body: rpc.Body, bodyRead: true,
	}
	ctx, cancel := context.WithCancelCause(ctx)
	hr := (&http.Request{
		Method: http.MethodPost, URL: of.http.URL.JoinPath("/"), Proto: of.http.Proto, Host: of.http.Host,
		Header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {exchangeVersion}, "Mcp-Method": {rpc.Method}, "User-Agent": {of.http.UserAgent()},
		},
		Body: http.NoBody, ContentLength: int64(len(rpc.Body)),
	}).WithContext(ctx)
	hr.URL.Path, hr.URL.RawQuery = "/u/"+string(user)+endpointMCP, ""
	if rpc.Name != "" {
		hr.Header.Set("Mcp-Name", rpc.Name)
	}
	r.http, r.w = hr, exchangeWriter{r}
	r.Begin(w, cancel)
	return r
}

// serveExchange takes a request through the steps of a call, from where its caller is
// known.
func (t *router) serveExchange(r *request) {
	t.observer.begin()
	t.tracker.Open(&r.Call)
	completed := false
	defer func() {
		t.tracker.End(&r.Call)
		r.Cancel()
		t.observer.end(r, completed)
	}()
	defer t.release(r)
	for _, check := range []step{
		t.observer.trace, t.bounds.findAccount, t.watchCall, t.bounds.checkTier, checkMessages, checkScope,
		t.bounds.takeQuota, t.bounds.boundUncounted, t.auditor.auditCalls, t.forward,
	} {
		if err := check(r); err != nil {
			t.refuse(r, err)
			break
		}
	}
	completed = true
}

// exchangeWriter is a request as what steps write to, as the router's writer is.
type exchangeWriter struct{ *request }

// WriteHeaderNow implements inflight.ResponseWriter. WriteHeader has written it.
func (e exchangeWriter) WriteHeaderNow() {
	if !e.Began() {
		e.WriteHeader(http.StatusOK)
	}
}

// keptAnswer keeps the beginning of an answer, at most so many bytes of it.
type keptAnswer struct {
	header    http.Header
	status    int
	body      bytes.Buffer
	most      int
	truncated bool
}

// Header implements http.ResponseWriter.
func (k *keptAnswer) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter.
func (k *keptAnswer) WriteHeader(status int) {
	if k.status == 0 && status >= http.StatusOK {
		k.status = status
	}
}

// Write implements http.ResponseWriter. What is too much is read and thrown away, so that
// the call ends as it would have ended.
func (k *keptAnswer) Write(b []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	kept := b[:min(len(b), k.most-k.body.Len())]
	k.truncated = k.truncated || len(kept) < len(b)
	k.body.Write(kept)
	return len(b), nil
}

// Flush implements http.Flusher.
func (k *keptAnswer) Flush() {}
