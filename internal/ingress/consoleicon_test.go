// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// iconOf returns an icon whose first pixel is of that grey, and its bytes.
func iconOf(t *testing.T, grey byte) (icon string, content []byte) {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 64, 64))
	m.Pix[0] = grey
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), b.Bytes()
}

var tileOfPage = regexp.MustCompile(`<img class="tile" src="(/icons/wiki/[0-9a-f]{16}\.png)" alt=""`)

func TestServersHaveTheIconOfTheirRecipeOrALetter(t *testing.T) {
	icon, content := iconOf(t, 1)
	older, olderContent := iconOf(t, 2)
	withIcon := func(icon string) recipe.Recipe { return recipe.Recipe{Metadata: recipe.Metadata{Icon: icon}} }
	entry := &catalog.Entry{Name: "wiki", Recipe: withIcon(icon), Versions: []catalog.Version{{Recipe: withIcon(icon)}, {Recipe: withIcon(older)}}}
	w := newConsoleWorld(t, func(o *console.Options) {
		o.Recipe = func(name string) *catalog.Entry {
			if name == "wiki" {
				return entry
			}
			return nil
		}
	})
	pages := []string{"/", "/catalog", "/servers/search"}
	v := w.logged(w.alice)
	for _, page := range pages {
		if got := v.open(page); !regexp.MustCompile(`<span class="tile hue[0-7]" aria-hidden="true">S</span>`).MatchString(got.body) || strings.Contains(got.body, "/icons/") {
			t.Errorf("%s has no letter: %s", page, got.body)
		}
	}
	path := ""
	for of, want := range map[string][]byte{icon: content, older: olderContent} {
		w.self.become(selfservice.Server{Name: "search", Recipe: "wiki", Icon: of, State: health.Healthy, Tools: 3})
		for _, page := range pages {
			got := v.open(page)
			found := tileOfPage.FindStringSubmatch(got.body)
			if found == nil {
				t.Fatalf("%s has no icon: %s", page, got.body)
			}
			path = found[1]
			checkScript(t, page, got)
		}
		got := w.visitor().open(path) // The picture needs no session.
		if got.status != http.StatusOK || got.body != string(want) {
			t.Errorf("%s: %d, %d bytes, want %d", path, got.status, len(got.body), len(want))
		}
		for header, want := range map[string]string{
			"Content-Type": "image/png", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'; sandbox",
		} {
			if got.header.Get(header) != want {
				t.Errorf("%s: %s is %q, want %q", path, header, got.header.Get(header), want)
			}
		}
	}
	for _, other := range []string{"/icons/wiki/0123456789abcdef.png", strings.Replace(path, "wiki", "other", 1), strings.Replace(path, ".png", ".svg", 1)} {
		if got := w.visitor().open(other); got.status != http.StatusNotFound || strings.Contains(got.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", other, got.status, got.header)
		}
	}
}

func TestAdministratorsSeeTheIconsOfRecipes(t *testing.T) {
	icon, _ := iconOf(t, 1)
	w := newAdminWorld(t)
	for i := range w.recipes.entries {
		if e := &w.recipes.entries[i]; e.Name == "wiki" {
			e.Recipe.Metadata.Icon = icon
		}
	}
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) { b.Status.ServerStates[0].From = "wiki" })
	v := w.administrator()
	for _, page := range []string{"/console", "/console/people/alice", "/console/catalog"} {
		if got := v.open(page); !tileOfPage.MatchString(got.body) {
			t.Errorf("%s has no icon: %s", page, got.body)
		}
	}
	if got := v.open("/console/catalog"); !strings.Contains(got.body, `aria-hidden="true">M</span>`) {
		t.Errorf("a recipe without an icon has no letter: %s", got.body)
	}
}
