// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumes makes the volumes of a local cluster's default StorageClass: each
// is a file system in a file of its own, so that a claim that is full is full. The
// volumes do not outlive their cluster.
package volumes
