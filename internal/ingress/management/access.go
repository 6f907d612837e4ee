// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
)

// maxAccessRequest holds an access many times over.
const maxAccessRequest = 4 << 10

// UserAccess is the access of users. Its errors are access.ErrNoUser and those of the API
// server.
type UserAccess interface {
	Report(ctx context.Context, user v1alpha1.UserID) (access.Report, error)
	Set(ctx context.Context, user v1alpha1.UserID, to v1alpha1.Access, dryRun bool) (access.Report, error)
}

// getAccess answers with what is known of a user's access.
func (a *Administration) getAccess(c httpapi.Call) error {
	report, err := a.Access(c, v1alpha1.UserID(c.Param("userId")))
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, report)
}

// Access returns what is known of a user's access.
func (a *Administration) Access(c httpapi.Call, user v1alpha1.UserID) (access.Report, error) {
	report, err := a.o.Access.Report(c.Request().Context(), user)
	if err != nil {
		return report, accessProblem(err)
	}
	return report, c.Audit(httpapi.Act{Name: "access.get", User: string(user)})
}

// putAccess sets a user's access, or says what would follow.
func (a *Administration) putAccess(c httpapi.Call) error {
	to, dryRun, err := readAccessRequest(c)
	if err != nil {
		return err
	}
	report, err := a.SetAccess(c, v1alpha1.UserID(c.Param("userId")), to, dryRun)
	if err != nil {
		return err
	}
	return httpapi.AnswerJSON(c, http.StatusOK, report)
}

// SetAccess sets a user's access, or with dryRun returns what would follow.
func (a *Administration) SetAccess(c httpapi.Call, user v1alpha1.UserID, to v1alpha1.Access, dryRun bool) (access.Report, error) {
	ctx, cancel := httpapi.ActContext(c.Request().Context())
	defer cancel()
	report, err := a.o.Access.Set(ctx, user, to, dryRun)
	act := httpapi.Act{Name: "access.set", User: string(user), Target: string(to)}
	if dryRun {
		act.Name = "access.preview"
	}
	switch {
	case errors.Is(err, access.ErrNoUser):
		return report, accessProblem(err)
	case err != nil && !dryRun:
		act.Unsure = true
		return report, errors.Join(accessProblem(err), c.Audit(act))
	case err != nil:
		return report, accessProblem(err)
	}
	return report, c.Audit(act)
}

// readAccessRequest reads {"access": "Suspended", "dryRun": true}.
func readAccessRequest(c httpapi.Call) (to v1alpha1.Access, dryRun bool, err error) {
	var asked struct {
		Access string `json:"access"`
		DryRun bool   `json:"dryRun"`
	}
	if err := httpapi.ReadObject(c, &asked, problems.AccessRequest, problems.AccessRequestTooLarge); err != nil {
		return "", false, err
	}
	switch to = v1alpha1.Access(asked.Access); to {
	case v1alpha1.AccessAllowed, v1alpha1.AccessSuspended, v1alpha1.AccessOffboarded:
		return to, asked.DryRun, nil
	}
	return "", false, problems.AccessRequest
}

// accessProblem returns err as the caller may know it.
func accessProblem(err error) error {
	if errors.Is(err, access.ErrNoUser) {
		return fmt.Errorf("%w: %w", problems.NotFound, err)
	}
	return fmt.Errorf("%w: %w", problems.KeysAway, err)
}
