// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access says who may use which bridge as far as BridgePersons say it, and how far
// somebody has left whose access was taken away.
//
// The package is pure.
package access

import (
	"encoding/base32"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// PersonName returns the name of the BridgePerson in which the groups of a person are: 130
// bits of the key, so that it is the same on each replica and two people have two names.
func PersonName(key oauth.SubjectKey) string { return "p-" + nameOf(key) }

// DirectoryName returns the name of the BridgePerson that a directory writes of a person. It
// is another one than that of logins, so that neither can give back what the other took.
func DirectoryName(key oauth.SubjectKey) string { return directoryPrefix + nameOf(key) }

// GroupName returns the name of the BridgeGroup of a key, made of an issuer and of what is
// one group's alone.
func GroupName(key oauth.SubjectKey) string { return "g-" + nameOf(key) }

var groupName = regexp.MustCompile(`^g-[a-z2-7]{26}$`)

// IsGroupName reports whether a name has the form of GroupName.
func IsGroupName(name string) bool { return groupName.MatchString(name) }

const (
	directoryPrefix = "d-"
	// nameLength is that of 130 bits in base 32.
	nameLength = 26
)

func nameOf(key oauth.SubjectKey) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(key[:])[:nameLength])
}

// MemberID returns the id by which groups name a person of a directory: the BridgePerson and
// its incarnation.
func MemberID(name string, incarnation int64) string {
	return name + "-" + strconv.FormatInt(incarnation, 10)
}

// ParseMemberID reads what MemberID returns, and no other text.
func ParseMemberID(id string) (name string, incarnation int64, ok bool) {
	const length = len(directoryPrefix) + nameLength
	if len(id) < length+2 || !strings.HasPrefix(id, directoryPrefix) || strings.Trim(id[len(directoryPrefix):length], "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return "", 0, false
	}
	incarnation, err := strconv.ParseInt(id[length+1:], 10, 64)
	if name = id[:length]; err != nil || incarnation < 1 || MemberID(name, incarnation) != id {
		return "", 0, false
	}
	return name, incarnation, true
}

// UserName returns the name of the BridgePerson by which an administrator takes the access
// of a user away.
func UserName(user v1alpha1.UserID) string { return "user." + string(user) }

// People are all BridgePersons. They are not safe for concurrent use while
// one is set or deleted.
type People struct {
	byName    map[string]*v1alpha1.BridgePerson
	bySubject map[oauth.SubjectKey][]*v1alpha1.BridgePerson
	byRule    map[v1alpha1.UserID][]*v1alpha1.BridgePerson
	byUser    map[v1alpha1.UserID][]*v1alpha1.BridgePerson
}

// NewPeople returns the people of these objects, which must not change.
func NewPeople(persons []v1alpha1.BridgePerson) *People {
	p := &People{
		map[string]*v1alpha1.BridgePerson{}, map[oauth.SubjectKey][]*v1alpha1.BridgePerson{},
		map[v1alpha1.UserID][]*v1alpha1.BridgePerson{}, map[v1alpha1.UserID][]*v1alpha1.BridgePerson{},
	}
	for i := range persons {
		p.add(&persons[i])
	}
	return p
}

// Set replaces the BridgePerson of that name.
func (p *People) Set(person *v1alpha1.BridgePerson) {
	p.Delete(person)
	p.byName[person.Name] = person
	p.add(person)
}

// Delete removes the BridgePerson of that name.
func (p *People) Delete(person *v1alpha1.BridgePerson) {
	old, known := p.byName[person.Name]
	if !known {
		return
	}
	delete(p.byName, person.Name)
	if old.Spec.User != "" {
		remove(p.byUser, old.Spec.User, old)
		return
	}
	remove(p.bySubject, KeyOf(old), old)
	remove(p.byRule, RuledUser(old), old)
}

func (p *People) add(person *v1alpha1.BridgePerson) {
	if user := person.Spec.User; user != "" {
		p.byUser[user] = append(p.byUser[user], person)
		return
	}
	key := KeyOf(person)
	p.bySubject[key] = append(p.bySubject[key], person)
	if user := RuledUser(person); user != "" {
		p.byRule[user] = append(p.byRule[user], person)
	}
}

func remove[K comparable](lists map[K][]*v1alpha1.BridgePerson, key K, person *v1alpha1.BridgePerson) {
	left := slices.DeleteFunc(slices.Clone(lists[key]), func(o *v1alpha1.BridgePerson) bool { return o == person })
	if lists[key] = left; len(left) == 0 {
		delete(lists, key)
	}
}

// Get returns the BridgePerson of a name that was Set, or nil.
func (p *People) Get(name string) *v1alpha1.BridgePerson { return p.byName[name] }

// KeyOf returns the key of the person at their identity provider.
func KeyOf(p *v1alpha1.BridgePerson) oauth.SubjectKey {
	return oauth.KeyOf(p.Spec.Issuer, p.Spec.Subject)
}

