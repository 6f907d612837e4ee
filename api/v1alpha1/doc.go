// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the Kubernetes API of hosted-bridge: a HostedBridge is
// one user's MCP bridge, a CatalogRecipe one recipe of the catalog, and a
// CatalogPublisher one who may write recipes. It also holds what every process
// must agree on: label keys, condition types and reasons, and what a valid
// user id is. The package is pure.
//
// +kubebuilder:object:generate=true
// +groupName=hostedbridge.dev
package v1alpha1
