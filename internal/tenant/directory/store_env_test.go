// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/scim"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// livePeople reads the people at each question, as a watch knows them a moment later.
type livePeople struct {
	client    client.Client
	namespace string
}

func (l livePeople) Persons(ctx context.Context) ([]v1alpha1.BridgePerson, error) {
	var list v1alpha1.BridgePersonList
	err := l.client.List(ctx, &list, client.InNamespace(l.namespace))
	return list.Items, err
}

// fixture is a store that runs, for a directory.
type fixture struct {
	*Store

	client    client.Client
	directory *scim.Directory
}

var okta = scim.Directory{Name: "okta", Issuer: "https://acme.okta.com", GroupValue: scim.ByDisplayName, Limits: scim.DefaultLimits}

// newFixture returns a store for directories, of which the first is the fixture's.
func newFixture(t *testing.T, directories ...scim.Directory) fixture {
	t.Helper()
	c := testenv.Client(t)
	return inNamespace(t, testenv.Namespace(t, c), directories...)
}

func inNamespace(t *testing.T, namespace string, directories ...scim.Directory) fixture {
	t.Helper()
	c := testenv.Client(t)
	s := must.Value(New(testenv.Config(), namespace, livePeople{c, namespace}, slog.New(slog.DiscardHandler)))(t)
	s.userStore.now = func() time.Time { return time.Unix(1, 0) }
	stop := testenv.Run(t, func(ctx context.Context) error { return s.Run(ctx, directories) })
	t.Cleanup(stop)
	s.cache.WaitForCacheSync(t.Context())
	return fixture{s, c, &directories[0]}
}

// user creates a user.
func (f fixture) user(t *testing.T, name string) scim.User {
	t.Helper()
	return must.Value(f.CreateUser(t.Context(), f.directory, scim.User{ExternalID: "sub-" + name, UserName: name, Active: true}))(t)
}

// stored reads the BridgePerson of a user.
func (f fixture) stored(t *testing.T, id string) *v1alpha1.BridgePerson {
	t.Helper()
	name, _, _ := access.ParseMemberID(id)
	p := &v1alpha1.BridgePerson{}
	must.Succeed(t, f.client.Get(t.Context(), f.userStore.key(name), p))
	return p
}

func anyUser(scim.User) error   { return nil }
func anyGroup(scim.Group) error { return nil }

func setActive(active bool) func(scim.User) (scim.User, error) {
	return func(u scim.User) (scim.User, error) { u.Active = active; return u, nil }
}