// RuledUser returns the user that the provider's rule makes of a person, if any.
func RuledUser(p *v1alpha1.BridgePerson) v1alpha1.UserID {
	if p.Status.Login == nil {
		return ""
	}
	return p.Status.Login.User
}

// Person is all that is known of one person. The zero value is an unknown person.
type Person struct{ records []*v1alpha1.BridgePerson }

// Access returns the least access of the person's records.
func (p Person) Access() v1alpha1.Access { return least(p.records) }

// LoginsEnded returns when the person's logins ended last, zero if they never did.
func (p Person) LoginsEnded() time.Time { return loginsEnded(p.records) }

// Login returns what the provider said last, or nil.
func (p Person) Login() *v1alpha1.PersonLogin {
	var newest *v1alpha1.PersonLogin
	for _, r := range p.records {
		if login := r.Status.Login; login != nil && (newest == nil || newest.Time.Before(&login.Time)) {
			newest = login
		}
	}
	return newest
}

// Differs reports whether a record of a person says something else of their access or groups
// than before.
func Differs(before, after *v1alpha1.BridgePerson) bool {
	return !equality.Semantic.DeepEqual(before.Spec, after.Spec) ||
		!equality.Semantic.DeepEqual(before.Status.Login, after.Status.Login) ||
		!equality.Semantic.DeepEqual(before.Status.Directory, after.Status.Directory)
}

// Directory returns in which groups a directory has the person, and whether it knows them:
// then no other groups count. Groups of an earlier incarnation are none.
func (p Person) Directory() (groups []string, known bool) {
	for _, r := range p.records {
		d, found := r.Spec.Directory, r.Status.Directory
		if d == nil || d.DryRun {
			continue
		}
		known = true
		if found != nil && found.Incarnation == d.Incarnation && !d.Deleted {
			groups = append(groups, found.Groups...)
		}
	}
	return groups, known
}

// Issuer returns the person's identity provider, empty if nothing is known of them.
func (p Person) Issuer() string {
	if len(p.records) == 0 {
		return ""
	}
	return p.records[0].Spec.Issuer
}

// RuledUsers returns the users that rules make of the person.
func (p Person) RuledUsers() []v1alpha1.UserID {
	var users []v1alpha1.UserID
	for _, r := range p.records {
		if user := RuledUser(r); user != "" {
			users = append(users, user)
		}
	}
	return users
}

// Person returns what is known of a person.
func (p *People) Person(key oauth.SubjectKey) Person { return Person{p.bySubject[key]} }

// User returns what is known of a user beside the people that may use the bridge.
func (p *People) User(user v1alpha1.UserID) Person { return Person{p.byUser[user]} }

// Of returns the people of a bridge: its subjects, and those for whom a rule derives its user.
func (p *People) Of(b *v1alpha1.HostedBridge) []Person {
	var keys []oauth.SubjectKey
	if b.Spec.OAuth != nil {
		for _, s := range b.Spec.OAuth.Subjects {
			keys = append(keys, oauth.KeyOf(s.Issuer, s.Subject))
		}
	}
	for _, r := range p.byRule[b.User()] {
		keys = append(keys, KeyOf(r))
	}
	var people []Person
	for i, key := range keys {
		if !slices.Contains(keys[:i], key) {
			people = append(people, p.Person(key))
		}
	}
	return people
}

// Bridge returns the access to a bridge: that of its user, or that of its people if all of
// them have less. A bridge that one of its people may still use goes on for that one.
func (p *People) Bridge(b *v1alpha1.HostedBridge) v1alpha1.Access {
	most := v1alpha1.AccessAllowed
	for i, person := range p.Of(b) {
		if a := person.Access(); i == 0 || rank(a) < rank(most) {
			most = a
		}
	}
	return strictest(most, p.User(b.User()).Access())
}

// least returns the least access of some records. An access that this version does not know,
// such as that of a later one, ends nothing for good.
func least(records []*v1alpha1.BridgePerson) v1alpha1.Access {
	found := v1alpha1.AccessAllowed
	for _, r := range records {
		switch r.Spec.Access {
		case v1alpha1.AccessAllowed, v1alpha1.AccessOffboarded:
			found = strictest(found, r.Spec.Access)
		case "": // Of a version without it.
		default:
			found = strictest(found, v1alpha1.AccessSuspended)
		}
	}
	return found
}

func loginsEnded(records []*v1alpha1.BridgePerson) time.Time {
	var last time.Time
	for _, r := range records {
		if t := r.Status.LoginsEndedTime; t != nil && t.After(last) {
			last = t.UTC()
		}
	}
	return last
}

func strictest(a, b v1alpha1.Access) v1alpha1.Access {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// rank orders accesses from most to least.
func rank(a v1alpha1.Access) int {
	return slices.Index([]v1alpha1.Access{v1alpha1.AccessAllowed, v1alpha1.AccessSuspended, v1alpha1.AccessOffboarded}, a)
}
