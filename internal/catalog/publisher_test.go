// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

func TestWhatAdministratorsSeeOfAPublisher(t *testing.T) {
	at := func(minutes int) *metav1.Time {
		return new(metav1.NewTime(catalogtest.Start.Add(time.Duration(minutes) * time.Minute)))
	}
	o := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Name: "acme", UID: "1", CreationTimestamp: *at(0)}}
	o.Spec = v1alpha1.CatalogPublisherSpec{
		DisplayName: "Acme", Contact: "a@example.com", Verified: true, PublicKeys: []string{"k"},
		Keys: []v1alpha1.PublisherKey{{ID: "one", Hash: "sha256:secret", CreatedAt: at(1), ExpiresAt: at(9)}, {ID: "two", Hash: "sha256:secret", RevokedAt: at(2)}},
	}
	before := catalog.PublisherOf(o)
	o.Status.Keys = []v1alpha1.PublisherKeyStatus{{ID: "two", LastUsedAt: at(3)}, {ID: "gone", LastUsedAt: at(4)}}
	p := catalog.PublisherOf(o)
	if p.Revision != before.Revision || p.Revision == "" {
		t.Error("the use of a key is a change")
	}
	utc := func(m *metav1.Time) *time.Time { return new(m.UTC()) }
	want := catalog.Publisher{
		ID: "acme", DisplayName: "Acme", Contact: "a@example.com", Verified: true, PublicKeys: []string{"k"}, Created: catalogtest.Start.UTC(), Revision: p.Revision,
		Keys: []catalog.PublisherKey{{ID: "one", CreatedAt: utc(at(1)), ExpiresAt: utc(at(9))}, {ID: "two", RevokedAt: utc(at(2)), LastUsedAt: utc(at(3))}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b, err := json.Marshal(p); err != nil || strings.Contains(string(b), "secret") {
		t.Errorf("the hash is told, or %v", err)
	}
	for name, change := range map[string]func(*v1alpha1.CatalogPublisher){
		"another name to show":   func(o *v1alpha1.CatalogPublisher) { o.Spec.DisplayName = "Else" },
		"a withdrawn key":        func(o *v1alpha1.CatalogPublisher) { o.Spec.Keys[0].RevokedAt = at(5) },
		"a later publisher":      func(o *v1alpha1.CatalogPublisher) { o.UID = "2" },
		"no public key any more": func(o *v1alpha1.CatalogPublisher) { o.Spec.PublicKeys = nil },
	} {
		changed := o.DeepCopy()
		change(changed)
		if catalog.PublisherOf(changed).Revision == p.Revision {
			t.Errorf("%s is the same revision", name)
		}
	}
}

func TestCheckPublisher(t *testing.T) {
	public, _ := catalogtest.Key(1)
	good := catalog.Publisher{ID: "acme-2", DisplayName: strings.Repeat("ä", 128), Contact: strings.Repeat("a", 256), PublicKeys: []string{recipe.FormatKey(public)}}
	for name, tt := range map[string]struct {
		change func(*catalog.Publisher)
		fields []string
	}{
		"a good one":            {func(*catalog.Publisher) {}, nil},
		"one letter":            {func(p *catalog.Publisher) { p.ID = "a" }, nil},
		"63 letters":            {func(p *catalog.Publisher) { p.ID = strings.Repeat("a", 63) }, nil},
		"64 letters":            {func(p *catalog.Publisher) { p.ID = strings.Repeat("a", 64) }, []string{"id"}},
		"no id":                 {func(p *catalog.Publisher) { p.ID = "" }, []string{"id"}},
		"a capital":             {func(p *catalog.Publisher) { p.ID = "Acme" }, []string{"id"}},
		"a hyphen at the end":   {func(p *catalog.Publisher) { p.ID = "acme-" }, []string{"id"}},
		"a line's end":          {func(p *catalog.Publisher) { p.ID = "acme\n" }, []string{"id"}},
		"the seeder":            {func(p *catalog.Publisher) { p.ID = catalog.SeedOwner }, []string{"id"}},
		"a long name to show":   {func(p *catalog.Publisher) { p.DisplayName += "ä" }, []string{"displayName"}},
		"a long contact":        {func(p *catalog.Publisher) { p.Contact += "a" }, []string{"contact"}},
		"too many public keys":  {func(p *catalog.Publisher) { p.PublicKeys = slicesOf(9, p.PublicKeys[0]) }, []string{"publicKeys"}},
		"what is no public key": {func(p *catalog.Publisher) { p.PublicKeys = []string{"k"} }, []string{"publicKeys[0]"}},
		"all that is wrong":     {func(p *catalog.Publisher) { p.ID, p.Contact = "", p.Contact+"a" }, []string{"id", "contact"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := good
			tt.change(&p)
			var fields []string
			for _, problem := range catalog.CheckPublisher(p) {
				fields = append(fields, problem.Field)
			}
			if diff := cmp.Diff(tt.fields, fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func slicesOf(n int, one string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = one
	}
	return list
}
