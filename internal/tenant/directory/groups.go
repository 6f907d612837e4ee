// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/scim"
)

// maxNames is how many names are tried for a group: those before it belong to groups that
// were renamed since they were created.
const maxNames = 16

// groupStore keeps groups.
type groupStore struct {
	*objects

	// cache has all of them.
	cache cache.Cache
}

// Group returns a group of a directory, or scim.ErrNotFound.
func (s *groupStore) Group(ctx context.Context, d *scim.Directory, id string) (scim.Group, error) {
	g, err := s.group(ctx, d, id)
	if err != nil {
		return scim.Group{}, err
	}
	return s.groupOf(ctx, g)
}

func (s *groupStore) group(ctx context.Context, d *scim.Directory, id string) (*v1alpha1.BridgeGroup, error) {
	g := &v1alpha1.BridgeGroup{}
	if err := s.client.Get(ctx, s.key(id), g); err != nil {
		return nil, missing(err)
	}
	if g.Spec.Issuer != d.Issuer {
		return nil, scim.ErrNotFound
	}
	return g, nil
}

// ownGroup is group for a change. One that a manifest made is not the directory's to change, and
// an admission policy holds the ingress to that.
func (s *groupStore) ownGroup(ctx context.Context, d *scim.Directory, id string) (*v1alpha1.BridgeGroup, error) {
	g, err := s.group(ctx, d, id)
	if err == nil && !access.IsGroupName(g.Name) {
		err = scim.ErrNotTheDirectorys
	}
	return g, err
}

// groupOf returns a group as its directory sees it: without members that the directory has
// deleted since.
func (s *groupStore) groupOf(ctx context.Context, g *v1alpha1.BridgeGroup) (scim.Group, error) {
	gone, err := s.gone(ctx, g.Spec.Issuer)
	if err != nil {
		return scim.Group{}, err
	}
	return shown(g, gone), nil
}

// gone returns a test for ids of users of an issuer who were deleted, or created again since.
// About people of other issuers it says what it says of those who are not known, so that no
// directory learns who is in another one.
func (s *groupStore) gone(ctx context.Context, issuer string) (func(id string) bool, error) {
	persons, err := s.known.Persons(ctx)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	current := make(map[string]string, len(persons))
	for i := range persons {
		if of := persons[i].Spec.Directory; of != nil && persons[i].Spec.Issuer == issuer {
			current[persons[i].Name] = access.MemberID(persons[i].Name, of.Incarnation)
			if of.Deleted {
				current[persons[i].Name] = ""
			}
		}
	}
	return func(id string) bool {
		name, _, ok := access.ParseMemberID(id)
		// One who is not known may have been created just now, by another replica.
		now, known := current[name]
		return !ok || known && now != id
	}, nil
}

func shown(g *v1alpha1.BridgeGroup, gone func(string) bool) scim.Group {
	members := make([]string, 0, len(g.Spec.Members))
	for _, id := range g.Spec.Members {
		if !gone(id) {
			members = append(members, id)
		}
	}
	return scim.Group{
		ID: g.Name, ExternalID: g.Spec.ExternalID, DisplayName: g.Spec.DisplayName, Members: members,
		Version: version(g), Created: g.CreationTimestamp.Time,
	}
}

// Groups returns the groups of a directory that match, the oldest first.
func (s *groupStore) Groups(ctx context.Context, d *scim.Directory, f scim.Filter) ([]scim.Group, error) {
	if id, ok := f.ID(); ok {
		return one(f.Group)(s.Group(ctx, d, id))
	}
	all, err := s.all(ctx, d)
	if err != nil {
		return nil, err
	}
	gone, err := s.gone(ctx, d.Issuer)
	if err != nil {
		return nil, err
	}
	var found []scim.Group
	for i := range all {
		if g := shown(&all[i], gone); f.Group(&g) {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b scim.Group) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return found, nil
}

// all returns the groups of a directory from memory. They must not be changed.
func (s *groupStore) all(ctx context.Context, d *scim.Directory) ([]v1alpha1.BridgeGroup, error) {
	var list v1alpha1.BridgeGroupList
	if err := s.cache.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(g v1alpha1.BridgeGroup) bool { return g.Spec.Issuer != d.Issuer }), nil
}

// valueOf returns by what profiles name a group, and the name of that attribute.
func valueOf(d *scim.Directory, g scim.Group) (value, attribute string, err error) {
	if d.GroupValue != scim.ByExternalID {
		return g.DisplayName, scim.ByDisplayName, nil
	}
	if g.ExternalID == "" {
		return "", "", scim.ErrNoExternalID
	}
	return g.ExternalID, scim.ByExternalID, nil
}

