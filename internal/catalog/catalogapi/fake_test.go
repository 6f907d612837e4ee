// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/test/must"
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
	snapshot   *search.Snapshot
	changed    chan struct{}
	unsynced   bool
	// away has the operator look at nothing.
	away bool
	// later is how long after today the operator looks.
	later time.Duration
	// fails is the error of the next write.
	fails  error
	used   []string
	writes int
	minted int
	made   int
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
			v := validate.Accept(o, map[string][]string{o.Spec.Owner: s.publishers[o.Spec.Owner].PublicKeys}, today.Add(s.later))
			o.Status.Versions = v.Versions
			status := metav1.ConditionFalse
			if v.Accepted {
				status = metav1.ConditionTrue
			}
			meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionRecipeAccepted, Status: status, Message: v.Message, ObservedGeneration: o.Generation,
			})
			catalog.NoteDeprecation(&o.Status.Conditions, o, today.Add(s.later))
		}
		e := must.Value(catalog.EntryOf(o))(s.t)
		entries = append(entries, e)
	}
	s.snapshot = search.NewSnapshot(entries, nil)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *fakeStore) Current() *search.Snapshot {
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

// number counts a change of the spec, as the API server does.
func (s *fakeStore) number(before, after *v1alpha1.CatalogRecipe) {
	if before == nil {
		s.made++
		after.UID, after.Generation = types.UID(strconv.Itoa(s.made)), 1
	} else if !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		after.Generation++
	}
}

// change makes one write, unless it is to fail or only tried.
func (s *fakeStore) change(name string, dryRun bool, write func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error)) (catalog.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails; err != nil {
		s.fails = nil
		return catalog.Entry{}, err
	}
	before := s.recipes[name]
	after, err := write(before)
	if err != nil {
		return catalog.Entry{}, err
	}
	if after != nil {
		s.number(before, after)
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

func (s *fakeStore) expect(o *v1alpha1.CatalogRecipe, owner string, agrees func(catalog.Entry) bool) (catalog.Entry, error) {
	switch {
	case o == nil, o.Spec.Deleted != nil && owner != "":
		return catalog.Entry{}, catalog.ErrNotFound
	case owner != "" && o.Spec.Owner != owner:
		return catalog.Entry{}, catalog.ErrNotOwner
	case owner != "" && o.Spec.Recipe == nil:
		return catalog.Entry{}, catalog.ErrTakenBack
	}
	e, err := catalog.EntryOf(o)
	if err == nil && !agrees(e) {
		err = catalog.ErrChanged
	}
	return e, err
}

func matching(ifMatch string) func(catalog.Entry) bool {
	return func(e catalog.Entry) bool { return ifMatch == "" || e.Matches(ifMatch) }
}

func (s *fakeStore) CreateRecipe(_ context.Context, r catalog.Replacement) (catalog.Entry, error) {
	return s.change(r.Name, r.DryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		o := &v1alpha1.CatalogRecipe{ObjectMeta: metav1.ObjectMeta{Name: r.Name, CreationTimestamp: metav1.NewTime(today)}}
		var live catalog.Entry
		var err error
		if before != nil {
			switch mine := before.Spec.Owner == r.Owner; {
			case mine && before.Spec.Recipe == nil && before.Spec.Deleted == nil:
				return nil, catalog.ErrTakenBack
			case !mine, before.Spec.Deleted == nil:
				return nil, catalog.ErrExists
			}
			o = before.DeepCopy()
			if live, err = catalog.EntryOf(o); err != nil {
				return nil, err
			}
		}
		d, err := r.Draft(live)
		if err != nil {
			return nil, err
		}
		fill(o, d)
		return o, nil
	})
}

func fill(o *v1alpha1.CatalogRecipe, d catalog.Draft) {
	o.Spec.Recipe, o.Spec.Owner, o.Spec.Source = &v1alpha1.Recipe{Recipe: d.Recipe}, d.Owner, d.Source
	o.Spec.Deprecated, o.Spec.Deleted = catalog.DeprecationObject(d.Deprecated), nil
}

func (s *fakeStore) UpdateRecipe(_ context.Context, r catalog.Replacement) (catalog.Entry, error) {
	return s.change(r.Name, r.DryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		live, err := s.expect(before, r.Owner, matching(r.IfMatch))
		if err != nil {
			return nil, err
		}
		d, err := r.Draft(live)
		if err != nil {
			return nil, err
		}
		o := before.DeepCopy()
		fill(o, d)
		return o, nil
	})
}

func (s *fakeStore) RetireRecipe(_ context.Context, name, owner, ifMatch string, dryRun bool) error {
	_, err := s.change(name, dryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		if _, err := s.expect(before, owner, matching(ifMatch)); err != nil {
			return nil, err
		}
		o := before.DeepCopy()
		o.Spec = v1alpha1.CatalogRecipeSpec{Owner: owner, Quality: o.Spec.Quality, Deleted: new(metav1.NewTime(today))}
		return o, nil
	})
	return err
}

func (s *fakeStore) DeleteRecipe(_ context.Context, name, ifMatch string, dryRun bool) error {
	_, err := s.change(name, dryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		_, err := s.expect(before, "", matching(ifMatch))
		return nil, err
	})
	return err
}

func (s *fakeStore) SetQuality(_ context.Context, name string, overlay catalog.Overlay, ifMatch string, dryRun bool) (e catalog.Entry, created bool, err error) {
	e, err = s.change(name, dryRun, func(before *v1alpha1.CatalogRecipe) (*v1alpha1.CatalogRecipe, error) {
		live, err := s.expect(before, "", func(e catalog.Entry) bool { return ifMatch == "" || e.Shows(ifMatch) })
		if err != nil {
			return nil, err
		}
		o := before.DeepCopy()
		created = o.Spec.Quality == nil
		o.Spec.Quality = catalog.OverlayObject(overlay.Of(live))
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
