// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// peopleOf reads what is known of the people of a bridge. namespace is the installation's.
func peopleOf(ctx context.Context, c client.Reader, namespace string, b *v1alpha1.HostedBridge) (*access.People, error) {
	people, err := withKeys(ctx, c, namespace, personKeys(b))
	if err != nil {
		return nil, err
	}
	return access.NewPeople(people), nil
}

// withKeys reads the BridgePersons of these keys, and all others of the same people.
func withKeys(ctx context.Context, c client.Reader, namespace string, keys []string) ([]v1alpha1.BridgePerson, error) {
	var found []v1alpha1.BridgePerson
	for i := 0; i < len(keys); i++ {
		var some v1alpha1.BridgePersonList
		if err := c.List(ctx, &some, client.InNamespace(namespace), client.MatchingFields{indexPersonKey: keys[i]}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list BridgePersons: %w", err)
		}
		for _, p := range some.Items {
			if slices.ContainsFunc(found, func(other v1alpha1.BridgePerson) bool { return other.Name == p.Name }) {
				continue
			}
			found = append(found, p)
			if key := access.KeyOf(&p).String(); p.Spec.User == "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return found, nil
}

// withAccess returns a bridge whose status says what access there is now. It does not change b.
func withAccess(b *v1alpha1.HostedBridge, people *access.People, now time.Time) *v1alpha1.HostedBridge {
	state, before := people.Bridge(b), b.Status.Access
	if state == v1alpha1.AccessAllowed && before == nil || before != nil && before.State == state {
		return b
	}
	changed := *b
	changed.Status.Access = nil
	if state != v1alpha1.AccessAllowed {
		changed.Status.Access = &v1alpha1.BridgeAccess{State: state, Since: metav1.NewTime(now.Truncate(time.Second))}
	}
	return &changed
}

// personKeys returns the keys under which the BridgePersons of a bridge are found: that of
// its user, also for people for whom a rule derives the user, and those of its subjects.
func personKeys(b *v1alpha1.HostedBridge) []string {
	keys := []string{string(b.User())}
	if b.Spec.OAuth != nil {
		for _, s := range b.Spec.OAuth.Subjects {
			keys = append(keys, oauth.KeyOf(s.Issuer, s.Subject).String())
		}
	}
	return keys
}

// keysOfPerson returns the keys under which a BridgePerson is found. A user id has no
// capital letters and is shorter than the text of a subject's key, so none is both.
func keysOfPerson(p *v1alpha1.BridgePerson) []string {
	if p.Spec.User != "" {
		return []string{string(p.Spec.User)}
	}
	keys := []string{access.KeyOf(p).String()}
	if user := access.RuledUser(p); user != "" {
		keys = append(keys, string(user))
	}
	return keys
}

// bridgesOfPerson maps a person to the bridges that they may use. After a change it is
// called with the person before and after it.
func (m eventMapper) bridgesOfPerson(ctx context.Context, o client.Object) []reconcile.Request {
	p, ok := o.(*v1alpha1.BridgePerson)
	if !ok || p.Namespace != m.settings.Namespace {
		return nil
	}
	keys := keysOfPerson(p)
	same, err := withKeys(ctx, m.client, m.settings.Namespace, slices.Clone(keys))
	if err != nil {
		// A read of a filled cache fails only when the process ends.
		log.FromContext(ctx).Error(err, "list the records of a person")
		return nil
	}
	for i := range same {
		keys = append(keys, keysOfPerson(&same[i])...)
	}
	slices.Sort(keys)
	var requests []reconcile.Request
	for _, key := range slices.Compact(keys) {
		requests = append(requests, m.requests(ctx, client.MatchingFields{indexPerson: key})...)
	}
	return requests
}

// personChanged passes a BridgePerson whose groups or access changed.
func personChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.BridgePerson)
		after, ok2 := e.ObjectNew.(*v1alpha1.BridgePerson)
		return !ok || !ok2 || access.Differs(before, after)
	}}
}