func TestAUserIsAPersonWithAccess(t *testing.T) {
	f := newFixture(t, okta)
	u := f.user(t, "anna")
	got, err := f.User(t.Context(), f.directory, u.ID)
	if diff := cmp.Diff(u, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	p := f.stored(t, u.ID)
	want := v1alpha1.BridgePersonSpec{Issuer: okta.Issuer, Subject: "sub-anna", Access: v1alpha1.AccessAllowed, Directory: &v1alpha1.PersonDirectory{Incarnation: 1, UserName: "anna", Active: true}}
	if diff := cmp.Diff(want, p.Spec); diff != "" {
		t.Error(diff)
	}
	for _, active := range []bool{false, true} {
		before, after, err := f.ChangeUser(t.Context(), f.directory, u.ID, setActive(active))
		if err != nil || before.Active == active || after.Active != active || after.Version == before.Version {
			t.Errorf("active: %v: %+v, %+v, %v", active, before, after, err)
		}
		if a := f.stored(t, u.ID).Spec.Access; (a == v1alpha1.AccessAllowed) != active || !active && a != v1alpha1.AccessOffboarded {
			t.Errorf("active: %v: access is %s", active, a)
		}
	}
	version := f.stored(t, u.ID).ResourceVersion
	if _, _, err := f.ChangeUser(t.Context(), f.directory, u.ID, setActive(true)); err != nil || f.stored(t, u.ID).ResourceVersion != version {
		t.Errorf("the same again was written: %v", err)
	}
}

func TestAUserOfAnotherDirectoryIsNotThere(t *testing.T) {
	other := okta
	other.Issuer = "https://other.okta.com"
	f := newFixture(t, okta, other)
	u := f.user(t, "anna")
	for _, id := range []string{u.ID, "d-", "../x", access.MemberID(u.ID[:28], 2)} {
		d := &other
		if id != u.ID {
			d = f.directory
		}
		if _, err := f.User(t.Context(), d, id); !errors.Is(err, scim.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
		if _, _, err := f.ChangeUser(t.Context(), d, id, setActive(false)); !errors.Is(err, scim.ErrNotFound) {
			t.Errorf("change of %s: %v", id, err)
		}
		if err := f.DeleteUser(t.Context(), d, id, anyUser); !errors.Is(err, scim.ErrNotFound) {
			t.Errorf("deletion of %s: %v", id, err)
		}
	}
	g := must.Value(f.CreateGroup(t.Context(), f.directory, scim.Group{DisplayName: "team"}))(t)
	if _, err := f.Group(t.Context(), &other, g.ID); !errors.Is(err, scim.ErrNotFound) {
		t.Errorf("the group: %v", err)
	}
	if err := f.DeleteGroup(t.Context(), &other, g.ID, anyGroup); !errors.Is(err, scim.ErrNotFound) {
		t.Errorf("its deletion: %v", err)
	}
	// Equal names of two issuers are two groups, and two people.
	if _, err := f.CreateGroup(t.Context(), &other, scim.Group{DisplayName: "team"}); err != nil {
		t.Error(err)
	}
	if _, err := f.CreateUser(t.Context(), &other, scim.User{ExternalID: "sub-anna", UserName: "anna"}); err != nil {
		t.Error(err)
	}
}

func TestWhoIsDeletedAndCreatedAgainIsInNoGroup(t *testing.T) {
	f := newFixture(t, okta)
	u := f.user(t, "anna")
	g, err := f.CreateGroup(t.Context(), f.directory, scim.Group{DisplayName: "team", Members: []string{u.ID}})
	if err != nil || len(g.Members) != 1 {
		t.Fatalf("%+v, %v", g, err)
	}
	must.Succeed(t, f.DeleteUser(t.Context(), f.directory, u.ID, anyUser))
	if _, err := f.User(t.Context(), f.directory, u.ID); !errors.Is(err, scim.ErrNotFound) {
		t.Errorf("a deleted user: %v", err)
	}
	if p := f.stored(t, u.ID); p.Spec.Access != v1alpha1.AccessOffboarded || !p.Spec.Directory.Deleted {
		t.Errorf("the person is %+v", p.Spec)
	}
	again := f.user(t, "anna")
	if again.ID == u.ID || f.stored(t, again.ID).Spec.Access != v1alpha1.AccessAllowed {
		t.Errorf("the user is %+v", again)
	}
	if got, err := f.Group(t.Context(), f.directory, g.ID); err != nil || len(got.Members) != 0 {
		t.Errorf("the group is %+v, %v", got, err)
	}

	// An administrator removes what is left of somebody, and the directory hires them again.
	bert := f.user(t, "bert")
	if _, _, err := f.ChangeGroup(t.Context(), f.directory, g.ID, func(g scim.Group) (scim.Group, error) { g.Members = []string{bert.ID}; return g, nil }); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, f.client.Delete(t.Context(), f.stored(t, bert.ID)))
	f.userStore.now = func() time.Time { return time.Unix(2, 0) }
	if hired := f.user(t, "bert"); hired.ID == bert.ID {
		t.Error("somebody whose record was removed has the id of before")
	}
	if got, err := f.Group(t.Context(), f.directory, g.ID); err != nil || len(got.Members) != 0 {
		t.Errorf("the group is %+v, %v", got, err)
	}
}

func TestTwoCannotHaveOneName(t *testing.T) {
	f := newFixture(t, okta)
	f.user(t, "anna")
	ctx := t.Context()
	create := func(u scim.User) error { _, err := f.CreateUser(ctx, f.directory, u); return err }
	rename := func(g scim.Group) (scim.Group, error) { g.DisplayName = "OPS"; return g, nil }
	if err := create(scim.User{ExternalID: "sub-anna", UserName: "other"}); !errors.Is(err, scim.Taken("externalId")) {
		t.Errorf("an externalId: %v", err)
	}
	if err := create(scim.User{ExternalID: "other", UserName: "ANNA"}); !errors.Is(err, scim.Taken("userName")) {
		t.Errorf("a userName: %v", err)
	}
	bert := f.user(t, "bert")
	_, _, err := f.ChangeUser(ctx, f.directory, bert.ID, func(u scim.User) (scim.User, error) { u.UserName = "Anna"; return u, nil })
	if !errors.Is(err, scim.Taken("userName")) {
		t.Errorf("a changed userName: %v", err)
	}
	team := must.Value(f.CreateGroup(ctx, f.directory, scim.Group{DisplayName: "team"}))(t)
	if _, err := f.CreateGroup(ctx, f.directory, scim.Group{DisplayName: "Team"}); !errors.Is(err, scim.Taken("displayName")) {
		t.Errorf("a group: %v", err)
	}
	must.Value(f.CreateGroup(ctx, f.directory, scim.Group{DisplayName: "ops"}))(t)
	wait.Until(t, "the name is that of another group", func() bool {
		_, _, err := f.ChangeGroup(ctx, f.directory, team.ID, rename)
		return errors.Is(err, scim.Taken("displayName"))
	})
	// The name that a renamed group leaves is free, though its object is called after it.
	if _, _, err := f.ChangeGroup(ctx, f.directory, team.ID, func(g scim.Group) (scim.Group, error) { g.DisplayName = "crew"; return g, nil }); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the old name is free", func() bool {
		_, err := f.CreateGroup(ctx, f.directory, scim.Group{DisplayName: "team"})
		return err == nil
	})
}

