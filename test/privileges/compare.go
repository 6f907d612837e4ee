// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package privileges

import (
	"cmp"
	"maps"
	"slices"
)

// Kind is what is wrong.
type Kind string

// What may be wrong, as it stands in the table.
const (
	Unused    Kind = "granted, never used"
	Refused   Kind = "asked, not granted"
	Unbound   Kind = "used, granted by nothing that is known"
	WideScope Kind = "granted everywhere, used in one namespace"
	WideNames Kind = "granted on every name, used on one"
	Wild      Kind = "granted on what there may be one day"
	Tenant    Kind = "asked by an account that is not the installation's"
	Stranger  Kind = "asked by nobody who is known"
)

// Finding is something that is wrong.
type Finding struct {
	Account Account
	Kind    Kind
	What    string
	// Where is the role and, where that is what is wrong, the one name; or how often.
	Where string
}

// Use is a right with what it was used for.
type Use struct {
	Account Account
	Right   Right
	Times   int
	// Namespaces and Names are where and on what it was used, an empty one among
	// them where it was on none.
	Namespaces, Names map[string]bool
}

// Exception is a finding that is not wrong.
type Exception struct {
	// Account is without its namespace.
	Account string
	Kind    Kind
	What    string
	// Why says to the reader why it is not wrong.
	Why string
}

// Comparison is of one installation.
type Comparison struct {
	Grants Grants
	Log    Log
	// Namespace is the installation's: its accounts are the processes'.
	Namespace string
	Accounts  []string

	Uses     []Use
	Findings []Finding
}

// Compare fills Uses and Findings, those that are excepted left out.
func (c *Comparison) Compare(exceptions ...Exception) {
	processes := map[Account]bool{}
	for _, name := range c.Accounts {
		processes[Account{c.Namespace, name}] = true
	}
	for r := range c.Log.Requests {
		if r.Account.Namespace == c.Namespace {
			processes[r.Account] = true
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(processes), func(x, y Account) int { return cmp.Compare(x.Name, y.Name) }) {
		c.process(a)
	}
	for r, times := range c.Log.Requests {
		// Another installation's processes are not this one's tenants.
		if r.Account.Namespace != c.Namespace && !slices.Contains(c.Accounts, r.Account.Name) {
			c.find(r.Account, Tenant, r.Act.String(), counted(times))
		}
	}
	for what, times := range c.Log.Strangers {
		c.find(Account{}, Stranger, what, counted(times))
	}
	c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool {
		return slices.ContainsFunc(exceptions, func(e Exception) bool {
			return e.Account == f.Account.Name && e.Kind == f.Kind && e.What == f.What
		})
	})
	slices.SortStableFunc(c.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Account.String(), y.Account.String()), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.What, y.What))
	})
}

func (c *Comparison) find(a Account, kind Kind, what, where string) {
	c.Findings = append(c.Findings, Finding{a, kind, what, where})
}

// process compares the rights of one process with its requests.
func (c *Comparison) process(a Account) {
	own, common := c.Grants.Of(a)
	uses := make([]Use, len(own))
	for i, r := range own {
		uses[i] = Use{Account: a, Right: r, Namespaces: map[string]bool{}, Names: map[string]bool{}}
	}
	refused := map[string]int{}
	for r, times := range c.Log.Requests {
		if r.Account != a {
			continue
		}
		// The refusal of a creation is in the answer alone.
		if r.Refused {
			refused[r.Act.String()] += times
			continue
		}
		if r.Forbidden && r.makes() && find(own, r.creation()) < 0 {
			refused[r.creation().String()] += times
		}
		for _, act := range r.acts() {
			switch i := find(own, act); {
			case i >= 0:
				uses[i].add(act, times)
			case find(common, act) < 0:
				c.find(a, Unbound, act.String(), counted(times))
			}
		}
	}
	for what, times := range refused {
		c.find(a, Refused, what, counted(times))
	}
	for _, u := range uses {
		c.judge(u)
	}
	c.Uses = append(c.Uses, uses...)
}

func (u *Use) add(act Act, times int) {
	u.Times += times
	u.Namespaces[act.Namespace] = true
	u.Names[act.Name] = true
}

// find returns the narrowest of the rights that allows the act.
func find(rights []Right, act Act) int {
	return slices.IndexFunc(rights, func(r Right) bool { return r.allows(act) })
}

// judge says what is wrong with a right.
func (c *Comparison) judge(u Use) {
	r := u.Right
	if r.isWild() {
		c.find(u.Account, Wild, r.String(), r.Role)
	}
	if u.Times == 0 {
		c.find(u.Account, Unused, r.String(), r.Role)
		return
	}
	if r.Path == "" && r.Namespace == "" && len(u.Namespaces) == 1 && u.Namespaces[c.Namespace] {
		c.find(u.Account, WideScope, r.String(), r.Role)
	}
	if r.Path == "" && r.Name == "" && len(u.Names) == 1 && !u.Names[""] {
		c.find(u.Account, WideNames, r.String(), r.Role+": "+slices.Collect(maps.Keys(u.Names))[0])
	}
}
