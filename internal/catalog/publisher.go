// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// The limits of a publisher, as in the API.
const (
	// MaxPublisherKeys includes the keys that do not work any more, which stay.
	MaxPublisherKeys = 128
	maxDisplayName   = 128
	maxContact       = 256
	maxPublicKeys    = 8
)

// publisherID is the form of a publisher's id, which is an object's name and by
// which recipes are found.
var publisherID = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// PublisherOf returns the publisher of an object.
func PublisherOf(o *v1alpha1.CatalogPublisher) Publisher {
	p := Publisher{
		ID: o.Name, DisplayName: o.Spec.DisplayName, Contact: o.Spec.Contact, Verified: o.Spec.Verified,
		PublicKeys: slices.Clone(o.Spec.PublicKeys), Keys: make([]PublisherKey, 0, len(o.Spec.Keys)),
		Created: o.CreationTimestamp.UTC(),
	}
	for _, k := range o.Spec.Keys {
		p.Keys = append(p.Keys, PublisherKey{
			ID: k.ID, CreatedAt: timeOf(k.CreatedAt), ExpiresAt: timeOf(k.ExpiresAt), RevokedAt: timeOf(k.RevokedAt),
		})
	}
	p.Revision = p.revision(o)
	for i := range p.Keys {
		for _, used := range o.Status.Keys {
			if used.ID == p.Keys[i].ID {
				p.Keys[i].LastUsedAt = timeOf(used.LastUsedAt)
			}
		}
	}
	return p
}

// revision is made from the publisher before the uses are filled in. The
// object's UID distinguishes a publisher from a later one of the same name.
func (p Publisher) revision(o *v1alpha1.CatalogPublisher) string {
	b, err := json.Marshal(struct {
		Publisher

		UID string
	}{p, string(o.UID)})
	if err != nil {
		return "" // All of these are texts and times of the API.
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:revisionBytes])
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// CheckPublisher returns all reasons why the catalog refuses the publisher.
func CheckPublisher(p Publisher) []Problem {
	var found []Problem
	add := func(field, message string) {
		found = append(found, Problem{Field: field, Code: CodeInvalid, Message: message})
	}
	switch {
	case p.ID == SeedOwner:
		add("id", "must not be "+SeedOwner+", which is the owner of recipes that were seeded")
	case !publisherID.MatchString(p.ID):
		add("id", "must be 1 to 63 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit")
	}
	if utf8.RuneCountInString(p.DisplayName) > maxDisplayName {
		add("displayName", fmt.Sprintf("must be at most %d characters", maxDisplayName))
	}
	if utf8.RuneCountInString(p.Contact) > maxContact {
		add("contact", fmt.Sprintf("must be at most %d characters", maxContact))
	}
	if len(p.PublicKeys) > maxPublicKeys {
		add("publicKeys", fmt.Sprintf("must be at most %d", maxPublicKeys))
	}
	for i, text := range p.PublicKeys {
		if _, err := recipe.ParseKey(text); err != nil {
			add(fmt.Sprintf("publicKeys[%d]", i), "must be an Ed25519 public key, PEM or 32 bytes in base64")
		}
	}
	return found
}

// PublicKeys returns the keys among the texts.
func PublicKeys(texts []string) []ed25519.PublicKey {
	var keys []ed25519.PublicKey
	for _, text := range texts {
		if key, err := recipe.ParseKey(text); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}
