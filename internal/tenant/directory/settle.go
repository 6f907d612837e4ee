// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/scim"
)

// settleEvery is after which time what is stored is compared with the configuration again if
// something failed.
const settleEvery = time.Second

// settleAll makes what is stored fit the configuration: whether a directory is tried out, and
// by what profiles name its groups. A directory does not say again what it has said, so
// people who left while it was tried out lose their access now.
func (s *Store) settleAll(ctx context.Context, directories []scim.Directory) {
	last := ""
	for ctx.Err() == nil {
		var errs []error
		for i := range directories {
			errs = append(errs, s.settlePeople(ctx, &directories[i]), s.settleGroups(ctx, &directories[i]))
		}
		err := errors.Join(errs...)
		if err == nil {
			return
		}
		if err.Error() != last && ctx.Err() == nil {
			last = err.Error()
			s.userStore.log.InfoContext(ctx, "what is stored of directories does not fit their configuration yet", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(settleEvery):
		}
	}
}

// settlePeople settles the people of a directory, also those that it deleted.
func (s *userStore) settlePeople(ctx context.Context, d *scim.Directory) error {
	persons, err := s.known.Persons(ctx)
	if err != nil {
		return fmt.Errorf("list users: %w", err)
	}
	var errs []error
	for i := range persons {
		of := persons[i].Spec.Directory
		if of == nil || persons[i].Spec.Issuer != d.Issuer || of.DryRun == d.DryRun {
			continue
		}
		errs = append(errs, retry(ctx, func() error {
			before := &v1alpha1.BridgePerson{}
			if err := s.client.Get(ctx, client.ObjectKeyFromObject(&persons[i]), before); err != nil {
				return client.IgnoreNotFound(err)
			}
			after := before.DeepCopy()
			settle(after, d)
			if equality.Semantic.DeepEqual(before.Spec, after.Spec) {
				return nil
			}
			return s.write(ctx, before, after)
		}))
	}
	return errors.Join(errs...)
}

// settleGroups sets the values of the groups of a directory.
func (s *groupStore) settleGroups(ctx context.Context, d *scim.Directory) error {
	all, err := s.all(ctx, d)
	if err != nil {
		return err
	}
	var errs []error
	for i := range all {
		value, _, err := valueOf(d, scim.Group{ExternalID: all[i].Spec.ExternalID, DisplayName: all[i].Spec.DisplayName})
		if err != nil {
			s.log.WarnContext(ctx, "a group has no externalId, by which profiles name those of its directory now", slog.String("group", all[i].Name))
			continue
		}
		if value == all[i].Spec.Value {
			continue
		}
		errs = append(errs, retry(ctx, func() error {
			before := &v1alpha1.BridgeGroup{}
			if err := s.client.Get(ctx, client.ObjectKeyFromObject(&all[i]), before); err != nil {
				return client.IgnoreNotFound(err)
			}
			after := before.DeepCopy()
			after.Spec.Value = value
			return client.IgnoreNotFound(s.write(ctx, before, after))
		}))
	}
	return errors.Join(errs...)
}
