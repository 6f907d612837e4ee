// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"crypto/sha256" //nolint:depguard // A fingerprint of ciphertext, which keeps nothing secret.
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

const (
	// indexKey is the key of the index among the envelopes. No secret's name
	// begins with a dot.
	indexKey = ".index"
	// retainedKey is the key of the time that Retain notes, and retainedSize its length.
	retainedKey  = ".retained-until"
	retainedSize = len("2006-01-02T15:04:05Z")
	// revisionSize is how many bytes of the digest are the revision: enough
	// that two states of one user's secrets do not share one by chance.
	revisionSize = 8
)

// Source is where a secret came from when spec.secretRefs gave it.
type Source struct {
	// Secret is the Secret's name and Key the key in it.
	Secret string `json:"secret"`
	Key    string `json:"key"`
	// UID and ResourceVersion are those of the Secret when it was last read.
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	// Deleted says that the keybroker itself deleted the Secret after sealing
	// it. From then on the secret is the user's own.
	Deleted bool `json:"deleted,omitempty"`
}

// Entry describes a secret without its value.
type Entry struct {
	Name string
	// Size is the value's in bytes, and Key the key that it is sealed under.
	// Both are zero for an envelope that is too damaged to say.
	Size int
	Key  envelope.KeyID
	// Created and Updated are zero if the index does not tell.
	Created, Updated time.Time
	// Source is nil for a secret that the user set.
	Source *Source
	// Origin is where the value may be sent, empty for a user's secret.
	Origin string
}

// Managed reports whether the secret follows its source, so that the user may
// not change it.
func (e Entry) Managed() bool { return e.Source != nil && !e.Source.Deleted }

// Listing lists the secrets of a bridge.
type Listing struct {
	// Entries are sorted by name.
	Entries []Entry
	// Revision changes when a secret is set or removed, and not when it is only
	// wrapped under another version of the key. It is empty while there are no
	// secrets.
	Revision string
	// RetainedUntil is the time that Retain noted, zero for none.
	RetainedUntil time.Time
}

// Lowest returns the lowest key under which any secret is sealed, and the zero
// value if there are no secrets. Keys of another algorithm sort by the
// algorithm.
func (l Listing) Lowest() envelope.KeyID {
	var lowest envelope.KeyID
	for _, e := range l.Entries {
		if e.Key != (envelope.KeyID{}) && (lowest == (envelope.KeyID{}) || below(e.Key, lowest)) {
			lowest = e.Key
		}
	}
	return lowest
}

func below(a, b envelope.KeyID) bool {
	return a.Algorithm < b.Algorithm || a.Algorithm == b.Algorithm && a.Version < b.Version
}

// Find returns the entry of that name.
func (l Listing) Find(name string) (Entry, bool) {
	i, found := slices.BinarySearchFunc(l.Entries, name, func(e Entry, name string) int {
		return strings.Compare(e.Name, name)
	})
	if !found {
		return Entry{}, false
	}
	return l.Entries[i], true
}

// indexed is the index's record of a secret.
type indexed struct {
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	Source  *Source   `json:"source,omitempty"`
	Origin  string    `json:"origin,omitempty"`
}

// index is indexed by the secrets' names.
type index map[string]indexed

// snapshot is the state of a bridge's envelopes as it was read.
type snapshot struct {
	Listing
	// secret is nil before the first secret is set.
	secret *corev1.Secret
	index  index
}

// take reads the Secret with the envelopes. An index that cannot be read counts
// as missing, and err says so: the secrets exist and open without it. Their
// sources are lost: the secrets count as the user's own from then on, and an
// entry of spec.secretRefs that gives one of their names is reported and not
// sealed.
func take(secret *corev1.Secret) (s snapshot, err error) {
	s = snapshot{secret: secret, index: index{}}
	if raw, found := secret.Data[indexKey]; found {
		if json.Unmarshal(raw, &s.index) != nil || s.index == nil {
			s.index, err = index{}, fmt.Errorf("the index of Secret %s/%s cannot be read", secret.Namespace, secret.Name)
		}
	}
	// No store writes keys that are not valid names.
	maps.DeleteFunc(s.index, func(name string, _ indexed) bool {
		_, found := secret.Data[name]
		return !found || !v1alpha1.ValidSecretName(name)
	})
	for _, name := range slices.Sorted(maps.Keys(secret.Data)) {
		if !v1alpha1.ValidSecretName(name) {
			continue
		}
		// The zero header stands for an invalid envelope.
		header, _ := envelope.Inspect(secret.Data[name])
		i := s.index[name]
		s.Entries = append(s.Entries, Entry{
			Name: name, Size: header.PlaintextSize, Key: header.Key,
			Created: i.Created, Updated: i.Updated, Source: i.Source, Origin: i.Origin,
		})
	}
	s.Revision = revision(s.Entries, secret.Data)
	s.RetainedUntil, _ = time.Parse(time.RFC3339, string(secret.Data[retainedKey])) // Zero for what is no time.
	return s, err
}

// revision is a fingerprint of the sealed content, and not of how it is
// wrapped.
func revision(entries []Entry, data map[string][]byte) string {
	if len(entries) == 0 {
		return ""
	}
	digest := sha256.New()
	field := func(b []byte) {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(b))) //nolint:gosec // At most the size of a Secret.
		digest.Write(size[:])
		digest.Write(b)
	}
	for _, e := range entries {
		body, err := envelope.Body(data[e.Name])
		if err != nil {
			body = data[e.Name] // Damage is a change too.
		}
		field([]byte(e.Name))
		field(body)
	}
	return hex.EncodeToString(digest.Sum(nil)[:revisionSize])
}
