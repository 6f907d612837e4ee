// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// TestEachSourceThatIsToBeDeletedIs shows that the keybroker needs its right to
// delete Secrets for more than one of them: the table of rights and their use
// takes a right that was used on one name for one that could be given by name.
func TestEachSourceThatIsToBeDeletedIs(t *testing.T) {
	first, second := installed.name("spent"), installed.name("spent-too")
	token, other := left.token(t), right.token(t)
	createSource(t, first, map[string]string{left.secret: token})
	createSource(t, second, map[string]string{right.secret: other})

	paul := tenant{name: installed.name("paul"), key: mint(t)}
	b := guardedBridge(paul.name, []credential{paul.key}, left, right)
	b.Spec.SecretRefs = []v1alpha1.SecretRef{{Name: first, DeleteSource: true}, {Name: second, DeleteSource: true}}
	paul.uid = create(t, b)
	awaitPresented(t, paul, left, token)
	awaitPresented(t, paul, right, other)
	awaitSecrets(t, paul, metav1.ConditionTrue, v1alpha1.ReasonSealed)
	eventually(t, deliveredTimeout, "both sources are gone", func(ctx context.Context) error {
		return errors.Join(sourceGone(ctx, first), sourceGone(ctx, second))
	})
	// What came from a Secret that is gone is the user's own.
	mustPut(t, paul, left.secret, token, http.StatusOK)
}
