// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Info is the public part of a key.
type Info struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// CreatedAt is when the key was applied, nil if its field manager does not
	// say.
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	// ExpiresAt is nil for a key that does not expire.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// LastUsed is when the key was last used, accurate to some minutes.
	LastUsed *time.Time `json:"lastUsed,omitempty"`
	// ManagedBy are the field managers that hold the key, if one of them is not
	// the key's own: it must be removed at its source.
	ManagedBy []string `json:"managedBy,omitempty"`
}

// List are the keys of a bridge, without the keys themselves.
type List struct {
	Keys []Info `json:"keys"`
	// Limit is how many keys a bridge may have.
	Limit int `json:"limit"`
	// Partial means that the API server is away: who holds the keys, and when they were
	// made, is not known.
	Partial bool `json:"partial,omitempty"`
}

// Find returns the key of that id.
func (l List) Find(id string) (Info, bool) {
	i := slices.IndexFunc(l.Keys, func(k Info) bool { return k.ID == id })
	if i < 0 {
		return Info{}, false
	}
	return l.Keys[i], true
}

// knownOf returns the keys of a bridge whose field managers are not known.
func knownOf(b *v1alpha1.HostedBridge) List {
	infos := InfosOf(b)
	for i := range infos {
		infos[i].ManagedBy, infos[i].CreatedAt = nil, nil
	}
	return List{Keys: infos, Limit: Max, Partial: true}
}

// Created is the one and only view of a key.
type Created struct {
	Key       string     `json:"key"`
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// createdOf returns the view of a key that was made now.
func createdOf(m *Minted, name string, now time.Time) Created {
	created := Created{Key: m.Key, ID: m.ID, Name: name, CreatedAt: now.UTC().Truncate(time.Second)}
	if !m.ExpiresAt.IsZero() {
		created.ExpiresAt = &m.ExpiresAt
	}
	return created
}

// InfosOf returns the public part of b's keys, in the order of the spec.
func InfosOf(b *v1alpha1.HostedBridge) []Info {
	infos := make([]Info, len(b.Spec.APIKeys))
	for i, k := range b.Spec.APIKeys {
		infos[i] = Info{ID: k.ID, Name: k.Name, CreatedAt: createdAt(b.ManagedFields, k.ID), ManagedBy: others(b.ManagedFields, k.ID)}
		if k.ExpiresAt != nil {
			infos[i].ExpiresAt = utc(k.ExpiresAt)
		}
		for _, used := range b.Status.Keys {
			if used.ID == k.ID {
				infos[i].LastUsed = utc(&used.LastUsedTime)
			}
		}
	}
	return infos
}

func utc(t *metav1.Time) *time.Time {
	u := t.UTC()
	return &u
}

// createdAt returns when the key's own manager applied it. No key is applied a
// second time, so this is when it was made.
func createdAt(fields []metav1.ManagedFieldsEntry, id string) *time.Time {
	for _, f := range fields {
		if f.Manager == manager(id) && f.Time != nil {
			return utc(f.Time)
		}
	}
	return nil
}

// others returns the managers of the key's entry, none if only the key's own
// holds it. An entry without a manager is reported too: it is older than field
// managers, and a user cannot remove it.
func others(fields []metav1.ManagedFieldsEntry, id string) []string {
	var managers []string
	for _, f := range fields {
		if f.Subresource == "" && holds(f.FieldsV1, id) && !slices.Contains(managers, f.Manager) {
			managers = append(managers, f.Manager)
		}
	}
	switch {
	case len(managers) == 0:
		return []string{"unknown"}
	case len(managers) == 1 && managers[0] == manager(id):
		return nil
	}
	slices.Sort(managers)
	return managers
}

// holds reports whether the key of that id is among the fields.
func holds(fields *metav1.FieldsV1, id string) bool {
	if fields == nil {
		return false
	}
	var held struct {
		Spec struct {
			APIKeys map[string]json.RawMessage `json:"f:apiKeys"`
		} `json:"f:spec"`
	}
	// The API server writes nothing else; a set that cannot be read holds
	// nothing that we know of.
	if json.Unmarshal(fields.GetRawBytes(), &held) != nil {
		return false
	}
	_, ok := held.Spec.APIKeys[`k:{"id":"`+id+`"}`]
	return ok
}
