// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// Secrets are the secrets of a user, without values.
type Secrets struct {
	Secrets []Secret `json:"secrets"`
	// Limit is how many the tier allows, null for any number.
	Limit *int `json:"limit"`
}

// Secret is what a user sees of a secret. No answer has a value.
type Secret struct {
	Name string `json:"name"`
	// Size is the value's in bytes.
	Size int `json:"size"`
	// Created and Updated are zero if they are not known.
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	// KeyVersion is the version of the master key under which the secret is sealed.
	KeyVersion uint32 `json:"keyVersion"`
	// Source is the Secret of spec.secretRefs that it comes from, empty for a secret that
	// the user set.
	Source string `json:"source,omitempty"`
	// Servers are those that may use the secret.
	Servers []string `json:"servers"`
	// Warning says that no server uses the secret, and which secrets servers use.
	Warning string `json:"warning,omitempty"`
}

// WithUses returns the secret with the servers that may use it.
func (s Secret) WithUses(g route.Grants) Secret {
	s.Servers, s.Warning = g.Servers(s.Name), ""
	if len(s.Servers) > 0 {
		return s
	}
	s.Servers = []string{} // A list, and not null, for whoever reads it.
	s.Warning = "No server uses a secret of this name."
	if used := g.Secrets(); len(used) > 0 {
		s.Warning += " Servers use " + strings.Join(used, ", ") + "."
	}
	return s
}
