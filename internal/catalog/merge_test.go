// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWhatReadersGet compares an item with the files in testdata.
func TestWhatReadersGet(t *testing.T) {
	plain := catalogtest.Accepted(catalogtest.Recipe("plain"), 1)
	everything := catalogtest.Accepted(full(t), 2)
	everything.Name, everything.Owner = "everything", "acme"
	everything.Quality = &catalog.Overlay{
		Verified: new(true), VerifiedAt: new(catalogtest.Start), VerifiedBy: "Ada", Badge: "gold", UpstreamHash: "sha512-x",
		AuditedVersion: "text", RecipeDigest: everything.RecipeDigest(), Score: new(0), Notes: "Works.",
	}
	everything.Deprecated = &catalog.Deprecation{Since: catalogtest.Start, Reason: "Old.", ReplacedBy: "plain"}
	everything.Revision = catalog.RevisionOf(&v1alpha1.CatalogRecipe{}, everything)
	for _, e := range []catalog.Entry{plain, everything} {
		i := search.NewItem(e)
		for kind, got := range map[string][]byte{"view": i.JSON, "summary": i.Summary, "download": i.Download} {
			golden(t, e.Name+"."+kind+".json", got)
		}
		if i.ETag != `"`+e.Revision+`"` {
			t.Errorf("ETag %s of revision %s", i.ETag, e.Revision)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, json.Indent(&b, got, "", "  "))
	b.WriteByte('\n')
	file := filepath.Join("testdata", name)
	if *update {
		must.Succeed(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	want := must.Value(os.ReadFile(file))(t)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-update writes it): %s", file, diff)
	}
}

// TestAnOverlayHidesNothingOfTheAuthors is that no member of the overlay or of
// the catalog has the name of one of a recipe's.
func TestAnOverlayHidesNothingOfTheAuthors(t *testing.T) {
	names := map[string]bool{}
	for _, kind := range []reflect.Type{reflect.TypeFor[recipe.Recipe](), reflect.TypeFor[catalog.Overlay](), reflect.TypeFor[catalog.View]()} {
		for f := range kind.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && names[name] {
				t.Errorf("%s stands twice in a view", name)
			}
			names[name] = true
		}
	}
}

func TestMergeDoesNotVouchForAnotherVersion(t *testing.T) {
	published := func(change ...func(*catalog.Entry)) catalog.Entry {
		e := catalogtest.Accepted(catalogtest.Recipe("notes"), 5)
		e.Owner = "acme"
		e.Quality = &catalog.Overlay{Verified: new(true), AuditedVersion: "1.2.3", RecipeDigest: e.RecipeDigest(), Score: new(80)}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	unnamed := func(verifiedAt *time.Time) func(*catalog.Entry) {
		return func(e *catalog.Entry) { e.Quality.RecipeDigest, e.Quality.VerifiedAt = "", verifiedAt }
	}
	tests := map[string]struct {
		entry    catalog.Entry
		outdated bool
	}{
		"the version that was checked": {published(), false},
		"another package": {published(func(e *catalog.Entry) {
			r := e.Recipe
			r.RecipeVersion, r.Transports, r.Install = "1.1.0", []recipe.Transport{catalogtest.Remote("https://example.com")}, nil
			next := catalogtest.Accepted(r, 6)
			e.Recipe, e.Versions = r, append(next.Versions, e.Versions...)
		}), true},
		"another version of the package":                    {published(func(e *catalog.Entry) { e.Quality.AuditedVersion = "1.0.0" }), true},
		"no digest, and checked before it was accepted":     {published(unnamed(new(catalogtest.Start.Add(5*time.Minute - time.Second)))), true},
		"no digest, and checked when it was accepted":       {published(unnamed(new(catalogtest.Start.Add(5 * time.Minute)))), false},
		"neither a digest nor a time":                       {published(unnamed(nil)), true},
		"neither, in one file with the recipe":              {published(unnamed(nil), func(e *catalog.Entry) { e.Owner = "" }), false},
		"another owner":                                     {published(func(e *catalog.Entry) { e.Owner = "beta" }), false},
		"notes of the version before":                       {published(func(e *catalog.Entry) { e.Quality.Verified, e.Quality.RecipeDigest = nil, catalog.Digest("else") }), true},
		"notes of nobody knows which":                       {published(unnamed(nil), func(e *catalog.Entry) { e.Quality.Verified = nil }), false},
		"one that waits, and the digest of what is written": {published(func(e *catalog.Entry) { e.Versions, e.Accepted = nil, false }), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := catalog.Merge(tt.entry)
			if v.Listing.AuditOutdated != tt.outdated || *v.Score != 80 {
				t.Errorf("%+v, %+v", v.Overlay, v.Listing)
			}
			said := tt.entry.Quality.Verified
			if v.Quality.Verified != said {
				t.Errorf("apart: %+v", v.Quality)
			}
			if said != nil && *v.Verified == tt.outdated {
				t.Errorf("verified: %v", *v.Verified)
			}
		})
	}
}

