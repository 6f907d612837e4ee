// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Wake starts a bridge that sleeps, as a call does. It does not wait for the bridge.
type Wake func(context.Context, route.Backend) error

// wakeUser starts a user's bridge.
func (a *Administration) wakeUser(c httpapi.Call) error {
	answer, err := a.Wake(c, v1alpha1.UserID(c.Param("userId")))
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, answer)
}

// Wake starts a user's bridge if it sleeps and somebody may use it.
func (a *Administration) Wake(c httpapi.Call, user v1alpha1.UserID) (overview.Wake, error) {
	table := a.o.Routes.Current()
	if table == nil {
		return overview.Wake{}, problems.InventoryUnknown
	}
	b, known := table.Lookup(user)
	if !known {
		return overview.Wake{}, problems.NotFound
	}
	answer := overview.Wake{User: user, Waking: b.State == route.Sleeping && !b.Closed}
	act := httpapi.Act{Name: "bridge.wake", User: string(user)}
	if answer.Waking {
		ctx, cancel := httpapi.ActContext(c.Request().Context())
		defer cancel()
		if err := a.o.Wake(ctx, b); err != nil {
			act.Unsure = true
			return overview.Wake{}, errors.Join(fmt.Errorf("%w: %w", problems.KeysAway, err), c.Audit(act))
		}
	}
	return answer, c.Audit(act)
}
