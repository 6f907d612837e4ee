// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestRefusal(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	tests := map[string]struct {
		err     error
		refused string
	}{
		"an exceeded quota":      {apierrors.NewForbidden(secrets, "a", errors.New("exceeded quota")), "exceeded quota"},
		"a webhook that failed":  {apierrors.NewInternalError(errors.New("failed calling webhook")), "failed calling webhook"},
		"a namespace that is no": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "tenants"), `"tenants" not found`},
		"too busy":               {apierrors.NewTooManyRequests("busy", 1), ""},
		"starting":               {apierrors.NewServiceUnavailable("starting"), ""},
		"late":                   {apierrors.NewTimeoutError("late", 1), ""},
		"late on its side":       {apierrors.NewServerTimeout(secrets, "patch", 1), ""},
		"given up":               {context.DeadlineExceeded, ""},
		"ended":                  {context.Canceled, ""},
		"unreachable":            {errors.New("connection refused"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			message, refused := Refusal(fmt.Errorf("apply Secret a: %w", tt.err))
			if refused != (tt.refused != "") || !strings.Contains(message, tt.refused) || strings.HasPrefix(message, "apply") {
				t.Errorf("got %q, %v; want the API server's %q", message, refused, tt.refused)
			}
		})
	}
}

func TestRefusalIsBounded(t *testing.T) {
	message, refused := Refusal(apierrors.NewBadRequest("x" + strings.Repeat("é", 10_000)))
	if !refused || len(message) > messageLimit+len("…") || !utf8.ValidString(message) {
		t.Errorf("%d bytes, valid UTF-8: %v", len(message), utf8.ValidString(message))
	}
}

func TestOnlyGeneratedConfigurationsAreApplied(t *testing.T) {
	// One without a type could be of a kind whose ownership was not checked.
	object := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{})
	if _, err := (&Applier{}).Object(t.Context(), nil, object); err == nil || !strings.Contains(err.Error(), "not a generated") {
		t.Errorf("error = %v", err)
	}
}
