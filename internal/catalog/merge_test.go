// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

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
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWhatReadersGet compares an item with the files in testdata.
func TestWhatReadersGet(t *testing.T) {
	plain := accepted(valid("plain"), 1)
	everything := accepted(full(t), 2)
	everything.Name, everything.Owner = "everything", "acme"
	everything.Quality = &Overlay{
		Verified: new(true), VerifiedAt: new(start), VerifiedBy: "Ada", Badge: "gold", UpstreamHash: "sha512-x",
		AuditedVersion: "text", RecipeDigest: everything.digest(), Score: new(0), Notes: "Works.",
	}
	everything.Deprecated = &Deprecation{Since: start, Reason: "Old.", ReplacedBy: "plain"}
	everything.Revision = revision(&v1alpha1.CatalogRecipe{}, everything)
	for _, e := range []Entry{plain, everything} {
		i := NewItem(e)
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
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-update writes it): %s", file, diff)
	}
}

// TestAnOverlayHidesNothingOfTheAuthors is that no member of the overlay or of
// the catalog has the name of one of a recipe's.
func TestAnOverlayHidesNothingOfTheAuthors(t *testing.T) {
	names := map[string]bool{}
	for _, kind := range []reflect.Type{reflect.TypeFor[recipe.Recipe](), reflect.TypeFor[Overlay](), reflect.TypeFor[View]()} {
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
	published := func(change ...func(*Entry)) Entry {
		e := accepted(valid("notes"), 5)
		e.Owner = "acme"
		e.Quality = &Overlay{Verified: new(true), AuditedVersion: "1.2.3", RecipeDigest: e.digest(), Score: new(80)}
		for _, c := range change {
			c(&e)
		}
		return e
	}
	unnamed := func(verifiedAt *time.Time) func(*Entry) {
		return func(e *Entry) { e.Quality.RecipeDigest, e.Quality.VerifiedAt = "", verifiedAt }
	}
	tests := map[string]struct {
		entry    Entry
		outdated bool
	}{
		"the version that was checked": {published(), false},
		"another package": {published(func(e *Entry) {
			r := e.Recipe
			r.RecipeVersion, r.Transports, r.Install = "1.1.0", []recipe.Transport{remote("https://example.com")}, nil
			next := accepted(r, 6)
			e.Recipe, e.Versions = r, append(next.Versions, e.Versions...)
		}), true},
		"another version of the package":                    {published(func(e *Entry) { e.Quality.AuditedVersion = "1.0.0" }), true},
		"no digest, and checked before it was accepted":     {published(unnamed(new(start.Add(5*time.Minute - time.Second)))), true},
		"no digest, and checked when it was accepted":       {published(unnamed(new(start.Add(5 * time.Minute)))), false},
		"neither a digest nor a time":                       {published(unnamed(nil)), true},
		"neither, in one file with the recipe":              {published(unnamed(nil), func(e *Entry) { e.Owner = "" }), false},
		"another owner":                                     {published(func(e *Entry) { e.Owner = "beta" }), false},
		"notes of the version before":                       {published(func(e *Entry) { e.Quality.Verified, e.Quality.RecipeDigest = nil, Digest("else") }), true},
		"notes of nobody knows which":                       {published(unnamed(nil), func(e *Entry) { e.Quality.Verified = nil }), false},
		"one that waits, and the digest of what is written": {published(func(e *Entry) { e.Versions, e.Accepted = nil, false }), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := Merge(tt.entry)
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
			r.Transports = append(r.Transports, remote("https://x"))
		}, true},
		"a remote without TLS":     {func(r *recipe.Recipe) { r.Transports = []recipe.Transport{remote("http://x")} }, false},
		"a program out of nowhere": {func(r *recipe.Recipe) { r.Install = nil }, false},
		"a remote without TLS of the user's own": {func(r *recipe.Recipe) {
			r.Transports, r.Metadata.SelfHosted = []recipe.Transport{remote("http://notes.tools.svc/mcp")}, true
		}, true},
		"a remote on the user's machine": {func(r *recipe.Recipe) {
			r.Transports, r.Metadata.SelfHosted = []recipe.Transport{remote("http://127.0.0.1:3000/mcp"), remote("https://localhost/mcp"), remote("http://[::]/")}, true
		}, false},
		"a remote at a variable": {func(r *recipe.Recipe) { r.Transports = []recipe.Transport{remote("https://${NOTES_HOST}/mcp")} }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := valid("notes")
			tt.change(&r)
			if HostedSafe(r) != tt.want {
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
		r := valid(id)
		r.Description = description
		e := accepted(r, 1)
		e.Quality = &Overlay{Verified: &verified, VerifiedAt: new(time.Unix(at%4e9, 0).UTC()), Badge: badge, Notes: notes, Score: &score}
		var got struct {
			Description string
			Badge       string
			Score       *int
			Recipe      json.RawMessage
			Quality     Overlay
		}
		i := NewItem(e)
		if err := json.Unmarshal(i.JSON, &got); err != nil {
			t.Fatalf("%v: %s", err, i.JSON)
		}
		if !bytes.Equal(got.Recipe, i.Download) || !bytes.Equal(encode(got.Quality), encode(*e.Quality)) {
			t.Errorf("apart: %s", i.JSON)
		}
		if !bytes.Equal(encode(got.Description), encode(description)) || !bytes.Equal(encode(got.Badge), encode(badge)) || *got.Score != score {
			t.Errorf("together: %s", i.JSON)
		}
		if back := overlayOf(OverlayObject(*e.Quality)); *back.Verified != verified || back.Notes != notes || *back.Score != min(max(score, 0), maxScore) || !back.VerifiedAt.Equal(*e.Quality.VerifiedAt) {
			t.Errorf("from the API: %+v", back)
		}
	})
}
