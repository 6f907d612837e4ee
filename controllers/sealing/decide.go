// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// maxProblems is how many problems of one Secret are spelled out. A Secret may
// have thousands of keys, and a status is read by people.
const maxProblems = 3

// source is a Secret of spec.secretRefs as it was read.
type source struct {
	UID             types.UID
	ResourceVersion string
	// Refused says why a bridge may not use this Secret; its data is then not
	// read. It is empty if a bridge may use it.
	Refused string
	// Deleting means that the Secret is being deleted.
	Deleting bool
	Data     map[string][]byte
}

// allowance is how many secrets a user may have.
type allowance struct {
	Tier    string
	Unknown bool
	// Secrets is nil if there is no limit.
	Secrets *int32
}

// observed is all that a decision depends on.
type observed struct {
	Refs []v1alpha1.SecretRef
	// Sources are the Secrets of Refs by name. One that does not exist is absent.
	Sources map[string]source
	Allowed allowance
	// Listing is what is stored now.
	Listing secretstore.Listing
	// Stored are the plaintexts of the names that outdated returned, without
	// those that do not open.
	Stored map[string][]byte
	// Suspects are names whose values are checked although their sources did
	// not change. Broken are those of them that do not open.
	Suspects, Broken []string
	// Lost means that no stored secret will open again.
	Lost bool
}

// decision is what to do about what was observed.
type decision struct {
	Changes []secretstore.Change
	// Failures are in the order of the spec, one for a Secret.
	Failures []v1alpha1.SecretFailure
	// Delete names the Secrets to delete once Changes are stored.
	Delete []string
}

// outdated returns the names that are stored from another state of their Secret
// than the one that was read, and the suspects. Only their plaintexts show
// whether they have to be sealed again.
func outdated(o observed) []string {
	var names []string
	p := propose(o)
	for _, w := range p.wants {
		if e, stored := p.entries[w.name]; stored && (!sameState(e.Source, &w.from) || slices.Contains(o.Suspects, w.name)) {
			names = append(names, w.name)
		}
	}
	return names
}

// decide says what to write and what to report.
func decide(o observed) decision {
	p := propose(o)
	removed := p.removals(o.Listing)
	d := decision{Changes: removed}
	for _, w := range p.within(o.Allowed, p.usage(removed)) {
		w.from.Deleted = o.Refs[w.ref].DeleteSource && len(p.problems[w.ref]) == 0
		if c, changed := w.change(p.entries, o); changed {
			d.Changes = append(d.Changes, c)
		}
	}
	for i, ref := range o.Refs {
		if len(p.problems[i]) > 0 {
			d.Failures = append(d.Failures, failure(ref.Name, p.problems[i]))
			continue
		}
		if src, exists := o.Sources[ref.Name]; exists && ref.DeleteSource && !src.Deleting {
			d.Delete = append(d.Delete, ref.Name)
		}
	}
	return d
}

// removals returns the changes for secrets that no Secret of the spec gives any
// more.
func (p *proposal) removals(l secretstore.Listing) []secretstore.Change {
	var changes []secretstore.Change
	for _, e := range l.Entries {
		switch {
		case p.stays[e.Name] || e.Source == nil:
		case e.Source.Deleted: // The user wanted its source deleted: the secret stays, as the user's own.
			changes = append(changes, secretstore.Change{Name: e.Name})
		default:
			changes = append(changes, secretstore.Change{Name: e.Name, Delete: true})
		}
	}
	return changes
}

// want is a value that should be sealed under a name.
type want struct {
	ref   int
	name  string
	from  secretstore.Source
	value []byte
}

// change returns the change that brings the stored entry in line with w, and
// whether a change is needed.
func (w want) change(entries map[string]secretstore.Entry, o observed) (secretstore.Change, bool) {
	c := secretstore.Change{Name: w.name, Source: &w.from}
	e, exists := entries[w.name]
	exists = exists && !o.Lost && !slices.Contains(o.Broken, w.name)
	if exists && e.Source != nil && *e.Source == w.from {
		return c, false
	}
	before, opened := o.Stored[w.name]
	if exists && (sameState(e.Source, &w.from) || opened && bytes.Equal(before, w.value)) {
		return c, true // The same value: only its source is new.
	}
	c.Value = w.value
	if c.Value == nil {
		c.Value = []byte{}
	}
	return c, true
}

// sameState reports whether both are the same key of the same state of a
// Secret.
func sameState(a, b *secretstore.Source) bool {
	return a != nil && a.Secret == b.Secret && a.Key == b.Key && a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
}

// problem is one reason why a Secret is not sealed as the spec says.
type problem struct{ reason, message string }

