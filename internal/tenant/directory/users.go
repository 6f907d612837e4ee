// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/scim"
)

// userStore keeps users.
type userStore struct{ *objects }

// IsUserID reports whether a text has the form of the id of a user.
func (s *userStore) IsUserID(id string) bool {
	_, _, ok := access.ParseMemberID(id)
	return ok
}

// User returns a user of a directory, or scim.ErrNotFound.
func (s *userStore) User(ctx context.Context, d *scim.Directory, id string) (scim.User, error) {
	p, err := s.person(ctx, d, id)
	if err != nil {
		return scim.User{}, err
	}
	return userOf(p), nil
}

// person reads the BridgePerson of a user.
func (s *userStore) person(ctx context.Context, d *scim.Directory, id string) (*v1alpha1.BridgePerson, error) {
	name, incarnation, ok := access.ParseMemberID(id)
	if !ok {
		return nil, scim.ErrNotFound
	}
	p := &v1alpha1.BridgePerson{}
	if err := s.client.Get(ctx, s.key(name), p); err != nil {
		return nil, missing(err)
	}
	if !isOf(p, d) || p.Spec.Directory.Incarnation != incarnation {
		return nil, scim.ErrNotFound
	}
	return p, nil
}

// isOf reports whether a BridgePerson is a user of a directory.
func isOf(p *v1alpha1.BridgePerson, d *scim.Directory) bool {
	return p.Spec.Directory != nil && p.Spec.Issuer == d.Issuer && !p.Spec.Directory.Deleted
}

func userOf(p *v1alpha1.BridgePerson) scim.User {
	of := p.Spec.Directory
	return scim.User{
		ID: access.MemberID(p.Name, of.Incarnation), ExternalID: externalIDOf(p.Spec.Subject), UserName: of.UserName, DisplayName: of.DisplayName,
		Profile: of.Profile, Active: of.Active, Version: version(p), Created: p.CreationTimestamp.Time,
	}
}

// subjectOf returns the subject under which a user is stored who is created: the externalId, or
// without one a text that is made of the userName and is no subject of a login.
func subjectOf(d *scim.Directory, u scim.User) string {
	if u.ExternalID != "" {
		return u.ExternalID
	}
	return scim.NoExternalID + nameOf(d, scim.NoExternalID+strings.ToLower(u.UserName))
}

func externalIDOf(subject string) string {
	if strings.HasPrefix(subject, scim.NoExternalID) {
		return ""
	}
	return subject
}

// Users returns the users of a directory that match, the oldest first.
func (s *userStore) Users(ctx context.Context, d *scim.Directory, f scim.Filter) ([]scim.User, error) {
	// Directories ask for one user again and again, and right after they wrote it.
	if id, ok := f.ID(); ok {
		return one(f.User)(s.User(ctx, d, id))
	}
	if externalID, ok := f.ExternalID(); ok {
		p := &v1alpha1.BridgePerson{}
		err := missing(s.client.Get(ctx, s.key(nameOf(d, externalID)), p))
		if err == nil && !isOf(p, d) {
			err = scim.ErrNotFound
		}
		if err != nil {
			return one(f.User)(scim.User{}, err)
		}
		return one(f.User)(userOf(p), nil)
	}
	persons, err := s.known.Persons(ctx)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return usersIn(persons, d, f), nil
}

