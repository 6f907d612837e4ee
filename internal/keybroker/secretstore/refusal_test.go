// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// refusing is a cluster that answers some calls with an error.
type refusing struct {
	*cluster

	err   error
	calls []string // "get", "create", "patch".
}

func (r refusing) refuses(call string) error {
	if slices.Contains(r.calls, call) {
		return r.err
	}
	return nil
}

func (r refusing) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	if err := r.refuses("get"); err != nil {
		return nil, err
	}
	return r.cluster.Secret(ctx, namespace, name)
}

func (r refusing) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	if err := r.refuses("create"); err != nil {
		return nil, err
	}
	return r.cluster.CreateSecret(ctx, secret)
}

func (r refusing) PatchSecret(ctx context.Context, read *corev1.Secret, data map[string][]byte) (*corev1.Secret, error) {
	if err := r.refuses("patch"); err != nil {
		return nil, err
	}
	return r.cluster.PatchSecret(ctx, read, data)
}

var (
	secretsResource = corev1.Resource("secrets")
	secretKind      = corev1.SchemeGroupVersion.WithKind("Secret").GroupKind()
)

// deniedBy is the answer where a webhook refuses, with all that it may say.
func deniedBy(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: metav1.StatusReason(canary),
		Message: `admission webhook "policy.example.com" denied the request: ` + message,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: canary, Field: canary, Message: canary}}},
	}}
}

func forbidden(why string) error {
	return apierrors.NewForbidden(secretsResource, "alice-envelopes", errors.New(why))
}

func TestWhatTheAPIServerRefusesIsToldFromItsAbsence(t *testing.T) {
	terminating := "unable to create new content in namespace tenants because it is being terminated"
	for _, test := range []struct {
		name string
		err  error
		want error
		says string
	}{
		{"a right that is missing", forbidden(`User "system:serviceaccount:a:b" cannot create resource "secrets" in API group "" in the namespace "tenants"`), ErrForbidden, `cannot create resource "secrets"`},
		{"a quota that is used up", forbidden("exceeded quota: few, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2"), ErrForbidden, "exceeded quota: few, requested: count/secrets=1"},
		{"a namespace that goes", forbidden(terminating), ErrForbidden, terminating},
		{"a policy", forbidden("ValidatingAdmissionPolicy 'small' with binding 'all' denied request: " + canary), ErrForbidden, "'small' with binding 'all' denied request"},
		{"a webhook", deniedBy(403, canary), ErrForbidden, `webhook "policy.example.com" denied`},
		{"a webhook with another code", deniedBy(400, canary), ErrForbidden, `webhook "policy.example.com" denied`},
		{"a webhook that fails", deniedBy(500, canary), ErrUnavailable, `webhook "policy.example.com" denied`},
		{"a plugin that nobody knows", forbidden("it has " + canary), ErrForbidden, "Forbidden (403)"},
		{"an immutable Secret", apierrors.NewInvalid(secretKind, "alice-envelopes", field.ErrorList{
			field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"),
		}), ErrForbidden, "Invalid (422), FieldValueForbidden data"},
		{"a value that is not valid", apierrors.NewInvalid(secretKind, "alice-envelopes", field.ErrorList{
			field.Invalid(field.NewPath("data").Key("TOKEN"), canary, "no"),
		}), ErrForbidden, "FieldValueInvalid data[TOKEN]"},
		{"a Secret that is too large", apierrors.NewInvalid(secretKind, "alice-envelopes", field.ErrorList{
			field.TooLong(field.NewPath("data"), canary, corev1.MaxSecretSize),
		}), ErrTooLarge, "FieldValueTooLong data"},
		{"a request that is too large", apierrors.NewRequestEntityTooLargeError(canary), ErrTooLarge, "413"},
		{"who it does not know", apierrors.NewUnauthorized(canary), ErrForbidden, "Unauthorized (401)"},
		{"a request that it does not take", apierrors.NewBadRequest(canary), ErrForbidden, "BadRequest (400)"},
		{"no answer", errors.New("connection refused"), ErrUnavailable, "connection refused"},
		{"no answer in time", context.DeadlineExceeded, ErrUnavailable, "deadline"},
		{"a time that is over there", apierrors.NewTimeoutError("slow", 1), ErrUnavailable, "slow"},
		{"too many requests", apierrors.NewTooManyRequests("later", 1), ErrUnavailable, "later"},
		{"an error of its own", apierrors.NewInternalError(errors.New("etcd")), ErrUnavailable, "etcd"},
		{"a server that starts", apierrors.NewServiceUnavailable("starting"), ErrUnavailable, "starting"},
		{"an answer in between", apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", secretsResource, "", "", 0, true), ErrUnavailable, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, call := range []struct {
				name   string
				before []Change
				calls  []string
				do     func(t *testing.T, f *fixture) error
			}{
				{"read", []Change{set("A", "a")}, []string{"get"}, func(t *testing.T, f *fixture) error { _, err := f.List(t.Context(), alice); return err }},
				{"make the salt", nil, []string{"create"}, func(t *testing.T, f *fixture) error { _, err := f.change(t, alice, set("A", "a")); return err }},
				{"write", []Change{set("A", "a")}, []string{"patch"}, func(t *testing.T, f *fixture) error { _, err := f.change(t, alice, set("B", "b")); return err }},
			} {
				f := newFixture(t, newCluster(), 1)
				f.must(t, alice, call.before...)
				f.Secrets = refusing{f.cluster, test.err, call.calls}
				err := call.do(t, f)
				if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.says) || strings.Contains(fmt.Sprint(err), canary) {
					t.Errorf("%s: %v, want %v and %q", call.name, err, test.want, test.says)
				}
				for _, other := range []error{ErrForbidden, ErrUnavailable, ErrTooLarge} {
					if !errors.Is(test.want, other) && errors.Is(err, other) {
						t.Errorf("%s: %v is %v too", call.name, err, other)
					}
				}
			}
		})
	}
}

// As the API server itself says it: the Secret that the store keeps is none of
// those that cannot be changed, until somebody makes it one.
func TestEnvelopesThatSomebodyMadeImmutable(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	f.must(t, alice, set("A", "a"))
	f.envelopes(alice).Immutable = new(true)
	_, err := f.change(t, alice, set("B", "b"))
	expect(t, "write", err, ErrForbidden)
}

// Two Secrets that are made at once count against one quota one after the other.
func TestAConflictOverAQuotaIsTriedAgain(t *testing.T) {
	f := newFixture(t, newCluster(), 1)
	conflicts := 2
	f.Secrets = contended{f.cluster, &conflicts}
	f.must(t, alice, set("A", "a"))
	if got, _ := f.values(t, alice); got["A"] != "a" || conflicts != 0 {
		t.Errorf("%v, %d conflicts left", got, conflicts)
	}
}

type contended struct {
	*cluster

	conflicts *int
}

func (c contended) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	if *c.conflicts > 0 {
		*c.conflicts--
		return nil, apierrors.NewConflict(corev1.Resource("resourcequotas"), "few", errors.New("it has changed"))
	}
	return c.cluster.CreateSecret(ctx, secret)
}