func TestHostedSafe(t *testing.T) {
	tests := map[string]struct {
		change func(*recipe.Recipe)
		want   bool
	}{
		"npx":                  {func(*recipe.Recipe) {}, true},
		"some tools are local": {func(r *recipe.Recipe) { r.LocalOnly.Tools = []string{"open"} }, true},
		"all is local":         {func(r *recipe.Recipe) { r.LocalOnly.All = true }, false},
		"a container":          {func(r *recipe.Recipe) { r.Install.Method = "docker" }, false},
		"a build with a remote beside": {func(r *recipe.Recipe) {
			r.Install.Method = "git"
			r.Transports = append(r.Transports, catalogtest.Remote("https://x"))
		}, true},
		"a remote without TLS":     {func(r *recipe.Recipe) { r.Transports = []recipe.Transport{catalogtest.Remote("http://x")} }, false},
		"a program out of nowhere": {func(r *recipe.Recipe) { r.Install = nil }, false},
		"a remote without TLS of the user's own": {func(r *recipe.Recipe) {
			r.Transports, r.Metadata.SelfHosted = []recipe.Transport{catalogtest.Remote("http://notes.tools.svc/mcp")}, true
		}, true},
		"a remote on the user's machine": {func(r *recipe.Recipe) {
			r.Transports, r.Metadata.SelfHosted = []recipe.Transport{catalogtest.Remote("http://127.0.0.1:3000/mcp"), catalogtest.Remote("https://localhost/mcp"), catalogtest.Remote("http://[::]/")}, true
		}, false},
		"a remote at a variable": {func(r *recipe.Recipe) {
			r.Transports = []recipe.Transport{catalogtest.Remote("https://${NOTES_HOST}/mcp")}
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := catalogtest.Recipe("notes")
			tt.change(&r)
			if catalog.HostedSafe(r) != tt.want {
				t.Errorf("not %v", tt.want)
			}
		})
	}
}

// FuzzMerge looks for a recipe or an overlay that readers get otherwise than it
// was written, together or apart.
func FuzzMerge(f *testing.F) {
	f.Add("notes", "Keeps notes", "gold", "\u2028<script>", 50, true, int64(1))
	f.Fuzz(func(t *testing.T, id, description, badge, notes string, score int, verified bool, at int64) {
		// The API server takes nothing else.
		for _, s := range []*string{&id, &description, &badge, &notes} {
			*s = strings.ToValidUTF8(*s, "")
		}
		r := catalogtest.Recipe(id)
		r.Description = description
		e := catalogtest.Accepted(r, 1)
		e.Quality = &catalog.Overlay{Verified: &verified, VerifiedAt: new(time.Unix(at%4e9, 0).UTC()), Badge: badge, Notes: notes, Score: &score}
		var got struct {
			Description string
			Badge       string
			Score       *int
			Recipe      json.RawMessage
			Quality     catalog.Overlay
		}
		i := search.NewItem(e)
		if err := json.Unmarshal(i.JSON, &got); err != nil {
			t.Fatalf("%v: %s", err, i.JSON)
		}
		if !bytes.Equal(got.Recipe, i.Download) || !bytes.Equal(mustJSON(got.Quality), mustJSON(*e.Quality)) {
			t.Errorf("apart: %s", i.JSON)
		}
		if !bytes.Equal(mustJSON(got.Description), mustJSON(description)) || !bytes.Equal(mustJSON(got.Badge), mustJSON(badge)) || *got.Score != score {
			t.Errorf("together: %s", i.JSON)
		}
		if back := catalog.OverlayOf(catalog.OverlayObject(*e.Quality)); *back.Verified != verified || back.Notes != notes || *back.Score != min(max(score, 0), catalog.MaxScore) || !back.VerifiedAt.Equal(*e.Quality.VerifiedAt) {
			t.Errorf("from the API: %+v", back)
		}
	})
}

// mustJSON returns v as JSON.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
