// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprofile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// The profile of first logins is written once, so that pauses after a failure can be long.
const (
	firstOnboardingRetry = time.Second
	lastOnboardingRetry  = time.Minute
)

// Onboarding keeps the BridgeProfile that the installation's configuration makes for the
// HostedBridges of first logins, v1alpha1.OnboardingProfile: it applies it when the operator
// begins to lead, and deletes it if the configuration has none any more.
type Onboarding struct {
	// Client reads from caches, and writes.
	Client client.Client
	// Namespace is the installation's.
	Namespace string
	// Profile is the BridgeProfile without name and namespace, nil for none.
	Profile map[string]any
	Log     *slog.Logger
}

var _ manager.LeaderElectionRunnable = (*Onboarding)(nil)

// ReadOnboardingProfile returns the BridgeProfile in a YAML file, nil if there is no file.
func ReadOnboardingProfile(file string) (map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the profile of first logins: %w", err)
	}
	var typed v1alpha1.BridgeProfile
	if err := yaml.UnmarshalStrict(text, &typed); err != nil {
		return nil, fmt.Errorf("read the profile of first logins from %s: %w", file, err)
	}
	if kind := v1alpha1.GroupVersion.WithKind("BridgeProfile"); typed.GroupVersionKind() != kind {
		return nil, fmt.Errorf("%s must be a BridgeProfile of %s", file, v1alpha1.GroupVersion)
	}
	// What the typed form would add to the file is not applied.
	var profile map[string]any
	if err := yaml.Unmarshal(text, &profile); err != nil {
		return nil, fmt.Errorf("read the profile of first logins from %s: %w", file, err)
	}
	return profile, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Onboarding) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It tries until it succeeds or ctx ends.
func (o *Onboarding) Start(ctx context.Context) error {
	pause := wait.Backoff{Duration: firstOnboardingRetry, Factor: 2, Steps: 1 << 30, Cap: lastOnboardingRetry}
	for err := o.keep(ctx); err != nil && ctx.Err() == nil; err = o.keep(ctx) {
		o.Log.ErrorContext(ctx, "the BridgeProfile of first logins is not as configured", slog.String("profile", v1alpha1.OnboardingProfile), slog.Any("error", err))
		select {
		case <-ctx.Done():
		case <-time.After(pause.Step()):
		}
	}
	return nil
}

// keep applies the profile, or deletes it. One that somebody else made stays as it is.
func (o *Onboarding) keep(ctx context.Context) error {
	existing := &v1alpha1.BridgeProfile{}
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: v1alpha1.OnboardingProfile}, existing)
	switch {
	case apierrors.IsNotFound(err):
		existing = nil
	case err != nil:
		return fmt.Errorf("get BridgeProfile: %w", err)
	}
	own := existing != nil && existing.Labels[v1alpha1.LabelManagedBy] == v1alpha1.FieldOwnerOperator
	switch {
	case o.Profile == nil && !own:
		return nil
	case o.Profile == nil:
		err := o.Client.Delete(ctx, existing, client.Preconditions{UID: &existing.UID})
		if err := client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("delete BridgeProfile: %w", err)
		}
		return nil
	case existing != nil && !own:
		return fmt.Errorf("a BridgeProfile %s that the operator did not make is in the way: give it another name, or leave the tier and the servers of onboarding empty",
			v1alpha1.OnboardingProfile)
	}
	u := &unstructured.Unstructured{Object: o.Profile}
	u.SetNamespace(o.Namespace)
	u.SetName(v1alpha1.OnboardingProfile)
	u.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.FieldOwnerOperator})
	if err := o.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.FieldOwnerOperator), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply BridgeProfile: %w", err)
	}
	return nil
}
