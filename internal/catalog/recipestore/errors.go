// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

const (
	// timeout bounds one act, which is a few requests to the API server.
	timeout = 10 * time.Second
	// maxTries is how often an act is retried after another writer was first,
	// and pause is the wait in between, longer each time. Most of the other
	// writers are the operator, which writes once after each change.
	maxTries   = 8
	retryPause = 5 * time.Millisecond
	// maxReason bounds how much of the API server's message is passed on, which
	// may quote the value.
	maxReason = 512
)

var (
	// errTaken says that an object of that name was created meanwhile.
	errTaken = errors.New("somebody took the name meanwhile")
	// errRaced says that an object has changed since it was read.
	errRaced = errors.New("another writer was quicker each time")
)

// retryConflict retries an act while other writers change the object first.
func retryConflict(ctx context.Context, act func() error) error {
	for try := 1; ; try++ {
		err := act()
		if !isConflict(err) {
			return err
		}
		if try == maxTries {
			return errRaced
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause * time.Duration(try)):
		}
	}
}

// isConflict reports whether the API server refused a version, and not a field
// that another manager holds.
func isConflict(err error) bool {
	return errors.Is(err, errTaken) || apierrors.IsConflict(err) && len(conflictingManagers(err)) == 0
}

// isTaken reports whether an apply for a new object was refused because the
// object exists: another manager holds its fields, or its version is not
// versionOfNothing.
func isTaken(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return apierrors.IsConflict(err)
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.resourceVersion" })
}

// conflictingManagers returns the field managers that made the API server
// refuse an apply.
func conflictingManagers(err error) []string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil {
		return nil
	}
	var managers []string
	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		// The message is: conflict with "manager" using version, or with several.
		_, rest, _ := strings.Cut(cause.Message, `"`)
		name, _, found := strings.Cut(rest, `"`)
		if found && !slices.Contains(managers, name) {
			managers = append(managers, name)
		}
	}
	slices.Sort(managers)
	return managers
}

// catalogError returns the catalog's error for an error of the API server.
func catalogError(err error, doing string) error {
	if err == nil {
		return nil
	}
	if by := conflictingManagers(err); len(by) > 0 {
		return &catalog.ManagedError{By: by}
	}
	if apierrors.IsNotFound(err) {
		return catalog.ErrNotFound
	}
	if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
		return &catalog.InvalidError{Problems: problemsOf(err)}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// problemsOf returns the violations of the API's own rules.
func problemsOf(err error) []catalog.Problem {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 {
		return []catalog.Problem{{Code: catalog.CodeInvalid, Message: "the API server does not take it: " + truncate(err.Error())}}
	}
	var found []catalog.Problem
	for _, cause := range status.ErrStatus.Details.Causes {
		field := cause.Field
		if field == "<nil>" { // A value of another format: the API server names the field at the end of the message.
			field = cause.Message[strings.LastIndexByte(cause.Message, ' ')+1:]
		}
		field = strings.TrimPrefix(strings.TrimPrefix(field, "spec."), "recipe.")
		found = append(found, catalog.Problem{Field: field, Code: catalog.CodeInvalid, Message: truncate(cause.Message)})
	}
	return found
}

func truncate(s string) string {
	if len(s) > maxReason {
		return strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

// getRecipe reads a recipe from the API server. It is nil if it does not exist.
func (s *Writer) getRecipe(ctx context.Context, name string) (*v1alpha1.CatalogRecipe, error) {
	o := &v1alpha1.CatalogRecipe{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, o)
	if err != nil {
		return nil, catalogError(err, "get CatalogRecipe")
	}
	return o, nil
}

// getPublisher reads a publisher from the API server.
func (s *Writer) getPublisher(ctx context.Context, id string) (*v1alpha1.CatalogPublisher, error) {
	o := &v1alpha1.CatalogPublisher{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: id}, o)
	if err != nil {
		return nil, catalogError(err, "get CatalogPublisher")
	}
	return o, nil
}
