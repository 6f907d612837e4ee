// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// publisherRequest describes a publisher.
type publisherRequest struct {
	ID          string   `json:"id"`
	DisplayName string   `json:"displayName"`
	Contact     string   `json:"contact"`
	Verified    bool     `json:"verified"`
	PublicKeys  []string `json:"publicKeys"`
}

func (r publisherRequest) publisher() catalog.Publisher {
	return catalog.Publisher{ID: r.ID, DisplayName: r.DisplayName, Contact: r.Contact, Verified: r.Verified, PublicKeys: r.PublicKeys}
}

// createdKey is the only view of a key, beside the publisher that it belongs
// to.
type createdKey struct {
	Key       string            `json:"key"`
	KeyID     string            `json:"keyId"`
	Publisher catalog.Publisher `json:"publisher"`
}

// publisherHandler answers administrators about publishers and their keys.
type publisherHandler struct{ *core }

// listPublishers answers with the publishers, and with the ids and dates of
// their keys.
func (a *publisherHandler) listPublishers(c httpapi.Call) error {
	if _, err := a.snapshot(); err != nil {
		return err
	}
	if err := c.Audit(httpapi.Act{Name: "publishers.list"}); err != nil {
		return err
	}
	all := a.store.Publishers()
	if all == nil {
		all = []catalog.Publisher{}
	}
	return httpapi.AnswerJSON(c, http.StatusOK, struct {
		Publishers []catalog.Publisher `json:"publishers"`
	}{all})
}

// getPublisher answers with one publisher.
func (a *publisherHandler) getPublisher(c httpapi.Call) error {
	if _, err := a.snapshot(); err != nil {
		return err
	}
	p, ok := a.store.Publisher(c.Param("id"))
	if !ok {
		return errNoPublisher
	}
	if err := c.Audit(httpapi.Act{Name: "publishers.get", Target: p.ID}); err != nil {
		return err
	}
	tagged(c, p.Revision)
	return httpapi.AnswerJSON(c, http.StatusOK, p)
}

// createPublisher creates a publisher with a key, and answers with the key,
// once.
func (a *publisherHandler) createPublisher(c httpapi.Call) error {
	var asked struct {
		publisherRequest

		Expires string `json:"expires"`
	}
	found, err := decode(c, &asked)
	if err != nil {
		return err
	}
	expires, wrong := expiry(asked.Expires, c.Now())
	found = append(found, wrong...)
	if found = append(found, catalog.CheckPublisher(asked.publisher())...); len(found) > 0 {
		return bodyProblem(found)
	}
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	p, key, err := a.store.CreatePublisher(ctx, asked.publisher(), expires)
	if err := tell(c, httpapi.Act{Name: "publishers.create", Target: asked.ID}, err, false, refusedPublisher); err != nil {
		return err
	}
	var keyID string
	if len(p.Keys) > 0 {
		keyID = p.Keys[len(p.Keys)-1].ID
	}
	a.awaitKey(ctx, p.ID, keyID, true)
	c.Writer().Header().Set("Location", "/admin/publishers/"+p.ID)
	tagged(c, p.Revision)
	return httpapi.AnswerJSON(c, http.StatusCreated, createdKey{key, keyID, p})
}

// updatePublisher replaces a publisher's description, and does not change their
// keys.
func (a *publisherHandler) updatePublisher(c httpapi.Call) error {
	revision, err := ifMatch(c.Request())
	if err != nil {
		return err
	}
	var asked publisherRequest
	found, err := decode(c, &asked)
	if err != nil {
		return err
	}
	if asked.ID != "" && asked.ID != c.Param("id") {
		found = append(found, invalid("id", "must be "+c.Param("id")+", or left out"))
	}
	asked.ID = c.Param("id")
	if found = append(found, catalog.CheckPublisher(asked.publisher())...); len(found) > 0 {
		return bodyProblem(found)
	}
	if revision == "" {
		revision = catalog.AnyRevision
	}
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	p, err := a.store.UpdatePublisher(ctx, asked.publisher(), revision)
	if err := tell(c, httpapi.Act{Name: "publishers.update", Target: asked.ID}, err, false, refusedPublisher); err != nil {
		return err
	}
	tagged(c, p.Revision)
	return httpapi.AnswerJSON(c, http.StatusOK, p)
}

// addKey creates another key for a publisher, and answers with it, once.
func (a *publisherHandler) addKey(c httpapi.Call) error {
	var asked struct {
		Expires string `json:"expires"`
	}
	found, err := decode(c, &asked)
	if err != nil {
		return err
	}
	expires, wrong := expiry(asked.Expires, c.Now())
	if found = append(found, wrong...); len(found) > 0 {
		return bodyProblem(found)
	}
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	id := c.Param("id")
	p, keyID, key, err := a.store.AddPublisherKey(ctx, id, expires)
	on := id
	if keyID != "" {
		on += "/" + keyID
	}
	if err := tell(c, httpapi.Act{Name: "publishers.keys.create", Target: on}, err, false, refusedPublisher); err != nil {
		return err
	}
	a.awaitKey(ctx, id, keyID, true)
	return httpapi.AnswerJSON(c, http.StatusCreated, createdKey{key, keyID, p})
}

// revokeKey withdraws a publisher's key.
func (a *publisherHandler) revokeKey(c httpapi.Call) error {
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	id, keyID := c.Param("id"), c.Param("keyId")
	err := a.store.RevokePublisherKey(ctx, id, keyID)
	if err := tell(c, httpapi.Act{Name: "publishers.keys.revoke", Target: id + "/" + keyID}, err, false, a.refusedKey(id)); err != nil {
		return err
	}
	a.awaitKey(ctx, id, keyID, false)
	return done(c)
}

// refusedKey is refusedPublisher for a route on a key: the key may be missing
// instead.
func (a *publisherHandler) refusedKey(id string) func(error) (bool, error) {
	return func(err error) (certain bool, answer error) {
		if _, there := a.store.Publisher(id); there && errors.Is(err, catalog.ErrNotFound) {
			return true, errNoKey
		}
		return refusedPublisher(err)
	}
}

// expiry reads how long a key is valid, such as 90d; empty means for ever.
func expiry(asked string, now time.Time) (*time.Time, []catalog.Problem) {
	lifetime, err := apikey.ParseLifetime(asked)
	if err != nil {
		return nil, []catalog.Problem{invalid("expires", err.Error())}
	}
	if lifetime == 0 {
		return nil, nil
	}
	return new(now.Add(lifetime)), nil
}
