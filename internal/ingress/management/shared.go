// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/client"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// SharedTokens verifies an access token for a resource: oauth.Verifier.
type SharedTokens interface {
	Verify(ctx context.Context, token, resource string, now time.Time) (oauth.Token, error)
}

// SharedOptions are what the routes of owners stand on. None may be nil.
type SharedOptions struct {
	// PublicURL is the installation's. Tokens are for oauth.SharedPath below it.
	PublicURL string
	Tokens    SharedTokens
	Routes    Routes
	// UID returns the UID of the SharedServer of that name, empty if it does not exist.
	UID     func(ctx context.Context, name string) (string, error)
	Secrets UserSecrets
}

type sharedAPI struct{ SharedOptions }

// Shared returns the feature by which owners set the secrets of SharedServers. It takes no
// key of a user or an administrator, and no token that a client can ask for.
func Shared(o SharedOptions) httpapi.Feature {
	s := &sharedAPI{o}
	const all, one = oauth.SharedPath + "/:shared/secrets", oauth.SharedPath + "/:shared/secrets/:name"
	f := httpapi.Feature{Name: "shared", MaxPath: maxPath, Params: map[string]httpapi.Param{
		"shared": {Form: `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`}, "name": params["name"],
	}, Routes: []httpapi.Route{
		{Method: http.MethodGet, Path: all, Handle: s.list},
		{Method: http.MethodPut, Path: one, MaxBody: MaxSecret, Handle: s.put},
		{Method: http.MethodDelete, Path: one, Handle: s.remove},
	}}
	for i := range f.Routes {
		f.Routes[i].Access, f.Routes[i].AnyQuery, f.Routes[i].NoHead = httpapi.Keyed, true, true
	}
	return f
}

// owned is a SharedServer, and the owner who calls.
type owned struct {
	ref   client.Ref
	owner string
}

// authorize returns the SharedServer of the path, if the caller's token names it. One that is
// not theirs and one that does not exist are the same answer.
func (s *sharedAPI) authorize(c httpapi.Call) (owned, error) {
	ctx := c.Request().Context()
	token, err := s.Tokens.Verify(ctx, c.Key(), oauth.Resource(s.PublicURL, oauth.SharedPath), c.Now())
	switch {
	case errors.Is(err, oauth.ErrKeysAway):
		return owned{}, fmt.Errorf("%w: %w", problems.LoginAway, err)
	case errors.Is(err, oauth.Expired):
		return owned{}, problems.Unauthorized
	case err != nil, !token.Own:
		return owned{}, c.Refuse("")
	}
	t := s.Routes.Current()
	if t == nil {
		return owned{}, problems.NotReady
	}
	if !t.IsOpen(route.Person{Subject: token.Subject, Since: token.Issued}) {
		return owned{}, problems.Unauthorized
	}
	if err := c.LimitRate(token.Subject.String()); err != nil {
		return owned{}, err
	}
	name := c.Param("shared")
	uid, err := s.UID(ctx, name)
	if err != nil {
		return owned{}, fmt.Errorf("%w: %w", problems.SecretsAway, err)
	}
	if uid == "" || !slices.Contains(token.Scopes, oauth.SharedScope(uid)) {
		return owned{}, problems.NotFound
	}
	return owned{client.Ref{Name: name, UID: uid, Shared: true}, token.Subject.String()}, nil
}

// list answers with what there is, without values.
func (s *sharedAPI) list(c httpapi.Call) error {
	of, err := s.authorize(c)
	if err != nil {
		return err
	}
	var list client.SecretList
	err = askKeybroker(c.Request().Context(), func(ctx context.Context) (err error) {
		list, err = s.Secrets.List(ctx, of.ref)
		return err
	})
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, struct {
		Secrets []client.SecretInfo `json:"secrets"`
		Missing []string            `json:"missing"`
		Origin  string              `json:"origin"`
	}{list.Secrets, list.Missing, list.Origin})
}

// put sets a secret to the request's body.
func (s *sharedAPI) put(c httpapi.Call) error {
	of, err := s.authorize(c)
	if err != nil {
		return err
	}
	name, err := secretName(c)
	if err != nil {
		return err
	}
	value, err := c.Secret()
	if err != nil {
		return err
	}
	var info client.SecretInfo
	status := http.StatusOK
	err = askKeybroker(c.Request().Context(), func(ctx context.Context) error {
		set, created, err := s.Secrets.Put(ctx, of.ref, name, value)
		if created {
			status = http.StatusCreated
		}
		info = set
		return err
	})
	if err := of.note(c, "secret.set", name, err); err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, status, info)
}

// remove removes a secret.
func (s *sharedAPI) remove(c httpapi.Call) error {
	of, err := s.authorize(c)
	if err != nil {
		return err
	}
	name, err := secretName(c)
	if err != nil {
		return err
	}
	err = askKeybroker(c.Request().Context(), func(ctx context.Context) error {
		return s.Secrets.Delete(ctx, of.ref, name)
	})
	if err := of.note(c, "secret.remove", name, err); err != nil {
		return err
	}
	httpapi.AnswerNothing(c)
	return nil
}

// note records an act in the audit trail, and returns the error to answer with.
func (o owned) note(c httpapi.Call, act, secret string, err error) error {
	return noteSecret(c, httpapi.Act{Name: act, Target: o.ref.Name + "/" + secret, Owner: o.owner}, err)
}
