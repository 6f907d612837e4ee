// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package recipestore

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestTheCatalogStaysWhileTheAPIServerIsAway(t *testing.T) {
	plane := testenv.StartControlPlane(t)
	const namespace = "catalog"
	c := plane.Client()
	must.Succeed(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	f := startIn(t, plane.Config(), namespace)
	f.api = c
	ctx := t.Context()
	_, key := must.Values(f.CreatePublisher(ctx, catalog.Publisher{ID: "acme"}, nil))(t)
	f.create(draft("acme", valid("notes")))
	f.judge("notes")
	f.await("the recipe and the key", func() bool { return f.Current().Len() == 1 && f.opens(key, "acme")() })

	plane.Stop()
	brief, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := f.UpdateRecipe(brief, put(draft("acme", valid("notes")), catalog.AnyRevision, false)); err == nil {
		t.Error("a write succeeded")
	}
	if _, served := f.Current().Get("notes"); !served || !f.opens(key, "acme")() || !f.Synced() {
		t.Error("the catalog went with the API server")
	}

	plane.Start()
	wait.Until(t, "a write succeeds", func() bool {
		return f.RetireRecipe(ctx, "notes", "acme", catalog.AnyRevision, false) == nil
	})
	f.create(draft("acme", valid("other")))
	f.await("what changed since", func() bool {
		_, left := f.Current().Get("notes")
		_, there := f.Current().Entry("other")
		return there && !left
	})
}

// TestTheDatabaseHasNoKey looks at all files of etcd.
func TestTheDatabaseHasNoKey(t *testing.T) {
	plane := testenv.StartControlPlane(t)
	f := startIn(t, plane.Config(), "default")
	const marker = "TheDisplayNameOfAcme"
	_, first := must.Values(f.CreatePublisher(t.Context(), catalog.Publisher{ID: "acme", DisplayName: marker}, nil))(t)
	_, id, second, err := f.AddPublisherKey(t.Context(), "acme", nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{marker: true, id: true, apikey.HashOf(second).String(): true, secretOf(first): false, secretOf(second): false} {
		if got := holds(t, plane.Data(), text); got != want {
			t.Errorf("the database has a text: %t, want %t", got, want)
		}
	}
}

// secretOf returns the part of a key that is not public.
func secretOf(key string) string { return key[strings.LastIndex(key, "_")+1:] }

// holds reports whether a file below the folder has the text.
func holds(t *testing.T, folder, text string) bool {
	t.Helper()
	found := false
	must.Succeed(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(text))
		return err
	}))
	return found
}
