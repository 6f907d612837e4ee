// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a HostedBridge. Ready is True when all the others are.
const (
	// ConditionAccepted says whether the installation takes the spec.
	ConditionAccepted = "Accepted"
	// ConditionSecretsSealed says whether every secret the spec names is
	// stored encrypted for this user.
	ConditionSecretsSealed = "SecretsSealed"
	// ConditionWorkloadAvailable says whether the bridge's pod runs and
	// answers its readiness probe, or is rightly suspended.
	ConditionWorkloadAvailable = "WorkloadAvailable"
	// ConditionReady sums up: calls to status.url reach this bridge.
	ConditionReady = "Ready"
)

// Reasons of the Accepted condition.
const (
	// ReasonAccepted: the spec is taken.
	ReasonAccepted = "Accepted"
	// ReasonUserIDConflict: an older HostedBridge has the same user id. This
	// object gets nothing until that one is deleted.
	ReasonUserIDConflict = "UserIDConflict"
	// ReasonUnknownTier: spec.tier names no tier of this installation. What
	// already runs is left as it is.
	ReasonUnknownTier = "UnknownTier"
	// ReasonTierLimitExceeded: the spec asks for more than the tier allows.
	// What already runs is left as it is.
	ReasonTierLimitExceeded = "TierLimitExceeded"
)

// Reasons of the SecretsSealed condition.
const (
	// ReasonNothingToSeal: the bridge has no secrets.
	ReasonNothingToSeal = "NothingToSeal"
)

// Reasons of the WorkloadAvailable condition.
const (
	// ReasonAvailable: the pod is ready.
	ReasonAvailable = "Available"
	// ReasonProgressing: the pod is being made, or is not ready yet.
	ReasonProgressing = "Progressing"
	// ReasonSuspended: spec.desiredState is Suspended and no pod runs.
	ReasonSuspended = "Suspended"
	// ReasonNotOwned: an object with the name that the bridge needs exists
	// and belongs to somebody else. It is not touched.
	ReasonNotOwned = "NotOwned"
	// ReasonApplyFailed: the API server refused one of the bridge's objects;
	// the message says which and why.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonTrustMissing: the keybroker has not yet published the certificate
	// by which pods recognise it.
	ReasonTrustMissing = "TrustMissing"
	// ReasonNotAccepted: no pod is made for a spec that is not accepted.
	ReasonNotAccepted = "NotAccepted"
)

// Reasons of the Ready condition. Where it is False it takes the reason of the
// first condition that is not True.
const (
	// ReasonReady: calls reach the bridge.
	ReasonReady = "Ready"
)
