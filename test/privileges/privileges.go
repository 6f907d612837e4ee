// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package privileges compares what the installation's processes are allowed to
// do with what they did: the roles of a cluster with the audit log of its API
// server. A right that nobody used in a run of all end-to-end tests is one that
// nobody needs, or a feature that nobody tests.
package privileges

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// all is RBAC's word for everything.
const all = "*"

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

func (a Account) String() string { return a.Namespace + "/" + a.Name }

// Act is something that is done to objects, or to a path that is no object's.
type Act struct {
	Verb, Group string
	// Resource has its subresource behind it, as in pods/status.
	Resource string
	// Path is set where there is no resource.
	Path string
	// Namespace and Name are where and on what. Of an act, an empty namespace is
	// all namespaces, or that the resource is in none; of a right it is anywhere.
	// An empty name is no object or, of a right, any.
	Namespace, Name string
}

func (a Act) String() string {
	if a.Path != "" {
		return a.Verb + " " + a.Path
	}
	s := a.Verb + " " + a.Resource
	if a.Group != "" {
		s += "." + a.Group
	}
	if a.Name != "" {
		s += " " + a.Name
	}
	return s
}

// Right allows one kind of act.
type Right struct {
	Act
	// Role is who grants it.
	Role string
}

// allows says what RBAC says.
func (r Right) allows(a Act) bool {
	if r.Verb != all && r.Verb != a.Verb {
		return false
	}
	if a.Path != "" || r.Path != "" {
		prefix, open := strings.CutSuffix(r.Path, all)
		return r.Path != "" && (r.Path == a.Path || open && strings.HasPrefix(a.Path, prefix))
	}
	return (r.Group == all || r.Group == a.Group) && onResource(r.Resource, a.Resource) &&
		(r.Namespace == "" || r.Namespace == a.Namespace) && (r.Name == "" || r.Name == a.Name)
}

func onResource(granted, asked string) bool {
	_, subresource, _ := strings.Cut(asked, "/")
	return granted == all || granted == asked || subresource != "" && granted == all+"/"+subresource
}

// isWild says that a right is on what there may be one day.
func (r Right) isWild() bool {
	return strings.Contains(r.Verb+r.Group+r.Resource+r.Path, all)
}

// Grants are the roles and bindings of a cluster.
type Grants struct {
	Roles               []rbacv1.Role
	ClusterRoles        []rbacv1.ClusterRole
	RoleBindings        []rbacv1.RoleBinding
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
}

// Of returns the rights of an account: its own, which are bound to it by name,
// and those that it has in common with all of a group, as the reading of what
// APIs there are. The narrower comes before the wider.
func (g Grants) Of(a Account) (own, common []Right) {
	add := func(subjects []rbacv1.Subject, namespace, from string, rules []rbacv1.PolicyRule) {
		named, grouped := a.among(subjects)
		switch rights := expand(rules, namespace, from); {
		case named:
			own = append(own, rights...)
		case grouped:
			common = append(common, rights...)
		}
	}
	for _, b := range g.RoleBindings {
		rules, from := g.rules(b.RoleRef, b.Namespace)
		add(b.Subjects, b.Namespace, from, rules)
	}
	for _, b := range g.ClusterRoleBindings {
		rules, from := g.rules(b.RoleRef, "")
		add(b.Subjects, "", from, rules)
	}
	slices.SortStableFunc(own, func(x, y Right) int { return cmp.Compare(y.narrowness(), x.narrowness()) })
	return own, common
}

// narrowness is greater where a right allows less.
func (r Right) narrowness() (n int) {
	for _, narrow := range []bool{r.Name != "", r.Namespace != "", !r.isWild()} {
		n *= 2
		if narrow {
			n++
		}
	}
	return n
}

// rules returns what a binding refers to, and what it is called.
func (g Grants) rules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, string) {
	if ref.Kind == "ClusterRole" {
		for _, r := range g.ClusterRoles {
			if r.Name == ref.Name {
				return r.Rules, "ClusterRole " + r.Name
			}
		}
	}
	for _, r := range g.Roles {
		if ref.Kind == "Role" && r.Name == ref.Name && r.Namespace == namespace {
			return r.Rules, "Role " + namespace + "/" + r.Name
		}
	}
	return nil, ""
}

// among says whether subjects name the account, or a group that it is in.
func (a Account) among(subjects []rbacv1.Subject) (named, grouped bool) {
	groups := []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + a.Namespace}
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			named = named || s.Namespace == a.Namespace && s.Name == a.Name
		case rbacv1.UserKind:
			named = named || s.Name == a.user()
		case rbacv1.GroupKind:
			grouped = grouped || slices.Contains(groups, s.Name)
		}
	}
	return named, grouped
}

// user is what the API server calls the account.
func (a Account) user() string { return userPrefix + a.Namespace + ":" + a.Name }

const userPrefix = "system:serviceaccount:"

// expand returns each verb of each rule on each of its resources.
func expand(rules []rbacv1.PolicyRule, namespace, from string) (rights []Right) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range rule.Verbs {
			for _, path := range rule.NonResourceURLs {
				rights = append(rights, Right{Act{Verb: verb, Path: path}, from})
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						rights = append(rights, Right{Act{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name}, from})
					}
				}
			}
		}
	}
	return rights
}
