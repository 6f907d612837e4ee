// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/sharing"
)

// maxSharedSecrets is how many secrets a SharedServer may have, those included that its spec
// does not name any more.
const maxSharedSecrets = 16

// ownNamespace reads the installation's own namespace.
type ownNamespace struct {
	cluster   Reader
	namespace string
}

// SharedServers implements sharing.Reader.
func (i ownNamespace) SharedServers(ctx context.Context) ([]v1alpha1.SharedServer, error) {
	return i.cluster.SharedServers(ctx, i.namespace)
}

// Persons implements sharing.Reader.
func (i ownNamespace) Persons(ctx context.Context, field, value string) ([]v1alpha1.BridgePerson, error) {
	return i.cluster.Persons(ctx, i.namespace, field, value)
}

// grants returns which SharedServers' secrets the calling bridge may have, from what the API
// server says now.
func (s *Server) grants(ctx context.Context, c *call) ([]sharing.Grant, error) {
	grants, _, err := sharing.Grants(ctx, ownNamespace{s.callers.cluster, s.callers.namespace}, c.object.HostedBridge, s.now())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errClusterAway, err)
	}
	// The status may lag behind; the revision that counts is that of what is opened.
	for i := range grants {
		listing, err := s.listGranted(ctx, grants[i])
		if err != nil {
			return nil, err
		}
		grants[i].Revision = listing.Revision
	}
	return grants, nil
}

// listGranted lists the secrets of a SharedServer. One whose Secret belongs to something else
// has none, and the bridge goes on with its own.
func (s *Server) listGranted(ctx context.Context, g sharing.Grant) (secretstore.Listing, error) {
	listing, err := s.store.List(ctx, g.Owner)
	if errors.Is(err, secretstore.ErrNotOwned) || errors.Is(err, secretstore.ErrNotReady) {
		s.log.WarnContext(ctx, "shared secrets not opened", "sharedServer", g.Name, "error", err)
		return secretstore.Listing{}, nil
	}
	return listing, err
}

// openAll opens the bridge's own secrets and those that are granted, unless all of them still
// have the given revision.
func (s *Server) openAll(ctx context.Context, b secretstore.Bridge, grants []sharing.Grant, revision string) (all secretstore.Opened, changed bool, err error) {
	if len(grants) > 0 {
		if now, same := s.unchanged(ctx, b, grants, revision); same {
			return secretstore.Opened{Revision: now}, false, nil
		}
		revision = "" // The answer has all of them or none.
	}
	all, changed, err = s.store.OpenUnless(ctx, b, revision)
	if errors.Is(err, secretstore.ErrNotOwned) {
		// The stored Secret belongs to another owner, so this bridge has no
		// secrets. It runs without them, and the operator's condition says why.
		s.log.WarnContext(ctx, "secrets not opened", "namespace", b.Namespace, "hostedBridge", b.Name, "error", err)
		all, changed, err = secretstore.Opened{Values: map[string][]byte{}}, true, nil
	}
	if err != nil || !changed {
		return all, changed, err
	}
	all.Revision = sharing.Revision(all.Revision, grants)
	for _, g := range grants {
		if err := s.openGrant(ctx, g, &all); err != nil {
			all.Wipe()
			return secretstore.Opened{}, false, err
		}
	}
	return all, true, nil
}

// unchanged returns the revision of all that the bridge may have, and whether it is the given
// one.
func (s *Server) unchanged(ctx context.Context, b secretstore.Bridge, grants []sharing.Grant, revision string) (now string, same bool) {
	if revision == "" {
		return "", false
	}
	listing, err := s.store.List(ctx, b)
	now = sharing.Revision(listing.Revision, grants)
	return now, err == nil && now == revision
}

// openGrant adds the secrets of a SharedServer that were set for its present origin.
func (s *Server) openGrant(ctx context.Context, g sharing.Grant, all *secretstore.Opened) error {
	listing, err := s.listGranted(ctx, g)
	if err != nil || len(listing.Entries) == 0 {
		return err
	}
	opened, err := s.store.Open(ctx, g.Owner)
	if err != nil {
		return err
	}
	for _, e := range listing.Entries {
		if g.Has(e) && slices.Contains(opened.Unreadable, e.Name) {
			all.Unreadable = append(all.Unreadable, g.Held(e.Name))
		}
	}
	for name, value := range opened.Values {
		if e, found := listing.Find(name); found && g.Has(e) {
			all.Values[g.Held(name)] = value
			continue
		}
		clear(value)
	}
	slices.Sort(all.Unreadable)
	return nil
}

// sharedEntry is what the ingress sees of a secret of a SharedServer.
type sharedEntry struct {
	entry

	// Origin is where the secret may be sent. Usable means that it is the present one.
	Origin string `json:"origin"`
	Usable bool   `json:"usable"`
}

