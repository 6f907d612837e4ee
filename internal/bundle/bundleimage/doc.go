// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundleimage keeps bundles in a repository of an OCI registry, each as an image
// that pods mount as a volume.
//
// The image has one layer, which is the bundle as it is: its digest is the layer's diff id. The
// image names no time and no machine, so that equal bundles are equal images. The
// bundle's record refers to the image (a referrer, OCI distribution specification 1.1), and so
// does its signature, in the form of cosign.
//
// The package is a shell, since it calls the registry.
package bundleimage