func TestRequestsAtOnce(t *testing.T) {
	f := newFixture(t, okta)
	const n = 8
	var ids []string
	for i := range n {
		ids = append(ids, f.user(t, fmt.Sprint("u", i)).ID)
	}
	g := must.Value(f.CreateGroup(t.Context(), f.directory, scim.Group{DisplayName: "team"}))(t)
	var all sync.WaitGroup
	created := make([]error, n)
	for i := range n {
		all.Go(func() {
			_, created[i] = f.CreateUser(t.Context(), f.directory, scim.User{ExternalID: "same", UserName: "same"})
		})
		all.Go(func() {
			_, _, err := f.ChangeGroup(t.Context(), f.directory, g.ID, func(g scim.Group) (scim.Group, error) {
				g.Members = append(slices.Clone(g.Members), ids[i])
				slices.Sort(g.Members)
				return g, nil
			})
			if err != nil {
				t.Errorf("a change of members: %v", err)
			}
		})
	}
	all.Wait()
	var won int
	for _, err := range created {
		if err == nil {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d of %d requests created the same user", won, n)
	}
	got, err := f.Group(t.Context(), f.directory, g.ID)
	slices.Sort(ids)
	if diff := cmp.Diff(ids, got.Members); diff != "" || err != nil {
		t.Errorf("members are lost: %v\n%s", err, diff)
	}
}

// TestAProcessThatEndsAfterAWriteLosesNothing has the process end after each write of each
// request, and the directory send the request again.
func TestAProcessThatEndsAfterAWriteLosesNothing(t *testing.T) {
	f := newFixture(t, okta)
	watched := must.Value(client.NewWithWatch(testenv.Config(), client.Options{Scheme: f.client.Scheme()}))(t)
	limit := 1
	// do sends a request to a process that ends after its first write, and again to another.
	do := func(what string, again error, request func(*Store) error) {
		t.Helper()
		o := *f.userStore.objects
		o.client = (&testenv.Crash{Limit: limit}).Client(watched)
		if err := request(newStore(&o, f.cache)); !errors.Is(err, testenv.ErrCrash) {
			t.Errorf("%s, and the process ends: %v", what, err)
		}
		if err := request(f.Store); !errors.Is(err, again) {
			t.Errorf("%s again: %v, want %v", what, err, again)
		}
	}
	ctx, d := t.Context(), f.directory
	id := access.MemberID(nameOf(d, "sub-anna"), 1)
	do("create a user", scim.Taken("externalId"), func(s *Store) error {
		_, err := s.CreateUser(ctx, d, scim.User{ExternalID: "sub-anna", UserName: "anna", Active: true})
		return err
	})
	do("deactivate the user", nil, func(s *Store) error { _, _, err := s.ChangeUser(ctx, d, id, setActive(false)); return err })
	if a := f.stored(t, id).Spec.Access; a != v1alpha1.AccessOffboarded {
		t.Errorf("the access is %s", a)
	}
	group := groupName(d, "team", 0)
	do("create a group", scim.Taken("displayName"), func(s *Store) error {
		_, err := s.CreateGroup(ctx, d, scim.Group{DisplayName: "team"})
		return err
	})
	do("add a member", nil, func(s *Store) error {
		_, _, err := s.ChangeGroup(ctx, d, group, func(g scim.Group) (scim.Group, error) { g.Members = []string{id}; return g, nil })
		return err
	})
	if g, err := f.Group(ctx, d, group); err != nil || len(g.Members) != 1 {
		t.Errorf("the group is %+v, %v", g, err)
	}
	do("delete the group", scim.ErrNotFound, func(s *Store) error { return s.DeleteGroup(ctx, d, group, anyGroup) })
	do("delete the user", scim.ErrNotFound, func(s *Store) error { return s.DeleteUser(ctx, d, id, anyUser) })
	limit = 2 // The first write is refused, since the object is there.
	do("create the user again", scim.Taken("externalId"), func(s *Store) error {
		_, err := s.CreateUser(ctx, d, scim.User{ExternalID: "sub-anna", UserName: "anna", Active: true})
		return err
	})
	if a := f.stored(t, id).Spec.Access; a != v1alpha1.AccessAllowed {
		t.Errorf("the access is %s", a)
	}
}

func TestListsAreOfOneDirectoryAndInOrder(t *testing.T) {
	other := okta
	other.Issuer = "https://other.okta.com"
	f := newFixture(t, okta, other)
	anna, bert := f.user(t, "anna"), f.user(t, "bert")
	must.Value(f.CreateUser(t.Context(), &other, scim.User{ExternalID: "x", UserName: "anna"}))(t)
	for filter, want := range map[string][]string{
		``: {anna.ID, bert.ID}, `userName eq "BERT"`: {bert.ID}, `id eq "` + anna.ID + `"`: {anna.ID},
		`externalId eq "sub-bert"`: {bert.ID}, `externalId eq "sub-bert" and userName eq "anna"`: nil, `externalId eq "x"`: nil, `id eq "x"`: nil,
	} {
		parsed := must.Value(scim.UserFilter(filter))(t)
		found, err := f.Users(t.Context(), f.directory, parsed)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
		}
		var ids []string
		for _, u := range found {
			ids = append(ids, u.ID)
		}
		slices.Sort(ids) // They were created within a second.
		slices.Sort(want)
		if diff := cmp.Diff(want, ids, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", filter, diff)
		}
	}
	team, err := f.CreateGroup(t.Context(), f.directory, scim.Group{DisplayName: "team", ExternalID: "e", Members: []string{anna.ID}})
	if err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string]int{``: 1, `displayName eq "team"`: 1, `externalId eq "e"`: 1, `id eq "` + team.ID + `" and members eq "` + anna.ID + `"`: 1, `members eq "` + bert.ID + `"`: 0} {
		parsed := must.Value(scim.GroupFilter(filter))(t)
		wait.Until(t, "groups by "+filter, func() bool {
			found, err := f.Groups(t.Context(), f.directory, parsed)
			return err == nil && len(found) == want
		})
	}
}

