// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridgeobjects builds the objects that a HostedBridge needs, as apply
// configurations that name only the fields the operator decides: what others
// put on the same objects, such as the restart annotation of kubectl, is left
// alone by server-side apply. No Secret is among them, and no object holds or
// mounts a secret's value: pods fetch them from the keybroker.
//
// The package is pure: equal arguments give equal objects.
package bridgeobjects
