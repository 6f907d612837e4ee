// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

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
	// timeout bounds one act, which is a few requests of the API server.
	timeout = 10 * time.Second
	// tries is how often an act begins anew that another writer was quicker
	// than, and pause how long between, longer each time. Most of the others are
	// the operator, which writes once after each change.
	tries = 8
	pause = 5 * time.Millisecond
	// maxReason is how much is told of what the API server says, which may go on
	// with the value.
	maxReason = 512
)

var (
	// errTaken says that somebody made an object of that name meanwhile.
	errTaken = errors.New("somebody took the name meanwhile")
	// errRaced says that an object is not what was read any more.
	errRaced = errors.New("another writer was quicker each time")
)

// again repeats an act while others are quicker.
func (s *Store) again(ctx context.Context, act func() error) error {
	for try := 1; ; try++ {
		err := act()
		if !raced(err) {
			return err
		}
		if try == tries {
			return errRaced
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause * time.Duration(try)):
		}
	}
}

// raced reports whether the API server refused a version, and not a field that
// somebody else holds.
func raced(err error) bool {
	return errors.Is(err, errTaken) || apierrors.IsConflict(err) && len(holdersOf(err)) == 0
}

// taken reports whether an apply of what there was not was refused since it is
// there now: somebody holds its fields, or versionOfNothing is not its version.
func taken(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return apierrors.IsConflict(err)
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.resourceVersion" })
}

// holdersOf returns the field managers for which the API server refused an
// apply.
func holdersOf(err error) []string {
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

// refusal returns what err of the API server means for the catalog.
func refusal(err error, doing string) error {
	if err == nil {
		return nil
	}
	if by := holdersOf(err); len(by) > 0 {
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

// problemsOf returns what the API's own rules say.
func problemsOf(err error) []catalog.Problem {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 {
		return []catalog.Problem{{Code: catalog.CodeInvalid, Message: "the API server does not take it: " + short(err.Error())}}
	}
	var found []catalog.Problem
	for _, cause := range status.ErrStatus.Details.Causes {
		field := strings.TrimPrefix(strings.TrimPrefix(cause.Field, "spec."), "recipe.")
		found = append(found, catalog.Problem{Field: field, Code: catalog.CodeInvalid, Message: short(cause.Message)})
	}
	return found
}

func short(s string) string {
	if len(s) > maxReason {
		return strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

// recipe reads a recipe from the API server. It is nil where there is none.
func (s *Store) recipe(ctx context.Context, name string) (*v1alpha1.CatalogRecipe, error) {
	o := &v1alpha1.CatalogRecipe{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, o)
	if err != nil {
		return nil, refusal(err, "get CatalogRecipe")
	}
	return o, nil
}

// publisher reads a publisher from the API server.
func (s *Store) publisher(ctx context.Context, id string) (*v1alpha1.CatalogPublisher, error) {
	o := &v1alpha1.CatalogPublisher{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: id}, o)
	if err != nil {
		return nil, refusal(err, "get CatalogPublisher")
	}
	return o, nil
}