// TestADirectoryIsTriedOut has somebody leave and others come while a directory is tried out.
func TestADirectoryIsTriedOut(t *testing.T) {
	tried := okta
	tried.DryRun = true
	f := newFixture(t, tried)
	anna, bert, caro := f.user(t, "anna"), f.user(t, "bert"), f.user(t, "caro")
	must.Values(f.ChangeUser(t.Context(), f.directory, anna.ID, setActive(false)))(t)
	must.Succeed(t, f.DeleteUser(t.Context(), f.directory, bert.ID, anyUser))
	must.Value(f.CreateGroup(t.Context(), f.directory, scim.Group{DisplayName: "team", ExternalID: "e-team"}))(t)
	for _, u := range []scim.User{anna, bert, caro} {
		if p := f.stored(t, u.ID); p.Spec.Access != v1alpha1.AccessAllowed || !p.Spec.Directory.DryRun {
			t.Errorf("%s has %+v", u.UserName, p.Spec)
		}
	}
	expect := func(directory scim.Directory, want map[string]v1alpha1.Access, value string) {
		t.Helper()
		g := inNamespace(t, f.userStore.namespace, directory)
		for id, a := range want {
			wait.Until(t, "the directory decides", func() bool {
				p := g.stored(t, id)
				return p.Spec.Access == a && p.Spec.Directory.DryRun == directory.DryRun
			})
		}
		wait.Until(t, "groups are named by "+directory.GroupValue, func() bool {
			all, err := g.all(t.Context(), g.directory)
			return err == nil && len(all) == 1 && all[0].Spec.Value == value
		})
	}
	byID := okta
	byID.GroupValue = scim.ByExternalID
	decided := map[string]v1alpha1.Access{anna.ID: v1alpha1.AccessOffboarded, bert.ID: v1alpha1.AccessOffboarded, caro.ID: v1alpha1.AccessAllowed}
	expect(byID, decided, "e-team")
	expect(tried, decided, "team")
}

