// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// today is when all tests play.
var today = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeStore keeps objects in memory, as the API server and the operator would.
type fakeStore struct {
	t testing.TB

	mu         sync.Mutex
	recipes    map[string]*v1alpha1.CatalogRecipe
	publishers map[string]catalog.Publisher
	keys       map[string][2]string // publisher and key id, by key
	snapshot   *catalog.Snapshot
	changed    chan struct{}
	unsynced   bool
	// away has the operator look at nothing.
	away bool
	// fails is the error of the next write.
	fails  error
	used   []string
	writes int
	minted int
}

func newFakeStore(t testing.TB) *fakeStore {
	s := &fakeStore{
		t: t, recipes: map[string]*v1alpha1.CatalogRecipe{}, publishers: map[string]catalog.Publisher{},
		keys: map[string][2]string{}, changed: make(chan struct{}),
	}
	s.refresh()
	return s
}

// refresh does what the operator and the watches do. The caller holds s.mu, or
// nobody else knows s.
func (s *fakeStore) refresh() {
	var entries []catalog.Entry
	for _, name := range slices.Sorted(maps.Keys(s.recipes)) {
		o := s.recipes[name]
		if !s.away {
			v := catalog.Accept(o, map[string][]string{o.Spec.Owner: s.publishers[o.Spec.Owner].PublicKeys}, today)
			o.Status.Versions = v.Versions
			status := metav1.ConditionFalse
			if v.Accepted {
				status = metav1.ConditionTrue
			}
			o.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRecipeAccepted, Status: status, Message: v.Message}}
		}
		e, err := catalog.EntryOf(o)
		if err != nil {
			s.t.Fatal(err)
		}
		entries = append(entries, e)
	}
	s.snapshot = catalog.NewSnapshot(entries, nil)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *fakeStore) Current() *catalog.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
}

func (s *fakeStore) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *fakeStore) Synced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.unsynced
}

func (s *fakeStore) Publisher(id string) (catalog.Publisher, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.publishers[id]
	return p, ok
}

func (s *fakeStore) Publishers() []catalog.Publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []catalog.Publisher
	for _, id := range slices.Sorted(maps.Keys(s.publishers)) {
		all = append(all, s.publishers[id])
	}
	return all
}

func (s *fakeStore) PublisherByKey(presented string) (publisherID, keyID string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.keys[presented]
	return of[0], of[1], ok
}

func (s *fakeStore) NoteKeyUse(publisherID, keyID string, _ time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = append(s.used, publisherID+"/"+keyID)
}

// change makes one write, unless it is to fail or only tried.
func (s *fakeStore) change(name string, dryRun bool, write func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error)) (catalog.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails; err != nil {
		s.fails = nil
		return catalog.Entry{}, err
	}
	after, err := write(s.recipes[name])
	if err != nil {
		return catalog.Entry{}, err
	}
	var e catalog.Entry
	if after != nil {
		if e, err = catalog.EntryOf(after); err != nil {
			return e, err
		}
	}
	if dryRun {
		return e, nil
	}
	s.writes++
	delete(s.recipes, name)
	if after != nil {
		s.recipes[name] = after
	}
	s.refresh()
	return e, nil
}

func (s *fakeStore) expect(o *v1alpha1.CatalogRecipe, owner, ifMatch string) error {
	switch {
	case o == nil:
		return catalog.ErrNotFound
	case owner != "" && o.Spec.Owner != owner:
		return catalog.ErrNotOwner
	case ifMatch == catalog.AnyRevision, ifMatch == "":
		return nil
	}
	e, err := catalog.EntryOf(o)
	if err == nil && e.Revision != ifMatch {
		err = catalog.ErrChanged
	}
	return err
}

func (s *fakeStore) CreateRecipe(_ context.Context, d catalog.Draft, dryRun bool) (catalog.Entry, error) {
	return s.change(d.Name, dryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		if before != nil {
			return nil, catalog.ErrExists
		}
		o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Name: d.Name, CreationTimestamp: metav1.NewTime(today)}}
		fill(o, d)
		return o, nil
	})
}

func fill(o *v1alpha1.CatalogRecipe, d catalog.Draft) {
	o.Spec.Recipe, o.Spec.Owner, o.Spec.Source = catalog.ToObject(d.Recipe), d.Owner, d.Source
	o.Spec.Deprecated = catalog.DeprecationObject(d.Deprecated)
}

