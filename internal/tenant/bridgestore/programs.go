// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/programs"
)

// Programs are the ProgramBundles of the installation.
type Programs struct {
	Client    client.Client
	Namespace string
}

// List returns all of them.
func (p *Programs) List(ctx context.Context) ([]v1alpha1.ProgramBundle, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var list v1alpha1.ProgramBundleList
	if err := p.Client.List(ctx, &list, client.InNamespace(p.Namespace)); err != nil {
		return nil, fmt.Errorf("list ProgramBundles: %w", err)
	}
	return list.Items, nil
}

// Delete deletes the one with that name and UID, whatever its status is. The error is
// programs.ErrGone if it does not exist.
func (p *Programs) Delete(ctx context.Context, name, uid string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o := &v1alpha1.ProgramBundle{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name}}
	err := p.Client.Delete(ctx, o, client.Preconditions{UID: new(types.UID(uid))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", programs.ErrGone, err)
	}
	if err != nil {
		return fmt.Errorf("delete ProgramBundle %s: %w", name, err)
	}
	return nil
}
