// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

func (p *problems) roles(s *Server) {
	known := oauth.Roles()
	for i, r := range s.Roles {
		field := fmt.Sprintf("server.roles[%d]", i)
		p.check(slices.Contains(known, oauth.Role(r.Role)), field+".role", fmt.Sprintf("one of %v", known))
		p.check(len(r.Groups) > 0, field+".groups", "a list of at least one group")
		for n, g := range r.Groups {
			at := fmt.Sprintf("%s.groups[%d]", field, n)
			p.check(isText(g.Value), at+".value", wantText)
			p.check(slices.ContainsFunc(s.Providers, func(v Provider) bool {
				return v.Type == OIDC && v.Issuer == g.Issuer && v.Groups.Claim != ""
			}), at+".issuer", "that of a provider of server.providers with groups.claim")
		}
	}
}
