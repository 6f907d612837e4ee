// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"regexp"
	"slices"
)

// The API's rules for a bridge's namespace, tier, servers and recipes. The API
// server would refuse a bridge that breaks them, at a person's first login;
// here an administrator reads the error at the start.
var (
	labelPattern   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	serverPattern  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)
	recipePattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$`)
	versionPattern = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`)
)

// maxServers is the API's limit for a bridge.
const maxServers = 64

func (p *problems) onboarding(o *Onboarding) {
	const field = "server.onboarding"
	p.check(slices.Contains([]string{Off, Invite, Auto}, o.Mode), field+".mode", "off, invite or auto")
	if o.Mode == Auto {
		p.check(labelPattern.MatchString(o.Namespace), field+".namespace", "the namespace of the bridges that mode auto makes")
		p.check(isText(o.Tier) && len(o.Tier) <= 63, field+".tier", "one of the installation's tiers")
	}
	p.check(len(o.Servers) <= maxServers, field+".servers", "a list of at most 64 servers")
	var names []string
	for i, s := range o.Servers {
		at := fmt.Sprintf("%s.servers[%d]", field, i)
		p.check(serverPattern.MatchString(s.Name), at+".name", "1 to 32 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit")
		p.refuse(slices.Contains(names, s.Name), at+".name", "is that of another server")
		p.check(recipePattern.MatchString(s.Recipe.Name), at+".recipe.name", "2 to 64 lower-case letters, digits or hyphens, beginning and ending with a letter or a digit")
		p.check(s.Recipe.Version == "" || versionPattern.MatchString(s.Recipe.Version), at+".recipe.version", "one version of the recipe, such as 1.2.3; leave it out to follow the latest")
		names = append(names, s.Name)
	}
}
