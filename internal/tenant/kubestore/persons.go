// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

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
	v1alpha1ac "github.com/hostedbridge/hostedbridge/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
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
// BridgeProfiles and members of SharedServers name them: others are nobody's concern here. A
// later word than this one stays. It creates no BridgePerson while none of them names a group of
// the issuer.
func (p *Persons) Record(ctx context.Context, n NamedGroups) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	profiles, err := (&Profiles{p.Client, p.Namespace}).List(ctx)
	if err != nil {
		return err
	}
	var shared v1alpha1.SharedServerList
	if err := p.Client.List(ctx, &shared, client.InNamespace(p.Namespace)); err != nil {
		return fmt.Errorf("list SharedServers: %w", err)
	}
	named := append(profile.Named(profiles, n.Issuer), profile.NamedByShared(shared.Items, n.Issuer)...)
	// As the profiles write them, which others compare byte for byte.
	kept := slices.DeleteFunc(slices.Clone(named), func(g string) bool { return !oauth.HasGroup(n.Groups, g) })
	slices.Sort(kept)
	kept = slices.Compact(kept)

	name := types.NamespacedName{Namespace: p.Namespace, Name: access.PersonName(oauth.KeyOf(n.Issuer, n.Subject))}
	known := &v1alpha1.BridgePerson{}
	err = p.Client.Get(ctx, name, known)
	switch {
	case apierrors.IsNotFound(err) && len(named) == 0:
		return nil
	case apierrors.IsNotFound(err):
		ac := v1alpha1ac.BridgePerson(name.Name, name.Namespace).WithSpec(v1alpha1ac.BridgePersonSpec().WithIssuer(n.Issuer).WithSubject(n.Subject))
		if err := p.Client.Apply(ctx, ac, client.FieldOwner(v1alpha1.FieldOwnerIngress), client.ForceOwnership); err != nil {
			return fmt.Errorf("create BridgePerson: %w", err)
		}
	case err != nil:
		return fmt.Errorf("get BridgePerson: %w", err)
	case isKnown(known.Status.Login, n.User, kept, n.At):
		return nil
	}
	p.reportNear(ctx, n, named)
	login := v1alpha1ac.PersonLogin().WithTime(metav1.NewTime(n.At.Truncate(time.Second))).WithGroups(kept...)
	if n.User != "" {
		login.WithUser(n.User)
	}
	ac := v1alpha1ac.BridgePerson(name.Name, name.Namespace).WithStatus(v1alpha1ac.BridgePersonStatus().WithLogin(login))
	if err := p.Client.Status().Apply(ctx, ac, client.FieldOwner(v1alpha1.FieldOwnerIngress), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the groups of a BridgePerson: %w", err)
	}
	return nil
}

// reportNear logs the groups of a person that none of the named ones is, but for case or form:
// the author of a profile may have meant them. It is called when a record is written, and not
// at each refresh.
func (p *Persons) reportNear(ctx context.Context, n NamedGroups, named []string) {
	if p.Log == nil {
		return
	}
	for _, g := range n.Groups {
		near := oauth.NearGroup(named, g)
		if near != "" && !oauth.HasGroup(named, g) {
			p.Log.WarnContext(ctx, "a group of a person is that of a profile or SharedServer but for case or form, and gives nothing: write it there as the provider does",
				slog.String("issuer", n.Issuer), slog.String("group", g), slog.String("written", near))
		}
	}
}

// isKnown reports whether a record needs no change by these groups.
func isKnown(login *v1alpha1.PersonLogin, user v1alpha1.UserID, groups []string, at time.Time) bool {
	switch {
	case login == nil:
		return false
	case login.Time.After(at):
		return true
	}
	return login.User == user && slices.Equal(slices.Sorted(slices.Values(login.Groups)), groups) && at.Sub(login.Time.Time) < repeatAfter
}
