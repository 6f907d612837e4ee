// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	// revisionBytes are enough that two revisions of one object are never the
	// same.
	revisionBytes = 12
	// halfBytes is the length of each half of a recipe's revision.
	halfBytes = 8
	// between separates the half of writers from that of readers.
	between = "."
)

// RevisionOf has two halves: what was written last, and what is served. Readers
// compare both. Writers compare the first: the operator's verdict does not make
// a writer's revision stale.
func RevisionOf(o *v1alpha1.CatalogRecipe, e Entry) string {
	return writtenHalf(o) + between + servedHalf(o, e)
}

// writtenHalf changes after each write: the API server counts the changes of
// the spec, and the UID distinguishes an object from a later one of the same
// name.
func writtenHalf(o *v1alpha1.CatalogRecipe) string {
	return half(struct {
		UID        string
		Generation int64
	}{string(o.UID), o.Generation})
}

// servedHalf covers everything that readers get.
func servedHalf(o *v1alpha1.CatalogRecipe, e Entry) string {
	type version struct {
		Version, Digest string
		At              time.Time
		Withdrawn       bool
	}
	versions := make([]version, len(e.Versions))
	for i, v := range e.Versions {
		versions[i] = version{v.Version, v.Digest, v.At.UTC(), v.Withdrawn}
	}
	return half(struct {
		UID, Owner, Source         string
		Quality                    *Overlay
		Deprecated                 *Deprecation
		Accepted                   bool
		Here                       *Here
		Created, Updated, StatusAt time.Time
		Versions                   []version
	}{
		string(o.UID), e.Owner, e.SourceText(), e.Quality, e.Deprecated, e.Accepted, e.Here,
		e.Created.UTC(), e.Updated.UTC(), e.StatusAt.UTC(), versions,
	})
}

func half(of any) string {
	b, err := json.Marshal(of)
	if err != nil {
		return "" // All of these are texts, numbers and times of the API.
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:halfBytes])
}

// Matches reports whether a writer with that revision knows what was written
// last. AnyRevision always matches.
func (e Entry) Matches(revision string) bool {
	if revision == AnyRevision {
		return true
	}
	written, _, _ := strings.Cut(e.Revision, between)
	read, _, _ := strings.Cut(revision, between)
	return written == read
}

// Shows reports whether a reader with that revision also knows what is served.
// AnyRevision always matches.
func (e Entry) Shows(revision string) bool {
	return revision == AnyRevision || revision == e.Revision
}
