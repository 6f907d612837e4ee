// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// held returns an entry, as the manager, the operation, the subresource and the
// fields.
func held(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestWhoWroteARecipeHoldsNothingOfItAfterATransfer(t *testing.T) {
	const (
		seeder    = "hosted-bridge-seeder"
		publisher = "hosted-bridge-publisher"
		admin     = "hosted-bridge-admin"
	)
	for name, tt := range map[string]struct {
		before []metav1.ManagedFieldsEntry
		want   map[string]string
	}{
		"what was seeded": {
			[]metav1.ManagedFieldsEntry{
				held(seeder, "Apply", "", `{"f:spec":{"f:owner":{},"f:recipe":{"f:id":{}},"f:deprecated":{"f:since":{}}}}`),
				held(admin, "Apply", "", `{"f:spec":{"f:quality":{"f:score":{}}}}`),
				held("hosted-bridge-operator", "Apply", "status", `{"f:status":{"f:versions":{}}}`),
			},
			map[string]string{
				publisher + " Apply ":                 `{"f:spec":{"f:deprecated":{"f:since":{}},"f:owner":{},"f:recipe":{"f:id":{}}}}`,
				admin + " Apply ":                     `{"f:spec":{"f:quality":{"f:score":{}}}}`,
				"hosted-bridge-operator Apply status": `{"f:status":{"f:versions":{}}}`,
			},
		},
		"what several tools wrote": {
			[]metav1.ManagedFieldsEntry{
				held("kubectl", "Update", "", `{"f:metadata":{"f:annotations":{".":{}}},"f:spec":{".":{},"f:recipe":{".":{},"f:id":{},"f:name":{}},"f:quality":{"f:badge":{}}}}`),
				held("kubectl-edit", "Update", "", `{"f:spec":{".":{},"f:recipe":{"f:name":{},"f:auth":{"f:type":{}}}}}`),
			},
			map[string]string{
				publisher + " Apply ": `{"f:spec":{"f:recipe":{".":{},"f:auth":{"f:type":{}},"f:id":{},"f:name":{}}}}`,
				"kubectl Update ":     `{"f:metadata":{"f:annotations":{".":{}}},"f:spec":{".":{},"f:quality":{"f:badge":{}}}}`,
			},
		},
		"what the new writer has already": {
			[]metav1.ManagedFieldsEntry{
				held(publisher, "Apply", "", `{"f:spec":{"f:recipe":{"f:id":{}}}}`),
				held(publisher, "Update", "", `{"f:spec":{"f:recipe":{"f:name":{}}}}`),
				held(admin, "Update", "", `{"f:spec":{"f:owner":{}}}`),
			},
			map[string]string{publisher + " Apply ": `{"f:spec":{"f:owner":{},"f:recipe":{"f:id":{},"f:name":{}}}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			entries := must.Value(handOver(tt.before, publisher, time.Now()))(t)
			got := map[string]string{}
			for _, e := range entries {
				got[fmt.Sprintf("%s %s %s", e.Manager, e.Operation, e.Subresource)] = string(e.FieldsV1.GetRawBytes())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	broken := []metav1.ManagedFieldsEntry{held(seeder, "Apply", "", `[]`)}
	if _, err := handOver(broken, publisher, time.Now()); err == nil {
		t.Error("fields that cannot be read are lost")
	}
	if _, err := foreignFields(broken, publisher); err == nil {
		t.Error("fields that cannot be read are nobody's")
	}
}

func TestWhatTheAPIServerSaysIsToldInTheCatalogsWords(t *testing.T) {
	conflict := func(messages ...string) error {
		err := apierrors.NewConflict(schema.GroupResource{Resource: "catalogrecipes"}, "notes", errors.New("x"))
		for _, m := range messages {
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: m})
		}
		return fmt.Errorf("wrapped: %w", err)
	}
	for name, tt := range map[string]struct {
		err   error
		raced bool
		by    []string
	}{
		"another version":    {conflict(), true, nil},
		"one manager":        {conflict(`conflict with "kubectl" using hostedbridge.dev/v1alpha1`), false, []string{"kubectl"}},
		"several, and twice": {conflict(`conflict with "b"`, `conflict with "a" with subresource "status"`, `conflict with "b"`), false, []string{"a", "b"}},
		"another message":    {conflict("conflict"), true, nil},
		"nothing":            {nil, false, nil},
		"something else":     {errors.New("away"), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if isConflict(tt.err) != tt.raced {
				t.Errorf("raced: %t", !tt.raced)
			}
			got := catalogError(tt.err, "write")
			managed, ok := errors.AsType[*catalog.ManagedError](got)
			if ok != (tt.by != nil) || ok && !cmp.Equal(managed.By, tt.by) || (got == nil) != (tt.err == nil) {
				t.Errorf("got %v", got)
			}
		})
	}
}
