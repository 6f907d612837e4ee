// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Observed is all that decisions depend on.
type Observed struct {
	// Bridge is the object to decide about.
	Bridge *effective.Bridge
	Resolved
	// Before is the status as it is stored. That of Bridge says what is observed now.
	Before v1alpha1.HostedBridgeStatus
	// Rivals are the other HostedBridges of any namespace with the same user
	// id.
	Rivals []v1alpha1.HostedBridge
	// Sharers are the HostedBridges of any namespace that have one of the bridge's
	// CopyableKeys. The bridge itself may be among them.
	Sharers []v1alpha1.HostedBridge
	// Tiers are the installation's tiers.
	Tiers quota.Tiers
	// Lacking are the methods of install for which the installation has no image.
	Lacking []v1alpha1.InstallMethod
	// Trust is the keybroker's CA certificate in PEM, empty while it has not
	// been published.
	Trust string
	// KeybrokerReady means that a keybroker is available.
	KeybrokerReady bool
	// WorkloadExists says that the bridge has a Deployment of its own.
	WorkloadExists bool
	// Pods are the bridge's pods that have not ended.
	Pods []Pod
	// Isolation is what is observed of the network between the bridge and others.
	Isolation Isolation
	Idling
	// Waking are the other bridges that wake.
	Waking Waking
	// Claims are the PersistentVolumeClaims of servers, also of those that left the
	// spec.
	Claims []Claim
}

// Resolved is what is observed of the bridge's profiles and packages, beside what its status
// says of them now.
type Resolved struct {
	// PendingProfiles have a later revision than the bridge.
	PendingProfiles []string
	// UnknownGroups says which groups of the spec nothing else names, empty for none.
	UnknownGroups string
	// Mounted are the images of bundles that the containers of the bridge's pod mount, empty for
	// none, by the servers' names; nil without a pod.
	Mounted map[string]string
	// NotInstalled says why packages of servers could not be installed, by the servers' names.
	NotInstalled map[string]string
}

// Idling is what decides, beside the bridge itself, when it is idle.
type Idling struct {
	// MinIdleTimeout is the shortest idleTimeout that is accepted.
	MinIdleTimeout time.Duration
	// FollowedSince is since when the operator has followed the use of bridges.
	FollowedSince time.Time
}

// Pod is what is observed of one of the bridge's pods.
type Pod struct {
	Name    string
	UID     types.UID
	Created time.Time
	// Ready says that the bridge in the pod answers its readiness probe.
	Ready bool
	// Deleting says that the pod has been told to end.
	Deleting bool
	// Waiting says in a few words what keeps the pod from being ready, if that
	// is known, and Blocked is the reason if an administrator has to look at it: a
	// reason of the WorkloadAvailable condition.
	Waiting, Blocked string
	// Failing says in a few words which servers' containers do not run. It
	// does not keep the bridge, once it has started, from being ready.
	Failing string
	// Unmounted are the servers whose containers wait for an image, which may be one that they
	// mount, and cannot have it.
	Unmounted []string
	// Told is the digest of the configuration that the pod's node was last told
	// to fetch.
	Told string
	// Terminated and TerminatedBefore are the last two ends of the bridge's
	// process in the pod, zero if there were none.
	Terminated, TerminatedBefore Termination
	// Down says that the bridge's process has ended more than once in the pod
	// and has not been started again.
	Down bool
}

// current returns the pod that stands for the bridge: a ready one rather than
// another, a new one rather than an old one; nil if all are ending.
func (o Observed) current() *Pod {
	pods := slices.DeleteFunc(slices.Clone(o.Pods), func(p Pod) bool { return p.Deleting })
	if len(pods) == 0 {
		return nil
	}
	best := slices.MaxFunc(pods, func(a, b Pod) int {
		return cmp.Or(
			compareBool(a.Ready, b.Ready),
			a.Created.Compare(b.Created),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return &best
}

// running reports whether a pod stands for the bridge that is ready.
func (o Observed) running() bool {
	current := o.current()
	return current != nil && current.Ready
}

// failing says which servers of the current pod do not run. It begins with a
// semicolon, and is empty if all run.
func (o Observed) failing() string {
	current := o.current()
	if current == nil || current.Failing == "" {
		return ""
	}
	return "; " + current.Failing
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// rival returns the HostedBridge that the user id belongs to, if that is not
// the observed one. A bridge that is being deleted claims nothing, here as in
// the ingress.
func (o Observed) rival() *v1alpha1.HostedBridge {
	var owner *v1alpha1.HostedBridge
	for i := range o.Rivals {
		r := &o.Rivals[i]
		if r.UID == o.Bridge.UID || r.DeletionTimestamp != nil || !r.Precedes(o.Bridge.HostedBridge) {
			continue
		}
		if owner == nil || r.Precedes(owner) {
			owner = r
		}
	}
	return owner
}