func newSharedEntry(e secretstore.Entry, g sharing.Grant) sharedEntry {
	return sharedEntry{entry: newEntry(e), Origin: e.Origin, Usable: g.Has(e)}
}

// listShared lists the secrets of a SharedServer for the ingress.
func (s *Server) listShared(ctx context.Context, c *call) (answer, error) {
	g, err := s.sharedTarget(ctx, c)
	if err != nil {
		return answer{}, err
	}
	listing, err := s.store.List(ctx, c.bridge)
	if err != nil {
		return answer{}, fmt.Errorf("list secrets: %w", err)
	}
	list := struct {
		Secrets []sharedEntry `json:"secrets"`
		Missing []string      `json:"missing"`
		Origin  string        `json:"origin"`
	}{[]sharedEntry{}, []string{}, g.Origin}
	for _, e := range listing.Entries {
		list.Secrets = append(list.Secrets, newSharedEntry(e, g))
	}
	for _, name := range g.Secrets {
		if e, found := listing.Find(name); !found || !g.Has(e) {
			list.Missing = append(list.Missing, name)
		}
	}
	return asJSON(http.StatusOK, list)
}

// setShared stores the body as a secret of the SharedServer in the path, for the origin that
// its server has now. It is one write, whoever is a member.
func (s *Server) setShared(ctx context.Context, c *call) (answer, error) {
	defer clear(c.body)
	g, err := s.sharedTarget(ctx, c)
	if err != nil {
		return answer{}, err
	}
	switch {
	case !slices.Contains(g.Secrets, c.secret):
		return answer{}, errNotShared.Saying("spec.secrets of the SharedServer has " + strings.Join(g.Secrets, ", ") + ".")
	case len(c.body) == 0:
		return answer{}, errSharedEmpty
	case g.Origin == "":
		return answer{}, errBridgeNotFound
	}
	created := false
	listing, err := s.store.Update(ctx, c.bridge, func(_ context.Context, current secretstore.Listing, _ func(string) ([]byte, error)) ([]secretstore.Change, error) {
		_, found := current.Find(c.secret)
		if created = !found; created && len(current.Entries) >= maxSharedSecrets {
			return nil, errSharedLimit
		}
		return []secretstore.Change{{Name: c.secret, Value: c.body, Origin: g.Origin}}, nil
	})
	if err != nil {
		return answer{}, fmt.Errorf("set shared secret: %w", err)
	}
	s.metrics.sealed.WithLabelValues(byOwner).Inc()
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	stored, _ := listing.Find(c.secret)
	return asJSON(status, newSharedEntry(stored, g))
}

// removeShared removes a secret of the SharedServer in the path.
func (s *Server) removeShared(ctx context.Context, c *call) (answer, error) {
	if _, err := s.sharedTarget(ctx, c); err != nil {
		return answer{}, err
	}
	_, err := s.store.Update(ctx, c.bridge, func(_ context.Context, current secretstore.Listing, _ func(string) ([]byte, error)) ([]secretstore.Change, error) {
		if _, found := current.Find(c.secret); !found {
			return nil, errSecretNotFound
		}
		return []secretstore.Change{{Name: c.secret, Delete: true}}, nil
	})
	if err != nil {
		return answer{}, fmt.Errorf("remove shared secret: %w", err)
	}
	return answer{status: http.StatusNoContent}, nil
}

// sharedTarget finds the SharedServer, and the name of the secret, in the path. The UID must
// be that of the present one: the ingress may know an earlier one, with other owners.
func (s *Server) sharedTarget(ctx context.Context, c *call) (sharing.Grant, error) {
	r, namespace := c.request, s.callers.namespace
	name := r.PathValue("name")
	if len(validation.IsDNS1123Label(name)) > 0 {
		return sharing.Grant{}, errName
	}
	if secret := r.PathValue("secret"); secret != "" {
		if !v1alpha1.ValidSecretName(secret) {
			return sharing.Grant{}, errName
		}
		c.secret = secret
	}
	server, err := s.callers.cluster.SharedServer(ctx, namespace, name)
	if err != nil {
		return sharing.Grant{}, absent(err, errSharedNotFound, secretstore.SharedKind, namespace, name)
	}
	if server.UID != types.UID(r.PathValue("uid")) || server.DeletionTimestamp != nil {
		return sharing.Grant{}, fmt.Errorf("%w: SharedServer %s has another UID or is being deleted", errSharedNotFound, name)
	}
	g := sharing.Of(server)
	c.bridge = g.Owner
	return g, nil
}

var _ sharing.Reader = ownNamespace{}
