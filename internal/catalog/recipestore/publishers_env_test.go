// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// soon is how long a withdrawn key may work on: a second, or 10 on a busy machine.
const soon = 10 * time.Second

func (f *fixture) opens(key, publisher string) func() bool {
	return func() bool {
		got, _, ok := f.PublisherByKey(key)
		return ok && got == publisher
	}
}

func (f *fixture) publisherObject(id string) *v1alpha1.CatalogPublisher {
	f.t.Helper()
	o := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: id}}
	testenv.ExpectExists(f.t, f.api, o)
	return o
}

func TestAKeyOpensUntilItIsWithdrawnOnEveryReplica(t *testing.T) {
	f := start(t)
	other := startIn(t, ingressConfig(), f.namespace)
	ctx := t.Context()
	p, first, err := f.CreatePublisher(ctx, catalog.Publisher{ID: "acme", DisplayName: "Acme", Contact: "a@example.com", Verified: true}, nil)
	if err != nil || p.DisplayName != "Acme" || len(p.Keys) != 1 || p.Keys[0].CreatedAt == nil || p.Revision == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	p, id, second, err := f.AddPublisherKey(ctx, "acme", new(time.Now().Add(time.Hour)))
	if err != nil || len(p.Keys) != 2 || p.Keys[1].ID != id || p.Keys[1].ExpiresAt == nil || first == second {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, replica := range []*fixture{f, other} {
		replica.await("the first key", replica.opens(first, "acme"))
		replica.await("the second key", replica.opens(second, "acme"))
	}
	for range 2 { // A second time it is withdrawn already.
		must.Succeed(t, f.RevokePublisherKey(ctx, "acme", id))
	}
	withdrawn := time.Now()
	for _, replica := range []*fixture{f, other} {
		replica.await("that the key is withdrawn", func() bool { return !replica.opens(second, "acme")() })
		if !replica.opens(first, "acme")() {
			t.Error("another key was withdrawn")
		}
	}
	if took := time.Since(withdrawn); took > soon {
		t.Errorf("the key worked on for %v", took)
	}
	if got, _ := other.Publisher("acme"); got.Keys[1].RevokedAt == nil || got.Keys[0].RevokedAt != nil {
		t.Errorf("%+v", got)
	}
	if list := other.Publishers(); len(list) != 1 || list[0].ID != "acme" {
		t.Errorf("%+v", list)
	}

	testenv.ExpectExists(t, f.api, f.publisherObject("acme"))
	must.Succeed(t, f.api.Delete(ctx, f.publisherObject("acme")))
	f.await("that the publisher went", func() bool { _, there := f.Publisher("acme"); return !there })
	if f.opens(first, "acme")() {
		t.Error("a key of nobody works")
	}
}

// TestNoKeyIsStored looks at all that the API server has of the catalog.
func TestNoKeyIsStored(t *testing.T) {
	f := start(t)
	_, first := must.Values(f.CreatePublisher(t.Context(), catalog.Publisher{ID: "acme"}, nil))(t)
	_, _, second, err := f.AddPublisherKey(t.Context(), "acme", nil)
	if err != nil {
		t.Fatal(err)
	}
	o := f.publisherObject("acme")
	b := must.Value(json.Marshal(o))(t)
	for i, key := range []string{first, second} {
		if strings.Contains(string(b), secretOf(key)) {
			t.Error("the object has the key")
		}
		if o.Spec.Keys[i].Hash != apikey.HashOf(key).String() {
			t.Error("the object has not the key's hash")
		}
	}
	p, _ := json.Marshal(catalog.PublisherOf(o))
	if strings.Contains(string(p), "sha256") {
		t.Error("administrators are told the hash")
	}
}

func TestWhatIsRefusedOfPublishers(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	f.make("acme")
	p := f.publisherObject("acme")
	past := new(time.Now().Add(-time.Minute))
	create := func(p catalog.Publisher, expires *time.Time) func() error {
		return func() error { _, _, err := f.CreatePublisher(ctx, p, expires); return err }
	}
	update := func(p catalog.Publisher, ifMatch string) func() error {
		return func() error { _, err := f.UpdatePublisher(ctx, p, ifMatch); return err }
	}
	add := func(id string, expires *time.Time) func() error {
		return func() error { _, _, _, err := f.AddPublisherKey(ctx, id, expires); return err }
	}
	for name, tt := range map[string]struct {
		act   func() error
		want  error
		field string
	}{
		"a name that is taken":         {create(catalog.Publisher{ID: "acme"}, nil), catalog.ErrExists, ""},
		"the seeder's name":            {create(catalog.Publisher{ID: "seed"}, nil), nil, "id"},
		"a name with a blank":          {create(catalog.Publisher{ID: "a b"}, nil), nil, "id"},
		"a name that is too long":      {create(catalog.Publisher{ID: strings.Repeat("a", 129), DisplayName: strings.Repeat("ä", 129)}, nil), nil, "id"},
		"a display name too long":      {create(catalog.Publisher{ID: "b", DisplayName: strings.Repeat("ä", 129)}, nil), nil, "displayName"},
		"a contact too long":           {create(catalog.Publisher{ID: "b", Contact: strings.Repeat("a", 257)}, nil), nil, "contact"},
		"what is no public key":        {create(catalog.Publisher{ID: "b", PublicKeys: []string{"x"}}, nil), nil, "publicKeys[0]"},
		"too many public keys":         {create(catalog.Publisher{ID: "b", PublicKeys: make([]string, 9)}, nil), nil, "publicKeys"},
		"a key that expired":           {create(catalog.Publisher{ID: "b"}, past), nil, "expires"},
		"another key that expired":     {add("acme", past), nil, "expires"},
		"a key of nobody":              {add("nobody", nil), catalog.ErrNotFound, ""},
		"a change of nobody":           {update(catalog.Publisher{ID: "nobody"}, catalog.AnyRevision), catalog.ErrNotFound, ""},
		"a change of another revision": {update(catalog.Publisher{ID: "acme", Verified: true}, "0"), catalog.ErrChanged, ""},
		"a change to what is invalid":  {update(catalog.Publisher{ID: "acme", PublicKeys: []string{"x"}}, catalog.AnyRevision), nil, "publicKeys[0]"},
		"a withdrawal of nobody's key": {func() error { return f.RevokePublisherKey(ctx, "nobody", "x") }, catalog.ErrNotFound, ""},
		"a withdrawal of no key":       {func() error { return f.RevokePublisherKey(ctx, "acme", "x") }, catalog.ErrNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.act()
			var invalid *catalog.InvalidError
			switch {
			case tt.want != nil && !errors.Is(err, tt.want):
				t.Errorf("got %v", err)
			case tt.want == nil && (!errors.As(err, &invalid) || invalid.Problems[0].Field != tt.field):
				t.Errorf("got %v", err)
			}
		})
	}
	if f.publisherObject("acme").ResourceVersion != p.ResourceVersion {
		t.Error("the publisher was written")
	}
}

