// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Settings are the same for every bridge of an installation.
type Settings struct {
	// BridgeImage is the image of the bridge's container.
	BridgeImage string
	// RuntimeImageNode and RuntimeImagePython are the images in which npx and
	// uvx run servers that have none of their own. Where one is empty, such a
	// server is out of service.
	RuntimeImageNode, RuntimeImagePython string
	// ShimImages are the images that have the shim of the bridge's version at imageShim.
	// It is copied into the containers of others.
	ShimImages []string
	// RuntimeEnv are variables, each NAME=VALUE, and RuntimeAuthorities certificate
	// authorities in PEM that programs in these images get.
	RuntimeEnv         []string
	RuntimeAuthorities string
	// OTLPEndpoint is where bridges send traces, empty for nowhere.
	OTLPEndpoint string
	// PriorityClass is that of the pods, empty for the cluster's default.
	PriorityClass string
	// Egress is where bridges' connections may go.
	Egress bridgeconfig.Egress
	// LoginURL is the public URL at which users connect the accounts that their
	// servers are used with, empty where they cannot.
	LoginURL string
	// KeybrokerURL is where a bridge reaches the keybroker.
	KeybrokerURL string
	// Bundles are from what programs are started, and BundlesURL is where a bridge fetches them.
	Bundles    bundling.Bundles
	BundlesURL string
}

// Lacking returns the methods of install for which there is no image.
func (s Settings) Lacking() (methods []v1alpha1.InstallMethod) {
	if s.RuntimeImageNode == "" {
		methods = append(methods, v1alpha1.InstallNPX)
	}
	if s.RuntimeImagePython == "" {
		methods = append(methods, v1alpha1.InstallUVX)
	}
	return methods
}

// Objects returns what p wants applied for b, in the order in which to apply
// it: the Deployment comes last, because its pod uses the others. Of a spec that
// was rejected it takes no server, since nothing says that one can be built. It
// fails for a spec that should have been rejected.
func Objects(b *effective.Bridge, p bridgestate.Plan, s Settings) ([]runtime.ApplyConfiguration, error) {
	if p.Action == bridgestate.Leave {
		return nil, nil
	}
	objects := []runtime.ApplyConfiguration{serviceAccount(b)}
	if p.Action == bridgestate.Hold {
		return objects, nil // The pod that runs would take a change of its configuration.
	}
	if p.Rejected != (bridgestate.Finding{}) {
		without := *b
		without.Spec.Servers = nil
		return withWorkload(objects, &without, p, s)
	}
	told, err := configMap(b, s)
	if err != nil {
		return nil, err
	}
	objects = append(objects, told)
	if p.Action == bridgestate.Prepare {
		return objects, nil
	}
	return withWorkload(objects, b, p, s)
}

func withWorkload(objects []runtime.ApplyConfiguration, b *effective.Bridge, p bridgestate.Plan, s Settings) ([]runtime.ApplyConfiguration, error) {
	d, err := deployment(b, p, s)
	if err != nil {
		return nil, fmt.Errorf("build Deployment %s: %w", v1alpha1.WorkloadName(b.Name), err)
	}
	return append(append(objects, claims(b, p, s)...), d), nil
}

// selector returns the labels that tell the bridge's pods from all others.
func selector(b *effective.Bridge) map[string]string {
	l := v1alpha1.BridgePodLabels()
	l[v1alpha1.LabelInstance] = v1alpha1.InstanceLabelValue(b.Name)
	return l
}

// labels returns the labels of all of the bridge's objects.
func labels(b *effective.Bridge) map[string]string {
	l := selector(b)
	l[v1alpha1.LabelManagedBy] = v1alpha1.ManagedByValue
	return l
}

// owner makes an object go when the bridge goes. It does not hold up the
// bridge's own deletion, so that the user id is free at once.
func owner(b *effective.Bridge) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).
		WithKind("HostedBridge").
		WithName(b.Name).
		WithUID(b.UID).
		WithController(true)
}
