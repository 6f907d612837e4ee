// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// indexSecret finds HostedBridges by the names of the Secrets on which they
// depend: those of spec.secretRefs, and those with their envelopes and salt.
const indexSecret = "secret"

// Index is one field index.
type Index struct {
	Object client.Object
	Field  string
	Values client.IndexerFunc
}

// Indexes returns the indexes that the Reconciler's Client must offer.
func Indexes() []Index {
	bridges := &v1alpha1.HostedBridge{}
	return append(personIndexes(),
		Index{bridges, indexSecret, secretNames}, Index{bridges, indexShared, sharedNames},
		Index{bridges, indexSharer, sharers}, Index{bridges, indexUser, users})
}

func secretNames(o client.Object) []string {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	names := []string{v1alpha1.EnvelopesSecretName(b.Name), v1alpha1.SaltSecretName(b.Name)}
	for _, ref := range b.Spec.SecretRefs {
		names = append(names, ref.Name)
	}
	return names
}

func addIndexes(ctx context.Context, to client.FieldIndexer) error {
	for _, i := range Indexes() {
		if err := to.IndexField(ctx, i.Object, i.Field, i.Values); err != nil {
			return fmt.Errorf("index %T by %s: %w", i.Object, i.Field, err)
		}
	}
	return nil
}