func TestAChangeOfAPublisherLeavesTheKeys(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	p, key := must.Values(f.CreatePublisher(ctx, catalog.Publisher{ID: "acme", DisplayName: "Acme", Verified: true}, nil))(t)
	changed := catalog.Publisher{ID: "acme", Contact: "https://example.com", Keys: []catalog.PublisherKey{{ID: "other"}}}
	got, err := f.UpdatePublisher(ctx, changed, p.Revision)
	if err != nil || got.DisplayName != "" || got.Verified || got.Contact == "" || len(got.Keys) != 1 || got.Keys[0].ID != p.Keys[0].ID || got.Revision == p.Revision {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = f.UpdatePublisher(ctx, changed, p.Revision); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("got %v", err)
	}
	f.await("the key", f.opens(key, "acme"))
}

// TestAPublisherOfOtherToolsStaysTheirs is one in a repository of manifests.
func TestAPublisherOfOtherToolsStaysTheirs(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	const key, name = "pub_QjC6yTb3Ew1x_", "applied"
	apply := func(spec map[string]any) {
		t.Helper()
		b, err := json.Marshal(map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CatalogPublisher",
			"metadata": map[string]any{"name": name, "namespace": f.namespace}, "spec": spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		o := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
		must.Succeed(t, f.api.Patch(ctx, o, client.RawPatch("application/apply-patch+yaml", b), client.FieldOwner("gitops")))
	}
	theirs := map[string]any{"displayName": "Theirs", "keys": []any{map[string]any{"id": "QjC6yTb3Ew1x", "hash": apikey.HashOf(key).String()}}}
	apply(theirs)
	_, id, ours, err := f.AddPublisherKey(ctx, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, f.RevokePublisherKey(ctx, name, "QjC6yTb3Ew1x"))
	apply(theirs)
	if o := f.publisherObject(name); len(o.Spec.Keys) != 2 || o.Spec.Keys[0].RevokedAt == nil {
		t.Errorf("a withdrawn key works again: %+v", o.Spec.Keys)
	}
	var managed *catalog.ManagedError
	if _, err := f.UpdatePublisher(ctx, catalog.Publisher{ID: name, DisplayName: "Ours"}, catalog.AnyRevision); !errors.As(err, &managed) || !slices.Equal(managed.By, []string{"gitops"}) {
		t.Errorf("got %v", err)
	}
	if _, err := f.UpdatePublisher(ctx, catalog.Publisher{ID: name, DisplayName: "Theirs", Contact: "ours"}, catalog.AnyRevision); err != nil {
		t.Error(err)
	}
	// What they remove goes, since nobody else holds it.
	apply(map[string]any{"displayName": "Theirs"})
	for _, k := range f.publisherObject(name).Spec.Keys {
		if k.ID != id && k.Hash != "" && k.RevokedAt == nil {
			t.Errorf("a key that was removed is there: %+v", k)
		}
	}
	f.await("our key", f.opens(ours, name))
}

// TestKeysThatDoNotWorkAnyMoreStayUntilAnAdministratorRemovesThem has a list that
// is full of them: a new key takes the place of none.
func TestKeysThatDoNotWorkAnyMoreStayUntilAnAdministratorRemovesThem(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	f.make("acme")
	o := f.publisherObject("acme")
	for i := len(o.Spec.Keys); i < catalog.MaxPublisherKeys; i++ {
		over := v1alpha1.PublisherKey{ID: fmt.Sprintf("over%08d", i), Hash: "sha256:" + strings.Repeat("0", 64)}
		if over.RevokedAt = new(metav1.Now()); i%2 == 0 {
			over.RevokedAt, over.ExpiresAt = nil, new(metav1.Now())
		}
		o.Spec.Keys = append(o.Spec.Keys, over)
	}
	testenv.ExpectApplied(t, f.api, o)
	if _, _, _, err := f.AddPublisherKey(ctx, "acme", nil); !errors.Is(err, catalog.ErrTooManyKeys) {
		t.Fatalf("got %v", err)
	}
	working := o.Spec.Keys[0].ID
	if err := f.RevokePublisherKey(ctx, "acme", working); err != nil {
		t.Errorf("a full list keeps a key from being revoked: %v", err)
	}
	o = f.publisherObject("acme")
	o.Spec.Keys = o.Spec.Keys[:catalog.MaxPublisherKeys-1]
	testenv.ExpectApplied(t, f.api, o)
	p, id, _, err := f.AddPublisherKey(ctx, "acme", nil)
	if err != nil || len(p.Keys) != catalog.MaxPublisherKeys || p.Keys[len(p.Keys)-1].ID != id {
		t.Errorf("%v: %d keys", err, len(p.Keys))
	}
}

// TestKeysThatAreAddedAtOnceAreAllThere is of as many replicas.
func TestKeysThatAreAddedAtOnceAreAllThere(t *testing.T) {
	f := start(t)
	f.make("acme")
	var adding sync.WaitGroup
	for range 4 {
		adding.Go(func() {
			if _, _, _, err := f.AddPublisherKey(t.Context(), "acme", nil); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	if n := len(f.publisherObject("acme").Spec.Keys); n != 5 {
		t.Errorf("%d keys", n)
	}
}

func TestTheUseOfAKeyIsWrittenNowAndThen(t *testing.T) {
	f := start(t)
	f.make("acme")
	f.await("the publisher", func() bool { _, there := f.Publisher("acme"); return there })
	p, _ := f.Publisher("acme")
	id := p.Keys[0].ID
	first := time.Now().Add(-time.Hour)
	last := func() time.Time {
		if p, _ := f.Publisher("acme"); p.Keys[0].LastUsedAt != nil {
			return *p.Keys[0].LastUsedAt
		}
		return time.Time{}
	}
	f.NoteKeyUse("nobody", id, first)
	f.NoteKeyUse("acme", "other", first)
	f.NoteKeyUse("acme", id, first)
	f.await("the first use", func() bool { return last().Equal(first.UTC().Truncate(time.Second)) })
	if got, _ := f.Publisher("acme"); got.Revision != p.Revision {
		t.Error("a use is a change")
	}
	version := f.publisherObject("acme").ResourceVersion
	f.NoteKeyUse("acme", id, first.Add(useInterval-2*time.Second))
	if n := len(f.takePending()); n != 0 {
		t.Errorf("%d uses are to be written that nobody needs", n)
	}
	if f.publisherObject("acme").ResourceVersion != version {
		t.Error("a use was written too soon")
	}
	later := first.Add(useInterval + time.Second)
	f.NoteKeyUse("acme", id, later)
	f.await("a later use", func() bool { return last().Equal(later.UTC().Truncate(time.Second)) })
	if status := f.publisherObject("acme").Status.Keys; len(status) != 1 {
		t.Errorf("%+v", status)
	}
}

func TestTheSeedersNameHasNoKeys(t *testing.T) {
	f := start(t)
	key, id := mintedKey(t)
	for _, name := range []string{catalog.SeedOwner, "acme"} {
		o := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
		o.Spec.Keys = []v1alpha1.PublisherKey{{ID: id, Hash: apikey.HashOf(key).String()}}
		testenv.ExpectApplied(t, f.api, o)
		f.await(name, func() bool { _, there := f.Publisher(name); return there })
		if got, _, ok := f.PublisherByKey(key); ok == (name == catalog.SeedOwner) {
			t.Errorf("with %s the key is %q's", name, got)
		}
	}
}

func mintedKey(t *testing.T) (key, id string) {
	t.Helper()
	key, id, err := apikey.Mint(strings.NewReader(strings.Repeat("0123456789abcdef", 64)), apikey.KindPublisher)
	if err != nil {
		t.Fatal(fmt.Errorf("mint: %w", err))
	}
	return key, id
}