// proposal is what the spec asks for, before the tier's limit is applied.
type proposal struct {
	entries map[string]secretstore.Entry
	wants   []want
	// given are the names that Secrets of the spec give, whether or not there
	// is a value for them now. stays are the stored ones of them that are not
	// the user's own.
	given, stays map[string]bool
	// problems are by the Secret's position in the spec.
	problems map[int][]problem
}

func propose(o observed) *proposal {
	p := &proposal{entries: map[string]secretstore.Entry{}, given: map[string]bool{}, stays: map[string]bool{}, problems: map[int][]problem{}}
	for _, e := range o.Listing.Entries {
		// A secret whose Secret was removed from the spec becomes the user's
		// own as soon as that Secret is removed. It must not matter whether
		// another Secret that gives the name was added in the same edit or the
		// next.
		if e.Source != nil && e.Source.Deleted && !covered(o.Refs, e) {
			e.Source = nil
		}
		p.entries[e.Name] = e
	}
	for i, ref := range o.Refs {
		src, exists := o.Sources[ref.Name]
		p.add(i, ref, src, exists)
	}
	return p
}

// add proposes what one Secret of the spec gives.
func (p *proposal) add(i int, ref v1alpha1.SecretRef, src source, exists bool) {
	usable := p.usable(i, ref, src, exists)
	for _, k := range keys(ref, src) {
		if p.claim(i, k) && usable {
			p.want(i, ref, k, src)
		}
	}
	if len(ref.Keys) > 0 {
		return
	}
	// Without a list of keys, a key that is no longer in the Secret is removed.
	for name, e := range p.entries {
		if gives(ref, e) && !p.given[name] && (!usable || e.Source.Deleted) {
			p.given[name], p.stays[name] = true, true
		}
	}
}

// usable reports whether the i-th Secret has something to seal. If not, what
// was sealed of it stays.
func (p *proposal) usable(i int, ref v1alpha1.SecretRef, src source, exists bool) bool {
	switch {
	case !exists && p.deleted(ref):
	case !exists:
		p.fail(i, v1alpha1.ReasonSourceMissing, "Secret %s does not exist; what was sealed of it stays", ref.Name)
	case src.Refused != "":
		p.fail(i, v1alpha1.ReasonSourceInvalid, "Secret %s is not sealed: %s", ref.Name, src.Refused)
	case len(src.Data) == 0:
		p.fail(i, v1alpha1.ReasonSourceMissing, "Secret %s has no keys; what was sealed of it stays", ref.Name)
	default:
		return true
	}
	return false
}

// claim reserves the name for a key of the i-th Secret, unless the key cannot
// have it.
func (p *proposal) claim(i int, k v1alpha1.SecretRefKey) bool {
	name := secretName(k)
	switch {
	case !v1alpha1.ValidSecretName(name):
		p.fail(i, v1alpha1.ReasonSourceInvalid, "key %q cannot be the name of a secret: choose one with spec.secretRefs[].keys[].as", k.Key)
		return false
	case p.given[name]:
		p.fail(i, v1alpha1.ReasonSourceInvalid, "%s is given more than once in spec.secretRefs: rename one with spec.secretRefs[].keys[].as", name)
		return false
	}
	e, exists := p.entries[name]
	p.given[name], p.stays[name] = true, exists && e.Source != nil
	return true
}

// want proposes the value of one key, unless it cannot be sealed.
func (p *proposal) want(i int, ref v1alpha1.SecretRef, k v1alpha1.SecretRefKey, src source) {
	name := secretName(k)
	e, exists := p.entries[name]
	value, ok := src.Data[k.Key]
	switch {
	case exists && e.Source == nil:
		p.fail(i, v1alpha1.ReasonSourceInvalid, "%s was set by the user and is not replaced: delete it, or rename this one with spec.secretRefs[].keys[].as", name)
	case !ok && gives(ref, e) && e.Source.Deleted: // The Secret was created again to change another key.
	case !ok:
		p.fail(i, v1alpha1.ReasonSourceMissing, "Secret %s has no key %q; what was sealed of it stays", ref.Name, k.Key)
	case len(value) > envelope.MaxPlaintext:
		p.fail(i, v1alpha1.ReasonSourceInvalid, "key %q has %d bytes, and a secret at most %d", k.Key, len(value), envelope.MaxPlaintext)
	default:
		from := secretstore.Source{Secret: ref.Name, Key: k.Key, UID: src.UID, ResourceVersion: src.ResourceVersion}
		p.wants = append(p.wants, want{ref: i, name: name, from: from, value: value})
	}
}

// usage is how much of the limits the secrets that stay take.
type usage struct{ secrets, bytes int }

