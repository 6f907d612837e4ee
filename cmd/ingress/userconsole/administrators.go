// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package userconsole

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/internal/authserver"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	catalogs "github.com/hostedbridge/hostedbridge/internal/catalog/recipestore"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/namespaces"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// AdministratorParts are what the administrators' console stands on, beside the users' one.
type AdministratorParts struct {
	Parts

	Users          *console.Console
	Administration *management.Administration
	Programs       *management.Programs
	// ProgramOf returns the package that bridges start for a recipe, nil for none.
	ProgramOf func(recipe.Recipe) *catalog.Program
	Catalog   *catalogs.Store
	Cluster   client.Client
	// Namespace is the installation's.
	Namespace string
	// Watched are the namespaces of bridges, and Tiers what they may have.
	Watched namespaces.Set
	Tiers   func() quota.Tiers
	// Health returns what the replica knows but for the versions of the master key, which
	// are those of the bridges, and the replicas, which the API server knows.
	Health  func(context.Context) admin.Health
	Bridges func(context.Context) ([]*effective.Bridge, error)
}

// OpenAdministrators returns the administrators' console.
func OpenAdministrators(p AdministratorParts) (*admin.Console, error) {
	made := admin.Options{
		Look: p.Users.Look(), Namespace: p.Namespace, People: p.Administration, Access: p.Administration, Keys: p.UserKeys, Trail: p.Administration, Requests: p.Requests,
		Catalog: knownCatalog{p.Catalog, p.ProgramOf}, Profiles: openProfiles(&p), Programs: p.Programs, Health: p.health, Log: p.Log,
		Sessions: session.NewKeeper(session.Options{
			Issuer: cmp.Or(p.BaseURL, "hosted-bridge"), Of: session.OfAdministrators, Longest: admin.Longest,
			Signer: p.Signer, Keys: p.Keys, Ends: p.Ends, Random: rand.Reader, Now: time.Now,
		}),
	}
	if p.Server != nil && p.Server.Administers() {
		made.Login = authserver.AdministratorsPath
	}
	return admin.New(made)
}

// healthTimeout bounds the questions of one page, which says then what did not answer.
const healthTimeout = 3 * time.Second

// processes are those with a Deployment that the ingress may read.
var processes = []string{"operator", "keybroker", "ingress"}

// replicas returns how many replicas of each process are ready.
func (p *AdministratorParts) replicas(ctx context.Context) ([]admin.Replicas, error) {
	var all []admin.Replicas
	for _, process := range processes {
		var d appsv1.Deployment
		if err := p.Cluster.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: "hosted-bridge-" + process}, &d); err != nil {
			return nil, fmt.Errorf("get the Deployment of the %s: %w", process, err)
		}
		all = append(all, admin.Replicas{Process: process, Ready: d.Status.ReadyReplicas, Wanted: ptr.Deref(d.Spec.Replicas, 1)})
	}
	return all, nil
}

// health returns what the replica knows of the installation.
func (p *AdministratorParts) health(ctx context.Context) admin.Health {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	h := p.Health(ctx)
	h.Replicas, h.ReplicasErr = p.replicas(ctx)
	bridges, err := p.Bridges(ctx)
	if err != nil {
		return h // What is not known is not shown.
	}
	h.KeyVersions = map[int32]int{}
	for _, b := range bridges {
		if v := b.Status.KeyVersion; v != nil {
			h.KeyVersions[*v]++
		}
	}
	return h
}

// knownCatalog is the catalog as it is in memory.
type knownCatalog struct {
	store     *catalogs.Store
	programOf func(recipe.Recipe) *catalog.Program
}

// Program implements admin.Catalog.
func (k knownCatalog) Program(r recipe.Recipe) *catalog.Program { return k.programOf(r) }

// Entries implements admin.Catalog.
func (k knownCatalog) Entries() ([]catalog.Entry, bool) {
	return k.store.Current().Entries(), k.store.Synced()
}

// Publishers implements admin.Catalog.
func (k knownCatalog) Publishers() []catalog.Publisher { return k.store.Publishers() }
