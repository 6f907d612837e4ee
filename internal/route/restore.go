// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// Key is an entry of a table with the id under which it is found.
type Key struct {
	ID string
	KeyEntry
}

// Subject is a person or program that may use a user's bridge by a login.
type Subject struct {
	Key  oauth.SubjectKey
	User v1alpha1.UserID
}

// PersonStanding is the standing of a person.
type PersonStanding struct {
	Key oauth.SubjectKey
	Standing
}

// AllStandings calls yield for each person from whom something is taken away, in no order,
// until it returns false.
func (t *Table) AllStandings(yield func(PersonStanding) bool) {
	for _, shard := range t.people {
		for key, s := range shard {
			if !yield(PersonStanding{key, s}) {
				return
			}
		}
	}
}

// AllKeys calls yield for each key, in no order, until it returns false.
func (t *Table) AllKeys(yield func(Key) bool) {
	for _, shard := range t.keys {
		for id, entries := range shard {
			for _, entry := range entries {
				if !yield(Key{id, entry}) {
					return
				}
			}
		}
	}
}

// AllSubjects calls yield for each bridge of each subject, in no order, until it
// returns false.
func (t *Table) AllSubjects(yield func(Subject) bool) {
	for _, shard := range t.subjects {
		for key, users := range shard {
			for _, user := range users {
				if !yield(Subject{key, user}) {
					return
				}
			}
		}
	}
}

// Content is all that a table has.
type Content struct {
	Backends []Backend `json:"backends"`
	Keys     []Key     `json:"keys"`
	// Subjects and Standings are left out where there are none, so that a version from
	// before there could be any reads such a snapshot. It refuses one with them, and waits
	// for the API server.
	Subjects  []Subject        `json:"subjects,omitempty"`
	Standings []PersonStanding `json:"standings,omitempty"`
}

// Content returns all that the table has.
func (t *Table) Content() Content {
	return Content{
		slices.Collect(t.Backends), slices.Collect(t.AllKeys), slices.Collect(t.AllSubjects), slices.Collect(t.AllStandings),
	}
}

// Restore builds a table from another's content. It refuses what no table has:
// two backends of one user, a user id that cannot be in a path, a key without a
// bridge, and a subject without a bridge or with the same one twice.
func Restore(c Content) (*Table, error) {
	users, err := restoreUsers(c.Backends)
	if err != nil {
		return nil, err
	}
	for _, k := range c.Keys {
		r := users[k.User]
		if !r.exists() || k.ID == "" {
			return nil, errors.New("restore routes: a key opens nobody's bridge")
		}
		r.keys = append(r.keys, key{k.ID, k.KeyEntry})
		users[k.User] = r
	}
	for _, s := range c.Subjects {
		r := users[s.User]
		if !r.exists() || slices.Contains(r.subjects, s.Key) {
			return nil, errors.New("restore routes: a subject may use nobody's bridge, or one twice")
		}
		r.subjects = append(r.subjects, s.Key)
		users[s.User] = r
	}
	d := draft{from: &Table{}}
	for _, r := range users {
		d.replace(routed{}, r)
	}
	for _, p := range c.Standings {
		d.replaceStanding(p.Key, p.Standing)
	}
	if d.table == nil {
		return d.from, nil
	}
	d.table.routes = len(users)
	return d.table, nil
}

func restoreUsers(backends []Backend) (map[v1alpha1.UserID]routed, error) {
	users := make(map[v1alpha1.UserID]routed, len(backends))
	for _, b := range backends {
		if _, err := v1alpha1.ParseUserID(string(b.User)); err != nil {
			return nil, fmt.Errorf("restore routes: %w", err)
		}
		if users[b.User].exists() {
			return nil, errors.New("restore routes: a user has two bridges")
		}
		users[b.User] = routed{backend: b}
	}
	return users, nil
}
