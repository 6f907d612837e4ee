// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// SharedKind is the kind of the objects whose secrets a group shares.
	SharedKind = "SharedServer"

	// sharedPrefix begins the names of SharedServers here, and their UIDs in sealed data. No
	// name of an object has a slash, so neither is ever that of a HostedBridge.
	sharedPrefix = "shared/"
)

// Shared returns the SharedServer as an owner of secrets. Its Name is shared/ and its own.
func Shared(namespace, name string, uid types.UID) Bridge {
	return Bridge{Namespace: namespace, Name: sharedPrefix + name, UID: uid}
}

// SharedName returns the SharedServer's own name, and whether the owner is one.
func (b Bridge) SharedName() (string, bool) { return strings.CutPrefix(b.Name, sharedPrefix) }

// IsShared reports whether the owner of a Secret is a SharedServer.
func IsShared(owner *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == v1alpha1.GroupVersion.Group && owner.Kind == SharedKind
}

// OwnerOf returns whose secrets a Secret with this owner has, and false for any other.
func OwnerOf(namespace string, owner *metav1.OwnerReference) (Bridge, bool) {
	switch {
	case owner == nil:
		return Bridge{}, false
	case IsBridge(owner):
		return Bridge{Namespace: namespace, Name: owner.Name, UID: owner.UID}, true
	case IsShared(owner):
		return Shared(namespace, owner.Name, owner.UID), true
	}
	return Bridge{}, false
}

// EnvelopesName and SaltName are the names of the Secrets.
func (b Bridge) EnvelopesName() string {
	if name, shared := b.SharedName(); shared {
		return v1alpha1.SharedEnvelopesSecretName(name)
	}
	return v1alpha1.EnvelopesSecretName(b.Name)
}

// SaltName is the name of the Secret with the salt.
func (b Bridge) SaltName() string {
	if name, shared := b.SharedName(); shared {
		return v1alpha1.SharedSaltSecretName(name)
	}
	return v1alpha1.SaltSecretName(b.Name)
}

// owner returns the kind and the name of the object that owns the secrets.
func (b Bridge) owner() (kind, name string) {
	if name, shared := b.SharedName(); shared {
		return SharedKind, name
	}
	return BridgeKind, b.Name
}

// userUID is the user's UID in sealed data.
func (b Bridge) userUID() string {
	if _, shared := b.SharedName(); shared {
		return sharedPrefix + string(b.UID)
	}
	return string(b.UID)
}
