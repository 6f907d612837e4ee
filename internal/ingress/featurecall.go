// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
	"github.com/hostedbridge/hostedbridge/internal/ingress/limits"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// featureCall is a request of a feature.
type featureCall struct {
	router  *router
	feature *feature
	r       *request
	route   httpapi.Route
	secret  []byte
	// body and answer are the memory that they take, and bodyTimeout is how long a body may
	// take to come.
	body, answer *limits.Reservation
	bodyTimeout  time.Duration
	kept         int64 // of answer, for what Exchange returns
	writer       answerWriter
}

// reserve reserves the memory for the answer, before any of it is built.
func (c *featureCall) reserve() error {
	m, r := c.router.bounds.memory, c.r
	c.bodyTimeout = c.router.config.BodyTimeout
	known := true
	switch c.route.Access {
	case httpapi.User, httpapi.UserManage:
		c.body, c.answer = m.OfUser(string(r.principal().User))
	case httpapi.Admin:
		c.body, c.answer = m.OfAdministrator(r.administrator.Audited().ID)
	default:
		known = false
		c.body, c.answer = m.OfStranger(r.source, c.route.LetsIn, time.Now())
		if c.route.Access != httpapi.Keyed {
			c.bodyTimeout = min(anonymousTimeout, c.bodyTimeout)
		}
	}
	c.writer = answerWriter{ResponseWriter: r.w, reserved: c.answer}
	if c.route.Act && r.admitted {
		if err := c.countAct(); err != nil {
			return err
		}
	}
	if err := c.answer.Reserve(cmp.Or(c.route.MaxAnswer, defaultAnswer)); err != nil {
		return err
	}
	if known {
		r.know()
	}
	return nil
}

// knowAs has somebody who is known now have what the request holds.
func (c *featureCall) knowAs(body, answer *limits.Reservation) error {
	if err := c.body.Move(body); err != nil {
		return err
	}
	if err := c.answer.Move(answer); err != nil {
		return err
	}
	c.r.know()
	return nil
}

// Request implements httpapi.Call.
func (c *featureCall) Request() *http.Request { return c.r.http }

// Writer implements httpapi.Call.
func (c *featureCall) Writer() http.ResponseWriter { return &c.writer }

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
	if c.feature.holders != nil {
		if wait := c.feature.holders.Take(maphash.String(rateSeed, holder), time.Now()); wait > 0 {
			return c.feature.TooManyOfHolder.After(wait)
		}
	}
	if c.route.Access != httpapi.Keyed {
		return nil
	}
	return c.knowAs(c.router.bounds.memory.OfProgram(c.feature.Name, holder))
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
	body, err := readWithin(c.r, most+1, c.bodyTimeout, c.body)
	if err != nil {
		return nil, unreadable(err)
	}
	if int64(len(body)) > most {
		return nil, bodyTooLarge(most)
	}
	return body, nil
}

func (c *featureCall) checkType(contentType string) error {
	switch {
	case c.route.Form && !httpapi.IsMediaType(contentType, httpapi.FormType):
		return problems.FormType
	case !c.route.Form && !httpapi.IsJSON(contentType) && (c.route.MediaType == "" || !httpapi.IsMediaType(contentType, c.route.MediaType)):
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

// KeyEnds implements httpapi.Call.
func (c *featureCall) KeyEnds() time.Time { return c.r.principal().KeyEnds() }

// countAct counts an act of a user in the quota of their tier. One of a tier that the
// installation does not have counts nowhere.
func (c *featureCall) countAct() error {
	b := c.router.bounds
	if c.r.account.Bridge == "" { // A session has a user since a moment.
		if err := b.findAccount(c.r); err != nil {
			return err
		}
	}
	if !c.r.account.Known {
		return nil
	}
	return b.quota.TakeAct(c.r.context(), c.r.w.Header(), &c.r.account)
}

// Audit implements httpapi.Call.
func (c *featureCall) Audit(a httpapi.Act) error {
	who, prefix := c.r.administrator.Audited(), audit.AdminPrefix
	switch {
	case a.Self:
		who, prefix = c.self(a), audit.UserPrefix
	case a.Publisher != "":
		who, prefix = audit.Principal{Kind: audit.KindPublisherKey, ID: a.Publisher + "/" + a.KeyID}, audit.PublishPrefix
	case a.Directory != "":
		who, prefix = audit.Principal{Kind: audit.KindSCIMToken, ID: a.Directory + "/" + a.KeyID, Issuer: a.Issuer}, audit.SCIMPrefix
	case a.Login != "":
		who, prefix = audit.Principal{Kind: audit.KindOAuth, ID: a.Login, Issuer: c.router.access.publicURL()}, audit.LoginPrefix
	}
	if a.Owner != "" {
		who, prefix = audit.Principal{Kind: audit.KindOAuth, ID: a.Owner, Issuer: c.router.access.publicURL()}, audit.SharedPrefix
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
	if err := c.body.Reserve(bodySize(r, most)); err != nil {
		return nil, err
	}
	if r.ContentLength > most {
		c.discardRest()
		return nil, problems.SecretTooLarge
	}
	// One byte more than is allowed shows that more came.
	value, n := make([]byte, bodySize(r, most)+1), 0
	c.secret = value
	err := within(c.r, c.bodyTimeout, func() (more bool, err error) {
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
		return nil, unreadable(err)
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
	_ = within(c.r, c.bodyTimeout, func() (more bool, err error) {
		_, err = io.CopyN(io.Discard, c.r.http.Body, maxDiscarded)
		return !errors.Is(err, io.EOF), nil
	})
}