// entryOverhead is the space that a secret takes besides its value: the
// envelope's own bytes, and its entry in the index, where names of Secrets may
// be long.
const entryOverhead = envelope.Overhead + 512

func (u *usage) add(size int)    { u.secrets++; u.bytes += size + entryOverhead }
func (u *usage) remove(size int) { u.secrets--; u.bytes -= size + entryOverhead }

// usage returns what the secrets take once these changes are made.
func (p *proposal) usage(removed []secretstore.Change) usage {
	var u usage
	for _, e := range p.entries {
		u.add(e.Size)
	}
	for _, c := range removed {
		if c.Delete {
			u.remove(p.entries[c.Name].Size)
		}
	}
	return u
}

// within returns the wants that fit beside the others that stay, in order. A
// tier's limit removes no stored secret, and a smaller replacement always fits.
func (p *proposal) within(a allowance, u usage) []want {
	var fit []want
	for _, w := range p.wants {
		e, stored := p.entries[w.name]
		next := u
		if stored {
			next.remove(e.Size)
		}
		next.add(len(w.value))
		switch {
		case !stored && a.Unknown:
			p.fail(w.ref, v1alpha1.ReasonTierLimitExceeded, "%s is not sealed: the tier %q does not exist", w.name, a.Tier)
		case !stored && a.Secrets != nil && u.secrets >= int(*a.Secrets):
			p.fail(w.ref, v1alpha1.ReasonTierLimitExceeded, "%s is not sealed: the tier %q allows %d secrets", w.name, a.Tier, *a.Secrets)
		case next.bytes > u.bytes && next.bytes > corev1.MaxSecretSize:
			p.fail(w.ref, v1alpha1.ReasonSourceInvalid, "%s is not sealed: with it all of the user's secrets together are more than the %d bytes that can be stored", w.name, corev1.MaxSecretSize)
		default:
			fit, u = append(fit, w), next
		}
	}
	return fit
}

// deleted reports whether ref's Secret is gone because all its values are
// sealed and the spec asked to delete it then. A value that the user has since
// set under one of the names counts too: the user may set it.
func (p *proposal) deleted(ref v1alpha1.SecretRef) bool {
	sealed, own := 0, 0
	for _, e := range p.entries {
		switch {
		case gives(ref, e) && e.Source.Deleted:
			sealed++
		case e.Source == nil && ref.DeleteSource && names(ref, e.Name):
			own++
		}
	}
	return sealed+own > 0 && sealed+own >= len(ref.Keys)
}

func (p *proposal) fail(i int, reason, format string, args ...any) {
	p.problems[i] = append(p.problems[i], problem{reason, fmt.Sprintf(format, args...)})
}

// keys returns the keys of src to seal, in order.
func keys(ref v1alpha1.SecretRef, src source) []v1alpha1.SecretRefKey {
	if len(ref.Keys) > 0 {
		return ref.Keys
	}
	all := make([]v1alpha1.SecretRefKey, 0, len(src.Data))
	for _, k := range slices.Sorted(maps.Keys(src.Data)) {
		all = append(all, v1alpha1.SecretRefKey{Key: k})
	}
	return all
}

func secretName(k v1alpha1.SecretRefKey) string {
	if k.As != "" {
		return string(k.As)
	}
	return k.Key
}

// names reports whether ref has a key that becomes the secret of that name.
func names(ref v1alpha1.SecretRef, name string) bool {
	return slices.ContainsFunc(ref.Keys, func(k v1alpha1.SecretRefKey) bool { return secretName(k) == name })
}

// covered reports whether one of refs gives e.
func covered(refs []v1alpha1.SecretRef, e secretstore.Entry) bool {
	return slices.ContainsFunc(refs, func(ref v1alpha1.SecretRef) bool { return gives(ref, e) })
}

// gives reports whether ref names the key that e came from, under e's name.
func gives(ref v1alpha1.SecretRef, e secretstore.Entry) bool {
	if e.Source == nil || e.Source.Secret != ref.Name {
		return false
	}
	if len(ref.Keys) == 0 {
		return e.Source.Key == e.Name
	}
	return slices.ContainsFunc(ref.Keys, func(k v1alpha1.SecretRefKey) bool {
		return k.Key == e.Source.Key && secretName(k) == e.Name
	})
}

// failure combines the problems of one Secret under the reason of the first.
func failure(name string, problems []problem) v1alpha1.SecretFailure {
	said := make([]string, 0, maxProblems+1)
	for i, p := range problems {
		if i == maxProblems {
			said = append(said, fmt.Sprintf("and %d more", len(problems)-i))
			break
		}
		said = append(said, p.message)
	}
	return v1alpha1.SecretFailure{Name: name, Reason: problems[0].reason, Message: strings.Join(said, "; ")}
}
