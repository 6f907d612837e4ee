// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/scim"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// manyPeople answers as the watch does: with a list of its own, of objects that are shared.
type manyPeople []v1alpha1.BridgePerson

func (m manyPeople) Persons(context.Context) ([]v1alpha1.BridgePerson, error) {
	return slices.Clone(m), nil
}

// BenchmarkQuestionsAboutAllPeople measures what a request costs that looks at all people: one
// that creates a user, and one that reads a group.
func BenchmarkQuestionsAboutAllPeople(b *testing.B) {
	d := &scim.Directory{Name: "okta", Issuer: "https://acme.okta.com", Limits: scim.DefaultLimits}
	for _, n := range []int{1_000, 10_000} {
		var people manyPeople
		for i := range n {
			p := v1alpha1.BridgePerson{Spec: v1alpha1.BridgePersonSpec{Issuer: d.Issuer, Subject: fmt.Sprint(i), Directory: &v1alpha1.PersonDirectory{Incarnation: 1, UserName: fmt.Sprint("user-", i), Active: true}}}
			p.Name = nameOf(d, p.Spec.Subject)
			people = append(people, p)
		}
		o := &objects{known: people}
		b.Run(fmt.Sprintf("a user name of %d", n), func(b *testing.B) {
			for b.Loop() {
				must.Succeed(b, checkUserName(must.Value(o.known.Persons(b.Context()))(b), d, "another", "x"))
			}
		})
		b.Run(fmt.Sprintf("the members of a group of %d", n), func(b *testing.B) {
			for b.Loop() {
				must.Value((&groupStore{objects: o}).gone(b.Context(), d.Issuer))(b)
			}
		})
	}
}
