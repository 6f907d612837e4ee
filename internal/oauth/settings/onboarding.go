// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"regexp"
	"slices"
)

// labelPattern is the form of a namespace's name. The API server would refuse a bridge in
// another one at a person's first login; here an administrator reads the error at the start.
var labelPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (p *problems) onboarding(o *Onboarding) {
	const field = "server.onboarding"
	p.check(slices.Contains([]string{Off, Invite, Auto}, o.Mode), field+".mode", "off, invite or auto")
	if o.Mode == Auto {
		p.check(labelPattern.MatchString(o.Namespace), field+".namespace", "the namespace of the bridges that mode auto makes")
	}
}
