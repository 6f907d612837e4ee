// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"

	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/jsondoc"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// MaxKeyRequest holds a name and a lifetime many times over.
const MaxKeyRequest = 4 << 10

// UserKeys are the keys in users' HostedBridges. Errors other than those that
// package userkey has are of the API server. An act of which nobody knows what
// became of it ends with a *userkey.UnsureError.
type UserKeys interface {
	Create(ctx context.Context, of userkey.Bridge, name string, expiresAt time.Time) (*userkey.Minted, error)
	List(ctx context.Context, of userkey.Bridge) ([]userkey.Info, error)
	Revoke(ctx context.Context, of userkey.Bridge, id string) error
}

// createKey mints a key for a user and answers with it, once.
func (a *Administration) createKey(c httpapi.Call) error {
	name, lifetime, err := readKeyRequest(c)
	if err != nil {
		return err
	}
	of, err := a.keysOf(v1alpha1.UserID(c.Param("userId")))
	if err != nil {
		return err
	}
	ctx, cancel := actContext(c)
	defer cancel()
	minted, err := a.o.Keys.Create(ctx, of, name, userkey.Expiry(time.Now(), lifetime))
	if err != nil {
		return actFailed(c, "keys.create", err)
	}
	if err := c.Audit(httpapi.Act{Name: "keys.create", User: c.Param("userId"), Target: minted.ID}); err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusCreated, selfservice.CreatedKeyOf(minted, name, time.Now()))
}

// listKeys answers with what may be told of a user's keys.
func (a *Administration) listKeys(c httpapi.Call) error {
	keys, err := a.Keys(c, v1alpha1.UserID(c.Param("userId")))
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, keys)
}

// Keys returns what may be told of a user's keys.
func (a *Administration) Keys(c httpapi.Call, user v1alpha1.UserID) (selfservice.Keys, error) {
	of, err := a.keysOf(user)
	if err != nil {
		return selfservice.Keys{}, err
	}
	keys, err := a.o.Keys.List(c.Request().Context(), of)
	if err != nil {
		return selfservice.Keys{}, keysProblem(err)
	}
	return selfservice.Keys{Keys: keys, Limit: userkey.MaxKeys}, c.Audit(httpapi.Act{Name: "keys.list", User: string(user)})
}

// revokeKey removes a key that was added as one of its own.
func (a *Administration) revokeKey(c httpapi.Call) error {
	if err := a.RevokeKey(c, v1alpha1.UserID(c.Param("userId")), c.Param("keyId")); err != nil {
		return err
	}
	c.Writer().Header().Set("Cache-Control", "no-store")
	c.Writer().WriteHeader(http.StatusNoContent)
	return nil
}

// RevokeKey removes a user's key that was added as one of its own.
func (a *Administration) RevokeKey(c httpapi.Call, user v1alpha1.UserID, id string) error {
	of, err := a.keysOf(user)
	if err != nil {
		return err
	}
	ctx, cancel := actContext(c)
	defer cancel()
	if err := a.o.Keys.Revoke(ctx, of, id); err != nil {
		return actFailed(c, "keys.revoke", err)
	}
	return c.Audit(httpapi.Act{Name: "keys.revoke", User: string(user), Target: id})
}

// actTimeout bounds an act, above what the API server has for it.
const actTimeout = 15 * time.Second

// actContext returns the context of an act, which goes on when its caller
// leaves: what was begun is done, and told in the audit trail.
func actContext(c httpapi.Call) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.Request().Context()), actTimeout)
}

// actFailed returns what the caller may know of err. An act that may have been
// done is one for the audit trail.
func actFailed(c httpapi.Call, act string, err error) error {
	unsure, ok := errors.AsType[*userkey.UnsureError](err)
	if ok {
		if err := c.Audit(httpapi.Act{Name: act, User: c.Param("userId"), Target: unsure.KeyID, Unsure: true}); err != nil {
			return err
		}
	}
	return keysProblem(err)
}

// keysOf returns whose keys those of a user are.
func (a *Administration) keysOf(user v1alpha1.UserID) (userkey.Bridge, error) {
	t := a.o.Routes.Current()
	if t == nil {
		return userkey.Bridge{}, problems.NotReady
	}
	b, ok := t.Lookup(user)
	if !ok {
		return userkey.Bridge{}, problems.NotFound
	}
	return bridgeOfKeys(b), nil
}

func bridgeOfKeys(b route.Backend) userkey.Bridge {
	of := userkey.Bridge{UID: b.BridgeUID}
	of.Namespace, of.Name = b.Namespace, b.Name
	return of
}

// readKeyRequest returns what the body asks for. No body asks for a key without
// a name that does not expire.
func readKeyRequest(c httpapi.Call) (name string, lifetime time.Duration, err error) {
	body, err := c.Body()
	switch {
	case errors.Is(err, problems.BodyTooLarge):
		return "", 0, problems.KeyRequestTooLarge
	case err != nil || body == nil:
		return "", 0, err
	}
	return parseKeyRequest(body)
}

// parseKeyRequest reads {"name": "laptop", "expires": "90d"}.
func parseKeyRequest(body []byte) (name string, lifetime time.Duration, err error) {
	var asked struct {
		Name    string `json:"name"`
		Expires string `json:"expires"`
	}
	doc, err := jsondoc.Parse(body)
	if err != nil || doc.Kind != jsondoc.Object {
		return "", 0, problems.KeyRequest
	}
	var wrong []string
	for _, p := range jsondoc.Decode(doc, &asked) {
		wrong = append(wrong, p.String())
	}
	if len(wrong) > 0 {
		return "", 0, problems.KeyRequest.Saying(strings.Join(wrong, "; ") + ". " + problems.KeyRequest.Detail)
	}
	if err := userkey.CheckName(asked.Name); err != nil {
		return "", 0, problems.KeyRequest.Saying(err.Error())
	}
	if lifetime, err = userkey.ParseLifetime(asked.Expires); err != nil {
		return "", 0, problems.KeyRequest.Saying("expires: " + err.Error())
	}
	return asked.Name, lifetime, nil
}

// keysProblem returns err of the keys as the caller may know it.
func keysProblem(err error) error {
	managed, isManaged := errors.AsType[*userkey.ManagedError](err)
	p := problems.KeysAway
	switch {
	case isManaged:
		p = problems.KeyManaged.Saying("The key is held by " + strings.Join(managed.By, ", ") + "; remove it from spec.apiKeys where they have it from.")
	case errors.Is(err, userkey.ErrNoBridge):
		p = problems.NotFound
	case errors.Is(err, userkey.ErrNoKey):
		p = problems.KeyNotFound
	case errors.Is(err, userkey.ErrTooMany):
		p = problems.KeyLimit
	}
	return fmt.Errorf("%w: %w", p, err)
}