// TestTheLargestGroupIsStored writes a group of 10,000.
func TestTheLargestGroupIsStored(t *testing.T) {
	f := newFixture(t, okta)
	g := scim.Group{DisplayName: "everyone"}
	for i := range scim.MaxMembers {
		g.Members = append(g.Members, access.MemberID(nameOf(f.directory, fmt.Sprint(i)), 1))
	}
	slices.Sort(g.Members)
	created, err := f.CreateGroup(t.Context(), f.directory, g)
	if err != nil || len(created.Members) != scim.MaxMembers {
		t.Fatalf("%d members: %v", len(created.Members), err)
	}
	_, _, err = f.ChangeGroup(t.Context(), f.directory, created.ID, func(g scim.Group) (scim.Group, error) { g.Members = g.Members[1:]; return g, nil })
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Group(t.Context(), f.directory, created.ID)
	if diff := cmp.Diff(g.Members[1:], got.Members); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// expectRefusal checks that a directory is refused with this status, in words that say why.
func expectRefusal(t *testing.T, err error, status int, words string) {
	t.Helper()
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || p.Status != status || !strings.Contains(p.Detail, words) {
		t.Errorf("the error is %v, want %d with %q", err, status, words)
	}
}

func TestADirectoryHasNoMoreThanItsLimits(t *testing.T) {
	d := okta
	d.Limits = scim.Limits{Users: 2, Groups: 2, Memberships: 3}
	f := newFixture(t, d, scim.Directory{Name: "other", Issuer: "https://other.example", GroupValue: scim.ByDisplayName, Limits: d.Limits})
	anna, bert := f.user(t, "anna"), f.user(t, "bert")
	create := func(name string, members ...string) (scim.Group, error) {
		g, err := f.CreateGroup(t.Context(), f.directory, scim.Group{DisplayName: name, Members: members})
		if err == nil {
			wait.Until(t, "the group "+name, func() bool {
				all, err := f.Groups(t.Context(), f.directory, scim.Filter{})
				return err == nil && slices.ContainsFunc(all, func(o scim.Group) bool { return o.ID == g.ID })
			})
		}
		return g, err
	}
	_, err := f.CreateUser(t.Context(), f.directory, scim.User{ExternalID: "c", UserName: "c", Active: true})
	expectRefusal(t, err, http.StatusBadRequest, "2 users")
	must.Succeed(t, f.DeleteUser(t.Context(), f.directory, bert.ID, anyUser))
	_, err = f.CreateUser(t.Context(), f.directory, scim.User{ExternalID: "c", UserName: "c", Active: true})
	expectRefusal(t, err, http.StatusBadRequest, "2 users") // The record of a deleted one stays.

	nobody := []string{"d-aaaaaaaaaaaaaaaaaaaaaaaaaa-1", "d-bbbbbbbbbbbbbbbbbbbbbbbbbb-1", "d-cccccccccccccccccccccccccc-1"}
	_, err = create("large", append(nobody, anna.ID)...)
	expectRefusal(t, err, http.StatusBadRequest, "3 members")
	team := must.Value(create("team", nobody[:2]...))(t)
	must.Value(create("more"))(t)
	_, err = create("third")
	expectRefusal(t, err, http.StatusBadRequest, "2 groups")
	set := func(members ...string) error {
		_, _, err := f.ChangeGroup(t.Context(), f.directory, team.ID, func(g scim.Group) (scim.Group, error) { g.Members = members; return g, nil })
		return err
	}
	expectRefusal(t, set(append(nobody, anna.ID)...), http.StatusBadRequest, "3 members")
	must.Succeed(t, set(anna.ID))
}

// TestADirectoryAddsNoFasterThanItMay uses up what a directory may add at once. It still takes
// access away.
func TestADirectoryAddsNoFasterThanItMay(t *testing.T) {
	d := okta
	d.Limits = scim.Limits{Users: 2, Groups: 1, Memberships: 1}
	f := newFixture(t, d)
	f.userStore.budgets.get(f.directory).changes.SetLimit(0) // Nothing comes back while this test runs.
	anna, bert := f.user(t, "anna"), f.user(t, "bert")
	team := must.Value(f.CreateGroup(t.Context(), f.directory, scim.Group{DisplayName: "team", Members: []string{anna.ID}}))(t)
	set := func(members ...string) error {
		_, _, err := f.ChangeGroup(t.Context(), f.directory, team.ID, func(g scim.Group) (scim.Group, error) { g.Members = members; return g, nil })
		return err
	}
	expectRefusal(t, set(bert.ID), http.StatusTooManyRequests, "faster than it may")
	must.Succeed(t, set())
	must.Values(f.ChangeUser(t.Context(), f.directory, anna.ID, setActive(false)))(t)
	_, _, err := f.ChangeUser(t.Context(), f.directory, anna.ID, setActive(true))
	expectRefusal(t, err, http.StatusTooManyRequests, "faster than it may")
	must.Succeed(t, f.DeleteUser(t.Context(), f.directory, bert.ID, anyUser))
}

func TestADirectoryChangesNoGroupOfAManifest(t *testing.T) {
	f := newFixture(t, okta)
	o := &v1alpha1.BridgeGroup{Spec: v1alpha1.BridgeGroupSpec{Issuer: okta.Issuer, Value: "eng", DisplayName: "eng"}}
	o.Namespace, o.Name = f.userStore.namespace, "engineering"
	testenv.ExpectApplied(t, f.client, o)
	_, _, err := f.ChangeGroup(t.Context(), f.directory, o.Name, func(g scim.Group) (scim.Group, error) { g.DisplayName = "x"; return g, nil })
	expectRefusal(t, err, http.StatusBadRequest, "made by an administrator")
	expectRefusal(t, f.DeleteGroup(t.Context(), f.directory, o.Name, anyGroup), http.StatusBadRequest, "made by an administrator")
}

// TestADirectoryDoesNotLearnWhoIsInAnother has a group of members of another directory, whose
// ids are no secret.
func TestADirectoryDoesNotLearnWhoIsInAnother(t *testing.T) {
	evil := scim.Directory{Name: "evil", Issuer: "https://evil.example", GroupValue: scim.ByDisplayName, Limits: scim.DefaultLimits}
	f := newFixture(t, okta, evil)
	f.user(t, "anna")
	deleted := f.user(t, "bert")
	must.Succeed(t, f.DeleteUser(t.Context(), f.directory, deleted.ID, anyUser))
	var members []string
	for _, subject := range []string{"sub-anna", "sub-bert", "sub-nobody"} {
		for _, incarnation := range []int64{1, 99} {
			members = append(members, access.MemberID(access.DirectoryName(oauth.KeyOf(okta.Issuer, subject)), incarnation))
		}
	}
	g := must.Value(f.CreateGroup(t.Context(), &evil, scim.Group{DisplayName: "x", Members: members}))(t)
	read := must.Value(f.Group(t.Context(), &evil, g.ID))(t)
	wait.Until(t, "the group in the list", func() bool {
		all, err := f.Groups(t.Context(), &evil, scim.Filter{})
		return err == nil && len(all) == 1 && slices.Equal(all[0].Members, members)
	})
	if !slices.Equal(g.Members, members) || !slices.Equal(read.Members, members) {
		t.Errorf("of %v these are shown: %v and %v", members, g.Members, read.Members)
	}
}
