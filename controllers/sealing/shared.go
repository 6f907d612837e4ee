// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
)

const (
	// indexShared finds HostedBridges by the SharedServers that profiles give them.
	indexShared = "shared"
	// indexUser finds HostedBridges by the people who use them, and indexSharer those of
	// them that profiles give a SharedServer.
	indexUser   = "user"
	indexSharer = "sharer"
)

// installed reads the installation's own namespace.
type installed struct {
	client    client.Reader
	namespace string
}

// SharedServers implements sharing.Reader.
func (i installed) SharedServers(ctx context.Context) ([]v1alpha1.SharedServer, error) {
	var list v1alpha1.SharedServerList
	err := i.client.List(ctx, &list, client.InNamespace(i.namespace), client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// Persons implements sharing.Reader.
func (i installed) Persons(ctx context.Context, field, value string) ([]v1alpha1.BridgePerson, error) {
	var list v1alpha1.BridgePersonList
	err := i.client.List(ctx, &list, client.InNamespace(i.namespace), client.MatchingFields{field: value}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// personIndexes are those by which package sharing finds people.
func personIndexes() []Index {
	by := func(field string, value func(*v1alpha1.BridgePerson) string) Index {
		return Index{&v1alpha1.BridgePerson{}, field, func(o client.Object) []string {
			p, ok := o.(*v1alpha1.BridgePerson)
			if !ok {
				return nil
			}
			return []string{value(p)}
		}}
	}
	return []Index{
		by(sharing.FieldUser, func(p *v1alpha1.BridgePerson) string { return string(p.Spec.User) }),
		by(sharing.FieldSubject, func(p *v1alpha1.BridgePerson) string { return p.Spec.Subject }),
		by(sharing.FieldLoginUser, loginUser),
	}
}

func loginUser(p *v1alpha1.BridgePerson) string {
	if p.Status.Login == nil {
		return ""
	}
	return string(p.Status.Login.User)
}

func sharedNames(o client.Object) []string {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	return sharing.Given(b)
}

// sharers returns who uses a bridge that profiles give a SharedServer.
func sharers(o client.Object) []string {
	if len(sharedNames(o)) == 0 {
		return nil
	}
	return users(o)
}

// users returns who uses a bridge.
func users(o client.Object) []string {
	b, ok := o.(*v1alpha1.HostedBridge)
	if !ok {
		return nil
	}
	users := []string{"user " + string(b.User())}
	if b.Spec.OAuth != nil {
		for _, s := range b.Spec.OAuth.Subjects {
			users = append(users, "subject "+s.Subject)
		}
	}
	return users
}

// bridgesOfShared maps a SharedServer to the HostedBridges that profiles give it.
func bridgesOfShared(r *Reconciler) handler.MapFunc {
	return func(ctx context.Context, s client.Object) []reconcile.Request {
		return r.requests(ctx, client.MatchingFields{indexShared: s.GetName()})
	}
}

// bridgesOf maps a person to the HostedBridges in the index that they may use.
func bridgesOf(r *Reconciler, index string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		p, ok := o.(*v1alpha1.BridgePerson)
		if !ok {
			return nil
		}
		var requests []reconcile.Request
		for _, key := range keysOf(ctx, r, p) {
			requests = append(requests, r.requests(ctx, client.MatchingFields{index: key})...)
		}
		return requests
	}
}

// keysOf returns the keys of a person in the indexes, with those of all records of the person.
func keysOf(ctx context.Context, r *Reconciler, p *v1alpha1.BridgePerson) []string {
	records := []v1alpha1.BridgePerson{*p}
	if p.Spec.Subject != "" {
		same, err := installed{r.Client, r.Settings.Namespace}.Persons(ctx, sharing.FieldSubject, p.Spec.Subject)
		if err != nil {
			// A read of a filled cache fails only when the process ends.
			log.FromContext(ctx).Error(err, "list the records of a person")
		}
		records = append(records, same...)
	}
	var keys []string
	for i := range records {
		keys = append(keys, "user "+string(records[i].Spec.User), "subject "+records[i].Spec.Subject, "user "+loginUser(&records[i]))
	}
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == "user " || key == "subject " })
}

// sharedChanged passes what changes which secrets of SharedServers bridges may have.
func sharedChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.SharedServer)
		after, ok2 := e.ObjectNew.(*v1alpha1.SharedServer)
		return !ok || !ok2 || before.Generation != after.Generation || before.UID != after.UID || before.Status.Revision != after.Status.Revision ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
	}}
}

// sharerChanged passes what makes people members, or takes their access.
func sharerChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.BridgePerson)
		after, ok2 := e.ObjectNew.(*v1alpha1.BridgePerson)
		return !ok || !ok2 || access.Differs(before, after)
	}}
}

// accessChanged passes what takes the access of people, or gives it back. A login every few
// minutes changes neither.
func accessChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.BridgePerson)
		after, ok2 := e.ObjectNew.(*v1alpha1.BridgePerson)
		return !ok || !ok2 || before.Spec.Access != after.Spec.Access || loginUser(before) != loginUser(after)
	}}
}
