// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// offline returns a store that never reaches an API server.
func offline(t *testing.T, now func() time.Time) *Store {
	t.Helper()
	s, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, Options{Namespace: "catalog", Random: rand.Reader, Now: now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mint returns a key of that kind and what an object has of it.
func mint(t *testing.T, kind apikey.Kind) (string, v1alpha1.PublisherKey) {
	t.Helper()
	key, id := must.Values(apikey.Mint(rand.Reader, kind))(t)
	return key, v1alpha1.PublisherKey{ID: id, Hash: apikey.HashOf(key).String()}
}

// mintFrom mints the key of an id and a secret of one character each.
func mintFrom(t *testing.T, id, secret string) (string, v1alpha1.PublisherKey) {
	t.Helper()
	key, drawn := must.Values(apikey.Mint(strings.NewReader(strings.Repeat(id, 12)+strings.Repeat(secret, 22)), apikey.KindPublisher))(t)
	return key, v1alpha1.PublisherKey{ID: drawn, Hash: apikey.HashOf(key).String()}
}

func publisherWith(name string, keys ...v1alpha1.PublisherKey) *v1alpha1.CatalogPublisher {
	o := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.Spec.Keys = keys
	return o
}

func TestWhoseAKeyIs(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := now
	s := offline(t, func() time.Time { return clock })
	good, goodEntry := mint(t, apikey.KindPublisher)
	other, otherEntry := mint(t, apikey.KindPublisher)
	gone, goneEntry := mint(t, apikey.KindPublisher)
	brief, briefEntry := mint(t, apikey.KindPublisher)
	strange, strangeEntry := mint(t, apikey.KindPublisher)
	unhashed, unhashedEntry := mint(t, apikey.KindPublisher)
	user, userEntry := mint(t, apikey.KindUser)
	unknown, _ := mint(t, apikey.KindPublisher)
	withdrawnKey, withdrawnEntry := mint(t, apikey.KindPublisher)
	withdrawnEntry.RevokedAt = new(metav1.NewTime(now.Add(time.Hour)))
	goneEntry.RevokedAt = new(metav1.NewTime(now.Add(time.Hour)))
	briefEntry.ExpiresAt = new(metav1.NewTime(now))
	strangeEntry.Hash = otherEntry.Hash
	unhashedEntry.Hash = unhashed
	deleted := publisherWith("deleted", otherEntry)
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	s.replacePublishers([]*v1alpha1.CatalogPublisher{
		publisherWith("acme", goodEntry, goneEntry, withdrawnEntry, briefEntry, strangeEntry, unhashedEntry, userEntry), publisherWith("none"), deleted,
	})
	copied, copiedEntry := mint(t, apikey.KindPublisher)
	s.setPublisher(publisherWith("owner", copiedEntry))
	s.setPublisher(publisherWith("thief", copiedEntry))
	s.setPublisher(publisherWith("newcomer", v1alpha1.PublisherKey{ID: goneEntry.ID, Hash: goneEntry.Hash}))
	known, knownEntry := mintFrom(t, "1", "2")
	otherOne, otherOneEntry := mintFrom(t, "1", "3")
	s.setPublisher(publisherWith("known", knownEntry))
	s.setPublisher(publisherWith("unknown", otherOneEntry))
	longer := publisherWith("longer")
	second, secondEntry := mint(t, apikey.KindPublisher)
	secondEntry.ExpiresAt = new(metav1.NewTime(now.Add(time.Second)))
	longer.Spec.Keys = []v1alpha1.PublisherKey{secondEntry}
	s.setPublisher(longer)

	for name, tt := range map[string]struct{ key, want string }{
		"a key":                                    {good, "acme"},
		"a key that expires later":                 {second, "longer"},
		"a key whose hash two publishers have":     {copied, ""},
		"a key that expires now":                   {brief, ""},
		"a key that is withdrawn, from whenever":   {withdrawnKey, ""},
		"a withdrawn key that another one copied":  {gone, ""},
		"a key under whose id another one has one": {known, ""},
		"another key under a known id":             {otherOne, ""},
		"a key of a publisher that is going":       {other, ""},
		"a key under whose id another's hash is":   {strange, ""},
		"a key that stands where its hash should":  {unhashed, ""},
		"a user's key":                             {user, ""},
		"a key that nobody has":                    {unknown, ""},
		"a key with another secret":                {good[:len(good)-1] + "~", ""},
		"nothing":                                  {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, id, ok := s.PublisherByKey(tt.key)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("%q, %q, %t", got, id, ok)
			}
		})
	}
	if _, id, ok := s.PublisherByKey(unknown); ok || id == "" {
		t.Error("nobody knows which key was tried")
	}
	clock = now.Add(time.Second)
	if _, _, ok := s.PublisherByKey(second); ok {
		t.Error("a key works after its end")
	}
	s.forgetPublisher("acme")
	if _, _, ok := s.PublisherByKey(good); ok {
		t.Error("a key of nobody works")
	}
}

func TestALifetimeThatIsOverIsNamedAsItWasAsked(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := offline(t, func() time.Time { return now })
	_, _, err := s.CreatePublisher(t.Context(), catalog.Publisher{ID: "acme"}, &now)
	invalid, ok := errors.AsType[*catalog.InvalidError](err)
	if !ok || len(invalid.Problems) != 1 || invalid.Problems[0].Field != "expires" {
		t.Errorf("error = %v", err)
	}
}
