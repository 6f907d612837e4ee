// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels and annotations that more than one process reads. Each key stands
// here once.
const (
	// LabelName and LabelComponent select every bridge pod of an installation;
	// both are the recommended labels of Kubernetes.
	LabelName      = "app.kubernetes.io/name"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"

	// LabelInstance tells one tenant's objects from another's. Its value is
	// derived from the HostedBridge's name and fits a label's 63 bytes.
	LabelInstance = "app.kubernetes.io/instance"

	// AnnotationBridgeUID on a bridge pod holds the UID of its HostedBridge,
	// and AnnotationUserID the user id. They are annotations, not labels,
	// because some network plugins keep an identity per distinct label set.
	AnnotationBridgeUID = "hostedbridge.dev/bridge-uid"
	AnnotationUserID    = "hostedbridge.dev/user-id"

	// AnnotationConfigDigest on a bridge pod holds the digest of the
	// configuration that the pod's node was last told to fetch.
	AnnotationConfigDigest = "hostedbridge.dev/config-digest"

	// AnnotationApplied on an object of a HostedBridge holds a digest of what
	// the operator applied. It saves applying the same again.
	AnnotationApplied = "hostedbridge.dev/applied"

	// GroupOnboarded is in spec.groups of a HostedBridge that a first login made, so that a
	// BridgeProfile can be for these bridges. OnboardingProfile is the BridgeProfile that the
	// installation's configuration makes for them.
	GroupOnboarded    = "onboarded"
	OnboardingProfile = "onboarding"

	// LabelOnboarded on a HostedBridge says that a first login made it. Its value
	// is "true".
	LabelOnboarded = "hostedbridge.dev/onboarded"

	// Values of the labels above.
	NameValue       = "hosted-bridge"
	ComponentBridge = "bridge"
	ManagedByValue  = "hosted-bridge-operator"
)

// Field owners of server-side apply, one for each process that writes.
const (
	FieldOwnerOperator  = "hosted-bridge-operator"
	FieldOwnerIngress   = "hosted-bridge-ingress"
	FieldOwnerKeybroker = "hosted-bridge-keybroker"
	// In the catalog the ingress writes for three: the seeder and publishers,
	// whose are the recipes, and administrators, whose are the overlays.
	FieldOwnerSeeder    = "hosted-bridge-seeder"
	FieldOwnerPublisher = "hosted-bridge-publisher"
	FieldOwnerAdmin     = "hosted-bridge-admin"
)
