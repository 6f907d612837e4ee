// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle has the form of bundles: the installed tree of a package, made
// once for an installation, frozen, and named by its digest.
//
// A bundle is a tar, compressed with zstd. Its entries are sorted by path, and
// are directories, regular files and relative symbolic links that stay inside.
// It has no times and no owners, so that equal trees have equal bytes. The digest
// is that of the uncompressed tar, as the diff id of a layer of an image is:
// another version of the compressor changes nothing.
//
// The package is a shell, since it reads and writes files. The bridge links it, so
// it imports nothing of Kubernetes.
package bundle
