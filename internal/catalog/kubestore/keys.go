// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// publishers are the publishers at one moment and the keys that the write
// routes accept. It is never changed.
type publishers struct {
	byID map[string]*publisher
	// byKey are the keys by their ids. Two publishers may have keys of the same
	// id if an object was copied.
	byKey  map[string][]keyEntry
	listed bool
}

type publisher struct {
	public catalog.Publisher
	keys   []keyEntry
}

type keyEntry struct {
	publisher, id string
	hash          apikey.Hash
	expires       time.Time // zero for never
}

// decoy is compared if there is no key of the presented id, so that an unknown
// id takes as long as a known one. No known key hashes to it.
var decoy = []apikey.Hash{{}}

func newPublishers() *publishers {
	return &publishers{byID: map[string]*publisher{}, byKey: map[string][]keyEntry{}}
}

// publisherOf reads an object. A key with an invalid hash, or one that was
// withdrawn, is not accepted.
func publisherOf(o *v1alpha1.CatalogPublisher) *publisher {
	p := &publisher{public: catalog.PublisherOf(o)}
	if o.Name == catalog.SeedOwner || o.DeletionTimestamp != nil {
		return p // No key belongs to the seeder.
	}
	for _, k := range o.Spec.Keys {
		hash, err := apikey.ParseHash(k.Hash)
		if err != nil || k.RevokedAt != nil {
			continue
		}
		entry := keyEntry{publisher: o.Name, id: k.ID, hash: hash}
		if k.ExpiresAt != nil {
			entry.expires = k.ExpiresAt.Time
		}
		p.keys = append(p.keys, entry)
	}
	return p
}

// with returns the publishers after one of them changed, or was deleted, if p
// is nil. There are few, and they seldom change.
func (p *publishers) with(id string, changed *publisher) *publishers {
	next := &publishers{byID: maps.Clone(p.byID), byKey: map[string][]keyEntry{}, listed: p.listed}
	if changed == nil {
		delete(next.byID, id)
	} else {
		next.byID[id] = changed
	}
	next.index()
	return next
}

func (p *publishers) index() {
	for _, one := range p.byID {
		for _, k := range one.keys {
			p.byKey[k.id] = append(p.byKey[k.id], k)
		}
	}
}

func (p *publishers) list() []catalog.Publisher {
	all := make([]catalog.Publisher, 0, len(p.byID))
	for _, one := range p.byID {
		all = append(all, one.public)
	}
	slices.SortFunc(all, func(a, b catalog.Publisher) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// PublisherByKey returns the owner of the presented key. For an unknown key,
// which takes as long as a known one, keyID is the presented id, if there was
// one. A key whose hash several publishers have is refused: all but one of them
// have a copy.
func (r *Reader) PublisherByKey(presented string) (publisherID, keyID string, ok bool) {
	key, err := apikey.Parse(presented)
	var entries []keyEntry
	if err == nil && key.Kind == apikey.KindPublisher {
		entries = r.publishers.Load().byKey[key.ID]
	}
	var room [4]apikey.Hash // Ids are random: there is one key of an id.
	hashes := room[:0]
	for i := range entries {
		hashes = append(hashes, entries[i].hash)
	}
	if len(hashes) == 0 {
		hashes = decoy
	}
	i, ok := apikey.Match(presented, hashes)
	if !ok || i >= len(entries) || entries[i].expired(r.now()) {
		return "", key.ID, false
	}
	return entries[i].publisher, key.ID, true
}

// expired reports whether the key is no longer valid.
func (k keyEntry) expired(now time.Time) bool { return !k.expires.IsZero() && !now.Before(k.expires) }