// usersIn returns the users among persons that match, the oldest first.
func usersIn(persons []v1alpha1.BridgePerson, d *scim.Directory, f scim.Filter) []scim.User {
	var found []scim.User
	userName, named := f.UserName()
	for i := range persons {
		if !isOf(&persons[i], d) || named && !scim.SameName(persons[i].Spec.Directory.UserName, userName) {
			continue
		}
		if u := userOf(&persons[i]); f.User(&u) {
			found = append(found, u)
		}
	}
	slices.SortFunc(found, func(a, b scim.User) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return found
}

// one returns the list of a resource if it is there and matches.
func one[T any](matches func(*T) bool) func(T, error) ([]T, error) {
	return func(found T, err error) ([]T, error) {
		switch {
		case errors.Is(err, scim.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		case !matches(&found):
			return nil, nil
		}
		return []T{found}, nil
	}
}

func nameOf(d *scim.Directory, externalID string) string {
	return access.DirectoryName(oauth.KeyOf(d.Issuer, externalID))
}

// CreateUser creates a user. One that was deleted before is the next incarnation, and gets
// back what is left of them.
func (s *userStore) CreateUser(ctx context.Context, d *scim.Directory, u scim.User) (scim.User, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	subject := subjectOf(d, u)
	name := nameOf(d, subject)
	persons, err := s.known.Persons(ctx)
	if err != nil {
		return scim.User{}, fmt.Errorf("list users: %w", err)
	}
	if err := checkUserName(persons, d, u.UserName, name); err != nil {
		return scim.User{}, err
	}
	if err := s.checkUsers(persons, d); err != nil {
		return scim.User{}, err
	}
	p := &v1alpha1.BridgePerson{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       v1alpha1.BridgePersonSpec{Issuer: d.Issuer, Subject: subject, Access: v1alpha1.AccessAllowed, Directory: &v1alpha1.PersonDirectory{Incarnation: s.incarnation(0)}},
	}
	store(p, d, u)
	err = s.client.Create(ctx, p, client.FieldOwner(v1alpha1.FieldOwnerIngress))
	if apierrors.IsAlreadyExists(err) {
		return s.revive(ctx, d, name, u)
	}
	if err != nil {
		return scim.User{}, fmt.Errorf("create BridgePerson: %w", err)
	}
	return userOf(p), nil
}

// revive creates a user again who was deleted.
func (s *userStore) revive(ctx context.Context, d *scim.Directory, name string, u scim.User) (scim.User, error) {
	var revived scim.User
	err := retry(ctx, func() error {
		before := &v1alpha1.BridgePerson{}
		if err := s.client.Get(ctx, s.key(name), before); err != nil {
			return err
		}
		if before.Spec.Directory == nil || !before.Spec.Directory.Deleted || before.Spec.Issuer != d.Issuer {
			return scim.Taken("externalId")
		}
		after := before.DeepCopy()
		after.Spec.Directory.Incarnation = s.incarnation(before.Spec.Directory.Incarnation)
		after.Spec.Directory.Deleted = false
		store(after, d, u)
		if err := s.write(ctx, before, after); err != nil {
			return err
		}
		revived = userOf(after)
		return nil
	})
	return revived, err
}

// store stores what a directory says of a user, and what follows for their access.
func store(p *v1alpha1.BridgePerson, d *scim.Directory, u scim.User) {
	of := p.Spec.Directory
	of.UserName, of.DisplayName, of.Profile, of.Active = u.UserName, u.DisplayName, u.Profile, u.Active
	settle(p, d)
}

// settle sets the access of a user as the directory decides it. One that is tried out
// decides nothing.
func settle(p *v1alpha1.BridgePerson, d *scim.Directory) {
	of := p.Spec.Directory
	if of.DryRun = d.DryRun; d.DryRun {
		return
	}
	p.Spec.Access = v1alpha1.AccessAllowed
	if !of.Active || of.Deleted {
		p.Spec.Access = v1alpha1.AccessOffboarded
	}
}

// checkUserName refuses a userName that another user of the directory has. Two requests at
// once may both pass: names decide nothing, unlike the externalId, which the API server
// accepts once.
func checkUserName(persons []v1alpha1.BridgePerson, d *scim.Directory, userName, name string) error {
	for i := range persons {
		if p := &persons[i]; p.Name != name && isOf(p, d) && scim.SameName(p.Spec.Directory.UserName, userName) {
			return scim.Taken("userName")
		}
	}
	return nil
}

// ChangeUser changes a user of a directory, and returns them before and after it. change may
// be called several times.
func (s *userStore) ChangeUser(ctx context.Context, d *scim.Directory, id string, change func(scim.User) (scim.User, error)) (before, after scim.User, err error) {
	err = s.changePerson(ctx, d, id, func(p *v1alpha1.BridgePerson) error {
		before = userOf(p)
		changed, err := change(before)
		if err != nil {
			return err
		}
		if !scim.SameName(changed.UserName, before.UserName) {
			persons, err := s.known.Persons(ctx)
			if err != nil {
				return fmt.Errorf("list users: %w", err)
			}
			switch err := checkUserName(persons, d, changed.UserName, p.Name); {
			case err != nil && changed.Active:
				return err
			case err != nil: // A name keeps no directory from taking access away.
				changed.UserName = before.UserName
			}
		}
		store(p, d, changed)
		return nil
	}, &after)
	return before, after, err
}

// DeleteUser has a user be gone for the directory, and takes their access away. check may
// refuse it.
func (s *userStore) DeleteUser(ctx context.Context, d *scim.Directory, id string, check func(scim.User) error) error {
	return s.changePerson(ctx, d, id, func(p *v1alpha1.BridgePerson) error {
		if err := check(userOf(p)); err != nil {
			return err
		}
		p.Spec.Directory.Deleted, p.Spec.Directory.Active, p.Spec.Directory.Profile = true, false, ""
		settle(p, d)
		return nil
	}, nil)
}

// changePerson writes the change of a BridgePerson, and stores the user that it is then.
func (s *userStore) changePerson(ctx context.Context, d *scim.Directory, id string, change func(*v1alpha1.BridgePerson) error, into *scim.User) error {
	return retry(ctx, func() error {
		before, err := s.person(ctx, d, id)
		if err != nil {
			return err
		}
		after := before.DeepCopy()
		if err := change(after); err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
			// Nothing keeps a directory from taking access away.
			if of := after.Spec.Directory; of.Active && !of.Deleted {
				if err := spend(s.budgets.get(d).changes, 1); err != nil {
					return err
				}
			}
			if err := s.write(ctx, before, after); err != nil {
				return missing(err)
			}
		}
		if into != nil {
			*into = userOf(after)
		}
		return nil
	})
}