// CreateGroup creates a group. Of two with one value the API server takes one, since the name
// is made of it.
func (s *groupStore) CreateGroup(ctx context.Context, d *scim.Directory, g scim.Group) (scim.Group, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	value, attribute, err := valueOf(d, g)
	if err != nil {
		return scim.Group{}, err
	}
	if err := s.admit(ctx, d, value, &g); err != nil {
		return scim.Group{}, err
	}
	for i := range maxNames {
		o := &v1alpha1.BridgeGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: groupName(d, value, i)},
			Spec:       v1alpha1.BridgeGroupSpec{Issuer: d.Issuer, Value: value, DisplayName: g.DisplayName, ExternalID: g.ExternalID, Members: g.Members},
		}
		if err := s.spendGroup(d, o, 1+len(g.Members)); err != nil {
			return scim.Group{}, err
		}
		err := s.client.Create(ctx, o, client.FieldOwner(v1alpha1.FieldOwnerIngress))
		if err == nil {
			return s.groupOf(ctx, o)
		}
		if !apierrors.IsAlreadyExists(err) {
			return scim.Group{}, fmt.Errorf("create BridgeGroup: %w", err)
		}
		other := &v1alpha1.BridgeGroup{}
		if err := s.client.Get(ctx, s.key(o.Name), other); client.IgnoreNotFound(err) != nil {
			return scim.Group{}, err
		}
		if scim.SameName(other.Spec.Value, value) {
			return scim.Group{}, scim.Taken(attribute)
		}
	}
	return scim.Group{}, scim.Taken(attribute)
}

// admit returns why there cannot be a group with a value. It leaves out members who were deleted.
func (s *groupStore) admit(ctx context.Context, d *scim.Directory, value string, g *scim.Group) error {
	all, err := s.all(ctx, d)
	if err != nil {
		return err
	}
	if err := checkValue(all, d, value, ""); err != nil {
		return err
	}
	gone, err := s.gone(ctx, d.Issuer)
	if err != nil {
		return err
	}
	g.Members = slices.DeleteFunc(g.Members, gone)
	return checkGroups(all, d, "", len(g.Members))
}

// groupName returns the name to try for a group after so many others. No value has a line
// break.
func groupName(d *scim.Directory, value string, tried int) string {
	value = strings.ToLower(value)
	if tried > 0 {
		value += "\n" + strconv.Itoa(tried)
	}
	return access.GroupName(oauth.KeyOf(d.Issuer, value))
}

// checkValue refuses a value that another group has, whose name may be of an earlier value.
func checkValue(all []v1alpha1.BridgeGroup, d *scim.Directory, value, name string) error {
	for i := range all {
		if g := &all[i]; g.Name != name && scim.SameName(g.Spec.Value, value) {
			return scim.Taken(d.GroupValue)
		}
	}
	return nil
}

// ChangeGroup changes a group of a directory, and returns it before and after that. change
// may be called several times.
func (s *groupStore) ChangeGroup(ctx context.Context, d *scim.Directory, id string, change func(scim.Group) (scim.Group, error)) (before, after scim.Group, err error) {
	err = retry(ctx, func() error {
		stored, err := s.ownGroup(ctx, d, id)
		if err != nil {
			return err
		}
		gone, err := s.gone(ctx, d.Issuer)
		if err != nil {
			return err
		}
		before = shown(stored, gone)
		changed, err := change(before)
		if err != nil {
			return err
		}
		changed.Members = slices.DeleteFunc(changed.Members, gone)
		next := stored.DeepCopy()
		if err := s.storeGroup(ctx, d, next, changed); err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(stored.Spec, next.Spec) {
			if len(next.Spec.Members) > len(stored.Spec.Members) {
				all, err := s.all(ctx, d)
				if err != nil {
					return err
				}
				if err := checkGroups(all, d, stored.Name, len(next.Spec.Members)); err != nil {
					return err
				}
			}
			if err := s.spendGroup(d, next, len(scim.Without(next.Spec.Members, stored.Spec.Members))); err != nil {
				return err
			}
			if err := s.write(ctx, stored, next); err != nil {
				return missing(err)
			}
		}
		changed.Version = version(next)
		after = changed
		return nil
	})
	return before, after, err
}

// storeGroup stores what a directory says of a group.
func (s *groupStore) storeGroup(ctx context.Context, d *scim.Directory, o *v1alpha1.BridgeGroup, g scim.Group) error {
	value, _, err := valueOf(d, g)
	if err != nil {
		return err
	}
	if !scim.SameName(value, o.Spec.Value) {
		all, err := s.all(ctx, d)
		if err != nil {
			return err
		}
		if err := checkValue(all, d, value, o.Name); err != nil {
			return err
		}
	}
	o.Spec.Value, o.Spec.DisplayName, o.Spec.ExternalID, o.Spec.Members = value, g.DisplayName, g.ExternalID, g.Members
	return nil
}

// DeleteGroup deletes a group of a directory. check may refuse it.
func (s *groupStore) DeleteGroup(ctx context.Context, d *scim.Directory, id string, check func(scim.Group) error) error {
	return retry(ctx, func() error {
		o, err := s.ownGroup(ctx, d, id)
		if err != nil {
			return err
		}
		g, err := s.groupOf(ctx, o)
		if err != nil {
			return err
		}
		if err := check(g); err != nil {
			return err
		}
		return missing(s.client.Delete(ctx, o, client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}))
	})
}
