// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// invitationLife is how long an invitation is good: until somebody who is away for
// a few days has read their mail.
const invitationLife = 7 * 24 * time.Hour

// invitation is what is stored of one, by the hash of its code.
type invitation struct {
	flow.Invited

	Ends time.Time `json:"ends"`
}

// errInvitation means that the invitation is used, expired or unknown.
var errInvitation = refusePage(statusBadRequest, "This invitation is over", "Invitations can be used once, and for seven days. Ask for another one.")

// invitationHandler makes invitations and admits those who follow one.
type invitationHandler struct {
	*core
	*loginSessions
	*providerLogin
}

// invite makes an invitation to a user's bridge. Whether there is such a bridge is
// found when it is taken: an administrator may make it meanwhile.
func (s *invitationHandler) invite(c httpapi.Call) error {
	user, err := v1alpha1.ParseUserID(c.Param("userId"))
	if err != nil {
		return err // The form of paths lets none other in.
	}
	invited, err := s.Users.Invite(user)
	if err != nil {
		return fmt.Errorf("invite: %w", err)
	}
	code, err := s.secret()
	if err != nil {
		return err
	}
	i := invitation{Invited: invited, Ends: s.Now().Add(invitationLife).UTC().Truncate(time.Second)}
	if err := s.putInvitation(c.Request().Context(), flow.Hash(code), i); err != nil {
		return fmt.Errorf("%w: %w", errStoreAway, err)
	}
	if err := c.Audit(httpapi.Act{Name: actInvite, Target: string(user), User: string(user)}); err != nil {
		return err
	}
	sendJSON(c, http.StatusCreated, struct {
		URL     string    `json:"url"`
		Expires time.Time `json:"expiresAt"`
	}{s.Issuer + pathInvitation + "?" + url.Values{parameterCode: {code}}.Encode(), i.Ends})
	return nil
}

func (s *invitationHandler) putInvitation(ctx context.Context, key string, i invitation) error {
	if err := s.Store.Put(ctx, flow.KindInvitation, key, jsondoc.EncodeExact(i), i.Ends); err != nil {
		return fmt.Errorf("store invitation: %w", err)
	}
	return nil
}

// invitation is the page of an invitation. It always asks where to log in: to go
// on from there is to accept, and no other site's link can do that.
func (s *invitationHandler) invitation(c httpapi.Call) error {
	q, ok := flow.ParseParameters(c.Request().URL.RawQuery)
	if !ok || q.Repeated(parameterCode) || !flow.IsSecret(q.Get(parameterCode)) {
		return errInvitation
	}
	key := flow.Hash(q.Get(parameterCode))
	i, err := s.invitationAt(c.Request().Context(), key, s.Store.Get)
	if err != nil {
		return err
	}
	p, err := s.newSession(c)
	if err != nil {
		return err
	}
	p.Invitation, p.Invited = key, i.User
	return s.chooseProvider(c, p)
}

// invitationAt returns an invitation by get: the store's Get or its Take.
func (s *invitationHandler) invitationAt(ctx context.Context, key string, get func(context.Context, flow.Kind, string) ([]byte, error)) (invitation, error) {
	value, err := get(ctx, flow.KindInvitation, key)
	if errors.Is(err, flow.ErrNotFound) {
		return invitation{}, errInvitation
	}
	if err != nil {
		return invitation{}, fmt.Errorf("read invitation: %w", err)
	}
	var i invitation
	if err := json.Unmarshal(value, &i); err != nil {
		return invitation{}, fmt.Errorf("decode invitation: %w", err)
	}
	if !s.Now().Before(i.Ends) {
		return invitation{}, errInvitation
	}
	return i, nil
}

// join lets the person who logged in for an invitation use its bridge. The
// invitation is taken first, so that it is good for one person, and put back where
// that cannot be done now.
func (s *invitationHandler) join(c httpapi.Call, p loginSession, who flow.Identity) error {
	// What was begun is finished also where the person leaves.
	ctx := context.WithoutCancel(c.Request().Context())
	i, err := s.invitationAt(ctx, p.Invitation, s.Store.Take)
	if err != nil {
		return err
	}
	joined, err := s.Users.Onboard(ctx, who, i.Invited)
	if errors.Is(err, flow.ErrNotInvited) {
		return fmt.Errorf("%w: %w", errInvitation, err)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("onboard: %w", err), s.putInvitation(ctx, p.Invitation, i))
	}
	user := joined.User
	resource := oauth.Resource(s.Issuer, "/u/"+string(user)+"/mcp")
	if err := c.Audit(s.loginAct(actJoin, who, string(user), resource)); err != nil {
		return err
	}
	return s.pages.Show(c, s.pages.InvitedPage, statusOK, "", invitedPage{
		heading: s.pages.Titled("Welcome"), Person: who.Name, User: user, Address: resource,
	})
}
