// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// cutoffLife is how long the end of logins is kept: longer than a grant can last,
// for which at most a year can be configured.
const cutoffLife = 366 * 24 * time.Hour

// cutoffTries is how often the end of a user's logins is stored that others store
// in the same moment.
const cutoffTries = 5

// errCutoffs is that they did each time.
var errCutoffs = errors.New("the logins of the user are being ended by others")

// cutoff is what is stored of the end of all logins of a user, by the user: what
// was granted to who came until then is not refreshed.
type cutoff struct {
	At time.Time `json:"at"`
}

// endLogins ends what programs were granted for a user's bridge. Nobody is kept
// from logging in again. Whether there is such a bridge, or was a login, it does
// not tell.
func (s *Server) endLogins(c surface.Call) error {
	user, err := v1alpha1.ParseUserID(c.Param("userId"))
	if err != nil {
		return err // The form of paths lets none other in.
	}
	// Whoever asked may have hung up, and it has to be done and audited all the same.
	if err := s.putCutoff(context.WithoutCancel(c.Request().Context()), user); err != nil {
		return fmt.Errorf("%w: store end of logins: %w", errStoreAway, err)
	}
	if err := c.Audit(surface.Act{Name: actEnd, On: string(user), User: string(user)}); err != nil {
		return err
	}
	c.Writer().Header().Set("Cache-Control", "no-store")
	c.Writer().WriteHeader(http.StatusNoContent)
	return nil
}

// putCutoff stores the end of a user's logins in place of a former one.
func (s *Server) putCutoff(ctx context.Context, user v1alpha1.UserID) error {
	at := s.Now()
	value, ends := encode(cutoff{at}), at.Add(cutoffLife)
	for range cutoffTries {
		err := s.Store.Put(ctx, flow.KindCutoff, string(user), value, ends)
		if !errors.Is(err, flow.ErrExists) {
			return err //nolint:wrapcheck // The caller says what it is of.
		}
		former, err := s.Store.Get(ctx, flow.KindCutoff, string(user))
		if err == nil {
			err = s.Store.Swap(ctx, flow.KindCutoff, string(user), former, value, ends)
		}
		if !errors.Is(err, flow.ErrNotFound) {
			return err //nolint:wrapcheck // As above.
		}
	}
	return errCutoffs
}

// ended reports whether an administrator has ended a grant, of which nobody has
// looked up yet whose bridges its person may use.
func (s *Server) ended(ctx context.Context, g grant) (bool, error) {
	users, err := s.Users.Bridges(ctx, g.Who)
	if err != nil {
		return false, fmt.Errorf("look up bridges: %w", err)
	}
	return s.cutOff(ctx, g, users)
}

// cutOff reports whether the person of a grant came before the logins were ended of
// the user whose bridge it opens. Its person may use the bridges of users.
func (s *Server) cutOff(ctx context.Context, g grant, users []v1alpha1.UserID) (bool, error) {
	if user, _ := userOf(g.Resource, s.Issuer); user != "" {
		users = []v1alpha1.UserID{user}
	}
	for _, user := range users {
		value, err := s.Store.Get(ctx, flow.KindCutoff, string(user))
		if errors.Is(err, flow.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read end of logins: %w", err)
		}
		var end cutoff
		if err := json.Unmarshal(value, &end); err != nil {
			return false, fmt.Errorf("decode end of logins: %w", err)
		}
		if !g.Began.After(end.At) {
			return true, nil
		}
	}
	return false, nil
}
