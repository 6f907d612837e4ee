// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answering is an API server that answers every apply with one error.
type answering struct {
	client.Client
	err     error
	applied int
}

// Apply implements client.Client.
func (a *answering) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	a.applied++
	return a.err
}

func TestAnObjectThatOthersMakeIsNeverMade(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	pod := corev1ac.Pod("p", "tenants")
	for name, tt := range map[string]struct {
		object         runtime.ApplyConfiguration
		answer         error
		applied, fails bool
	}{
		"the one that is meant":           {corev1ac.Pod("p", "tenants").WithUID("u"), nil, true, false},
		"one that is gone":                {corev1ac.Pod("p", "tenants").WithUID("u"), apierrors.NewNotFound(pods, "p"), true, false},
		"another one of its name":         {corev1ac.Pod("p", "tenants").WithUID("u"), apierrors.NewConflict(pods, "p", errors.New("uid")), true, false},
		"one that the API server refuses": {corev1ac.Pod("p", "tenants").WithUID("u"), apierrors.NewForbidden(pods, "p", errors.New("no")), true, true},
		"any of that name":                {pod, nil, false, true},
		"a configuration of another one":  {corev1ac.Pod("p", "tenants").WithUID("v"), nil, false, true},
		"one without a type":              {client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{}), nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &answering{err: tt.answer}
			err := (&Applier{Client: c}).Existing(t.Context(), "u", tt.object)
			if (err != nil) != tt.fails || (c.applied == 1) != tt.applied {
				t.Errorf("applied %d times, error = %v", c.applied, err)
			}
		})
	}
}
