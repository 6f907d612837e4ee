// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// featureCall is a request of a feature.
type featureCall struct {
	router  *router
	feature *feature
	r       *request
	route   httpapi.Route
	memory  *memory
	secret  []byte
}

// Request implements httpapi.Call.
func (c *featureCall) Request() *http.Request { return c.r.http }

// Writer implements httpapi.Call.
func (c *featureCall) Writer() http.ResponseWriter { return c.r.w }

// Param implements httpapi.Call.
func (c *featureCall) Param(name string) string { return c.r.params.Param(name) }

// Now implements httpapi.Call.
func (c *featureCall) Now() time.Time { return c.r.start }

// Key implements httpapi.Call.
func (c *featureCall) Key() string { return authn.Credential(c.r.http.Header) }

// Refuse implements httpapi.Call.
func (c *featureCall) Refuse(keyID string) error {
	return c.router.access.authn.Refuse(c.r.source, c.Key(), keyID)
}

// LimitRate implements httpapi.Call.
func (c *featureCall) LimitRate(holder string) error {
	if c.feature.holders == nil {
		return nil
	}
	if wait := c.feature.holders.Take(maphash.String(rateSeed, holder), time.Now()); wait > 0 {
		return c.feature.TooManyOfHolder.After(wait)
	}
	return nil
}

// Body implements httpapi.Call.
func (c *featureCall) Body() ([]byte, error) {
	r := c.r.http
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
	if err := c.memory.reserve(bodySize(r, most)); err != nil {
		return nil, err
	}
	body, err := readWithin(c.r, most+1, c.memory.timeout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", problems.BodyUnreadable, err)
	}
	if int64(len(body)) > most {
		return nil, bodyTooLarge(most)
	}
	return body, nil
}

func (c *featureCall) checkType(contentType string) error {
	switch {
	case c.route.Form && !isMediaType(contentType, formType):
		return problems.FormType
	case !c.route.Form && !ofJSON(contentType):
		return problems.MediaType
	}
	return nil
}

// Bridge implements httpapi.Call.
func (c *featureCall) Bridge() (route.Backend, error) {
	b, err := c.router.access.authn.Bridge(c.r.principal())
	if err == nil && c.r.route == routeSecrets {
		c.r.secret = c.Param("name")
	}
	return b, err
}

// Audit implements httpapi.Call.
func (c *featureCall) Audit(a httpapi.Act) error {
	who, prefix := c.r.administrator.Audited(), audit.AdminPrefix
	switch {
	case a.Self:
		who, prefix = c.self(a), audit.UserPrefix
	case a.Publisher != "":
		who, prefix = audit.Principal{Kind: audit.KindPublisherKey, ID: a.Publisher + "/" + a.KeyID}, audit.PublishPrefix
	case a.Login != "":
		who, prefix = audit.Principal{Kind: audit.KindOAuth, ID: a.Login, Issuer: c.router.access.publicURL()}, audit.LoginPrefix
	}
	act := audit.Call{Method: prefix + a.Name, Action: a.Target, Status: audit.Success}
	if a.Unsure {
		act.Status, act.ErrorType = audit.UpstreamError, "outcome_unknown"
	}
	return c.router.auditor.writeAct(c.r, who, a.User, act)
}

// self returns the user who makes an act on their own bridge.
func (c *featureCall) self(a httpapi.Act) audit.Principal {
	switch {
	case a.UserKey != "":
		return audit.Principal{Kind: audit.KindUserKey, ID: a.UserKey}
	case a.Login != "":
		return audit.Principal{Kind: audit.KindOAuth, ID: a.Login, Issuer: c.router.access.publicURL()}
	}
	return c.r.principal().Audited()
}

// Secret implements httpapi.Call. It is read into one buffer, because one that grew
// would leave copies behind.
func (c *featureCall) Secret() ([]byte, error) {
	r, most := c.r.http, c.route.MaxBody
	if err := c.memory.reserve(bodySize(r, most)); err != nil {
		return nil, err
	}
	if r.ContentLength > most {
		c.discardRest()
		return nil, problems.SecretTooLarge
	}
	// One byte more than is allowed shows that more came.
	value, n := make([]byte, bodySize(r, most)+1), 0
	c.secret = value
	err := within(c.r, c.memory.timeout, func() (more bool, err error) {
		for err == nil && n < len(value) {
			var m int
			m, err = r.Body.Read(value[n:])
			n += m
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return true, err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", problems.BodyUnreadable, err)
	case int64(n) > most:
		c.discardRest()
		return nil, problems.SecretTooLarge
	case n == 0:
		return nil, problems.SecretEmpty
	}
	return value[:n], nil
}

// maxDiscarded is how much of a body that is too long is read all the same.
// A client that is still sending when the connection closes may never see why, and
// none sends more than that by mistake.
const maxDiscarded = 1 << 20

// discardRest reads the rest of a body that is refused.
func (c *featureCall) discardRest() {
	_ = within(c.r, c.memory.timeout, func() (more bool, err error) {
		_, err = io.CopyN(io.Discard, c.r.http.Body, maxDiscarded)
		return !errors.Is(err, io.EOF), nil
	})
}
