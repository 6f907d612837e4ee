// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

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
	// byKey are the keys by their ids.
	byKey  map[string]keyEntry
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
	// void says that the key does not work: it was withdrawn, or several publishers
	// have its id. Ids are random, so all but one of them have a copy, and with one
	// of a withdrawn key that would work again.
	void bool
}

func newPublishers() *publishers {
	return &publishers{byID: map[string]*publisher{}, byKey: map[string]keyEntry{}}
}

// publisherOf reads an object. A key with an invalid hash is left out.
func publisherOf(o *v1alpha1.CatalogPublisher) *publisher {
	p := &publisher{public: catalog.PublisherOf(o)}
	if o.Name == catalog.SeedOwner || o.DeletionTimestamp != nil {
		return p // No key belongs to the seeder.
	}
	for _, k := range o.Spec.Keys {
		hash, err := apikey.ParseHash(k.Hash)
		if err != nil {
			continue
		}
		entry := keyEntry{publisher: o.Name, id: k.ID, hash: hash, void: k.RevokedAt != nil}
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
	next := &publishers{byID: maps.Clone(p.byID), byKey: map[string]keyEntry{}, listed: p.listed}
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
			_, copied := p.byKey[k.id]
			k.void = k.void || copied
			p.byKey[k.id] = k
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
// one.
func (r *Reader) PublisherByKey(presented string) (publisherID, keyID string, ok bool) {
	key, err := apikey.Parse(presented)
	var entry keyEntry
	if err == nil && key.Kind == apikey.KindPublisher {
		entry = r.publishers.Load().byKey[key.ID]
	}
	// No key hashes to the zero hash of an entry that does not exist.
	_, ok = apikey.Match(presented, []apikey.Hash{entry.hash})
	if !ok || entry.void || entry.expired(r.now()) {
		return "", key.ID, false
	}
	return entry.publisher, key.ID, true
}

// expired reports whether the key is no longer valid.
func (k keyEntry) expired(now time.Time) bool { return !k.expires.IsZero() && !now.Before(k.expires) }