func (s *fakeStore) UpdateRecipe(_ context.Context, d catalog.Draft, ifMatch string, dryRun bool) (catalog.Entry, error) {
	return s.change(d.Name, dryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		if err := s.expect(before, d.Owner, ifMatch); err != nil {
			return nil, err
		}
		o := before.DeepCopy()
		fill(o, d)
		return o, nil
	})
}

func (s *fakeStore) DeleteRecipe(_ context.Context, name, owner, ifMatch string, dryRun bool) error {
	_, err := s.change(name, dryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		return nil, s.expect(before, owner, ifMatch)
	})
	return err
}

func (s *fakeStore) SetQuality(_ context.Context, name string, overlay catalog.Overlay, ifMatch string, dryRun bool) (e catalog.Entry, created bool, err error) {
	e, err = s.change(name, dryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		if err := s.expect(before, "", ifMatch); err != nil {
			return nil, err
		}
		o := before.DeepCopy()
		created = o.Spec.Quality == nil
		o.Spec.Quality = catalog.OverlayObject(overlay)
		return o, nil
	})
	return e, created, err
}

func (s *fakeStore) ClearQuality(_ context.Context, name string) error {
	_, err := s.change(name, false, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		if before == nil {
			return nil, catalog.ErrNotFound
		}
		o := before.DeepCopy()
		o.Spec.Quality = nil
		return o, nil
	})
	return err
}

func (s *fakeStore) SetOwner(_ context.Context, name, owner string) (catalog.Entry, error) {
	return s.change(name, false, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		switch _, known := s.publishers[owner]; {
		case before == nil:
			return nil, catalog.ErrNotFound
		case !known && owner != catalog.SeedOwner:
			return nil, catalog.ErrNoPublisher
		}
		o := before.DeepCopy()
		o.Spec.Owner = owner
		return o, nil
	})
}

// mint adds a key to a publisher. The caller holds s.mu.
func (s *fakeStore) mint(p *catalog.Publisher, expires *time.Time) (id, key string) {
	s.minted++
	id = "key00000" + strconv.Itoa(s.minted)
	key = fmt.Sprintf("pub_%s_secret", id)
	p.Keys = append(slices.Clone(p.Keys), catalog.PublisherKey{ID: id, CreatedAt: &today, ExpiresAt: expires})
	p.Revision = "r" + strconv.Itoa(s.minted)
	s.publishers[p.ID] = *p
	s.keys[key] = [2]string{p.ID, id}
	s.refresh()
	return id, key
}

func (s *fakeStore) CreatePublisher(_ context.Context, p catalog.Publisher, expires *time.Time) (catalog.Publisher, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.publishers[p.ID]; there {
		return p, "", catalog.ErrExists
	}
	if found := catalog.CheckPublisher(p); len(found) > 0 {
		return p, "", &catalog.InvalidError{Problems: found}
	}
	p.Created = today
	_, key := s.mint(&p, expires)
	return p, key, nil
}

func (s *fakeStore) UpdatePublisher(_ context.Context, p catalog.Publisher, ifMatch string) (catalog.Publisher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, there := s.publishers[p.ID]
	switch {
	case !there:
		return p, catalog.ErrNotFound
	case ifMatch != catalog.AnyRevision && ifMatch != before.Revision:
		return p, catalog.ErrChanged
	}
	p.Keys, p.Created, p.Revision = before.Keys, before.Created, before.Revision+"x"
	s.publishers[p.ID] = p
	s.refresh()
	return p, nil
}

func (s *fakeStore) AddPublisherKey(_ context.Context, id string, expires *time.Time) (p catalog.Publisher, keyID, key string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, there := s.publishers[id]
	if !there {
		return p, "", "", catalog.ErrNotFound
	}
	keyID, key = s.mint(&p, expires)
	return p, keyID, key, nil
}

func (s *fakeStore) RevokePublisherKey(_ context.Context, id, keyID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.publishers[id]
	i := slices.IndexFunc(p.Keys, func(k catalog.PublisherKey) bool { return k.ID == keyID })
	if i < 0 {
		return catalog.ErrNotFound
	}
	p.Keys = slices.Clone(p.Keys)
	p.Keys[i].RevokedAt = &today
	s.publishers[id] = p
	maps.DeleteFunc(s.keys, func(_ string, of [2]string) bool { return of[1] == keyID })
	s.refresh()
	return nil
}
