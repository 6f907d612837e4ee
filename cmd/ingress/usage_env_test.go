// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/audit/index"
	"github.com/hostedbridge/hostedbridge/internal/audit/trail"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/route/watch"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// namingBridge applies a bridge that names a recipe.
func namingBridge(t *testing.T, namespace string) *v1alpha1.HostedBridge {
	t.Helper()
	b := &v1alpha1.HostedBridge{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace},
		Spec: v1alpha1.HostedBridgeSpec{
			Tier: "pro", Servers: []v1alpha1.Server{{Name: "gh", Recipe: &v1alpha1.RecipeReference{Name: "recipe-of-" + namespace}}},
		},
	}
	testenv.ExpectApplied(t, testenv.Client(t), b)
	return b
}

func TestAnalyticsOfTheAdminSurface(t *testing.T) {
	t.Parallel()
	first, second := startTwo(t)
	b := namingBridge(t, first.namespace)
	type answer struct {
		Totals struct {
			Users               int
			Bridges             map[string]int
			Recipes, Publishers *int
		}
		Calls   *struct{ Total int }
		Recipes []struct {
			Recipe         string
			Bridges, Calls int
		}
		Scope string
	}
	var got answer
	first.await("the bridge's recipe", func() bool {
		got = answer{}
		if first.admin("GET", "analytics?top=100", "", &got) != http.StatusOK || got.Totals.Recipes == nil {
			return false
		}
		for _, r := range got.Recipes {
			if r.Recipe == b.Spec.Servers[0].Recipe.Name {
				return r.Bridges == 1 && r.Calls == 0
			}
		}
		return false
	})
	if got.Totals.Users < 1 || got.Totals.Bridges["Pending"] < 1 || got.Calls == nil || got.Calls.Total != 0 || got.Scope != "replica" {
		t.Errorf("%+v", got)
	}
	// The other has no index, and totals nevertheless.
	second.await("the totals", func() bool {
		got = answer{}
		return second.admin("GET", "analytics", "", &got) == http.StatusOK && got.Totals.Users >= 1
	})
	if got.Calls != nil || got.Recipes != nil {
		t.Errorf("%+v", got)
	}
}

// indexOfCalls runs an index that has so many calls of the bridge's server, of
// now.
func indexOfCalls(t *testing.T, b *v1alpha1.HostedBridge, calls int) *index.Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index")
	x := index.New(index.Later(func() (*index.Store, error) { return index.OpenSQLite(path) }), index.Config{
		Keep: func(string) time.Duration { return time.Hour }, Log: slog.New(slog.DiscardHandler),
	})
	head := audit.NewChain("w")
	for range calls {
		r := audit.Record{Prev: head.Hash, Entry: audit.Entry{
			ID: rand.Text(), Time: time.Now().Add(-time.Minute), UserID: string(b.User()), Principal: audit.Principal{Kind: audit.KindUserKey}, ReportedBy: audit.Bridge,
			Call: audit.Call{Server: b.Spec.Servers[0].Name, Tool: "t", Method: methods.CallTool, Status: audit.Success},
		}}
		if head.Append(nil, r.Entry) == nil {
			t.Fatal("the entry makes no line")
		}
		r.Head = head
		x.Follow([]audit.Record{r})
	}
	testenv.Run(t, x.Run)
	wait.Until(t, "the index is filled", func() bool {
		page, err := x.Search(t.Context(), audit.Query{Limit: calls})
		return err == nil && len(page.Entries) == calls
	})
	return x
}

// TestTheCatalogIsToldWhatIsPopular begins before anything is known of bridges.
func TestTheCatalogIsToldWhatIsPopular(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	b := namingBridge(t, testenv.Namespace(t, testenv.Client(t)))
	p := core{log: log, audit: &trail.Trail{Index: indexOfCalls(t, b, 3)}}
	var err error
	if p.routes, err = watch.New(testenv.Config(), nil, "hosted-bridge-system", bundling.Package, log); err != nil {
		t.Fatal(err)
	}
	if p.catalog, err = (&catalogOptions{}).open(testenv.Config(), b.Namespace, log); err != nil {
		t.Fatal(err)
	}
	told := p.catalog.Changed()
	testenv.Run(t, p.popularity().Run)
	testenv.Run(t, p.routes.Run)
	<-told
	if got := p.catalog.Current().Popularity(b.Spec.Servers[0].Recipe.Name); got != 103 {
		t.Errorf("its popularity is %d", got)
	}
}
