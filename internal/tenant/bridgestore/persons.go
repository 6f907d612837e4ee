// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/apply"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// repeatAfter is how old a record must be to be written again with the same groups, so that
// they go on to count.
const repeatAfter = time.Hour

// Persons writes the groups that identity providers name of people.
type Persons struct {
	Client client.Client
	// Namespace is the installation's.
	Namespace string
	// Log reports groups that nearly are those of a profile; nil for no report.
	Log *slog.Logger
}

// NamedGroups are the groups that an issuer named of a person, its subject, at a time. User
// is the one that the issuer's rule makes of the person, if any.
type NamedGroups struct {
	Issuer, Subject string
	User            v1alpha1.UserID
	Groups          []string
	At              time.Time
}

// Record writes that a provider named these groups of a person, as far as
// BridgeProfiles and members of SharedServers name them: others are nobody's concern here, and
// only counted. A later word than this one stays. It creates no BridgePerson while none of them
// names a group of the issuer.
func (p *Persons) Record(ctx context.Context, n NamedGroups) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	named, err := p.named(ctx, n.Issuer)
	if err != nil {
		return err
	}
	in := oauth.NewGroupSet(n.Groups)
	login := &v1alpha1.PersonLogin{Time: metav1.NewTime(n.At.Truncate(time.Second)), User: n.User}
	kept, leftOut := profile.Kept(named, in)
	login.Groups, login.LeftOut = kept, int32(leftOut)      //nolint:gosec // A provider's answer has 1 MiB.
	login.OtherGroups = int32(len(in) - countIn(in, named)) //nolint:gosec // As above.

	name := types.NamespacedName{Namespace: p.Namespace, Name: access.PersonName(oauth.KeyOf(n.Issuer, n.Subject))}
	object := &v1alpha1.BridgePerson{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	known := &v1alpha1.BridgePerson{}
	err = p.Client.Get(ctx, name, known)
	switch {
	case apierrors.IsNotFound(err) && len(named) == 0:
		return nil
	case apierrors.IsNotFound(err):
		spec := apply.Spec(v1alpha1.BridgePersonSpec{Issuer: n.Issuer, Subject: n.Subject})
		if err := p.Client.Patch(ctx, object.DeepCopy(), spec, client.FieldOwner(v1alpha1.FieldOwnerIngress), client.ForceOwnership); err != nil {
			return fmt.Errorf("create BridgePerson: %w", err)
		}
	case err != nil:
		return fmt.Errorf("get BridgePerson: %w", err)
	case isKnown(known.Status.Login, login, n.At):
		return nil
	}
	p.report(ctx, n, login, named)
	status := apply.Status(v1alpha1.BridgePersonStatus{Login: login})
	if err := p.Client.Status().Patch(ctx, object, status, client.FieldOwner(v1alpha1.FieldOwnerIngress), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the groups of a BridgePerson: %w", err)
	}
	return nil
}

// named returns the groups of an issuer that BridgeProfiles and SharedServers name.
func (p *Persons) named(ctx context.Context, issuer string) ([]string, error) {
	profiles, err := (&Profiles{p.Client, p.Namespace}).List(ctx)
	if err != nil {
		return nil, err
	}
	var shared v1alpha1.SharedServerList
	if err := p.Client.List(ctx, &shared, client.InNamespace(p.Namespace)); err != nil {
		return nil, fmt.Errorf("list SharedServers: %w", err)
	}
	return profile.Named(profiles, shared.Items, issuer), nil
}

// countIn returns how many groups of a set are named, in whatever form.
func countIn(in oauth.GroupSet, named []string) int {
	n := 0
	for g := range oauth.NewGroupSet(named) {
		if in[g] {
			n++
		}
	}
	return n
}

// report logs what an administrator may not expect of the groups of a person: a very large
// number, and each one that is the same as a named one but for case or form, which the author
// of a profile may have meant. It is called when a record is written, and not at each refresh.
func (p *Persons) report(ctx context.Context, n NamedGroups, login *v1alpha1.PersonLogin, named []string) {
	if p.Log == nil {
		return
	}
	if total := len(login.Groups) + int(login.LeftOut+login.OtherGroups); total > profile.MaxGroups {
		p.Log.InfoContext(ctx, "a person is in very many groups: only those that BridgeProfiles and SharedServers name count",
			slog.String("issuer", n.Issuer), slog.Int("groups", len(login.Groups)), slog.Int("leftOut", int(login.LeftOut)), slog.Int("otherGroups", int(login.OtherGroups)))
	}
	same, near := oauth.NewGroupSet(named), map[string]string{}
	for _, g := range named {
		near[oauth.FoldGroup(g)] = g
	}
	for _, g := range n.Groups {
		if written, has := near[oauth.FoldGroup(g)]; has && !same.Has(g) {
			delete(near, oauth.FoldGroup(g))
			p.Log.WarnContext(ctx, "a group of a person is that of a profile or SharedServer but for case or form, and gives nothing: write it there as the provider does",
				slog.String("issuer", n.Issuer), slog.String("group", g), slog.String("written", written))
		}
	}
}

// isKnown reports whether a record needs no change by what a provider said at a time.
func isKnown(known, login *v1alpha1.PersonLogin, at time.Time) bool {
	switch {
	case known == nil:
		return false
	case known.Time.After(at):
		return true
	}
	return known.User == login.User && slices.Equal(slices.Sorted(slices.Values(known.Groups)), login.Groups) &&
		known.LeftOut == login.LeftOut && at.Sub(known.Time.Time) < repeatAfter
}
