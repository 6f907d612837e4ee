// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var errNotThere = fs.ErrNotExist

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// outline returns what a report says, one line each.
func outline(r catalog.SeedReport) []string {
	var lines []string
	for _, c := range r.Changes {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s", c.Kind, c.Name, c.Reason)))
	}
	for _, b := range r.Broken {
		var codes []string
		for _, p := range b.Problems {
			codes = append(codes, p.Field+" "+string(p.Code))
		}
		slices.Sort(codes)
		lines = append(lines, fmt.Sprintf("broken %s of %s: %s", b.File, b.Name, strings.Join(codes, ", ")))
	}
	return lines
}

func expectOutline(t *testing.T, r catalog.SeedReport, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, outline(r), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// library is a source with all that there can be, and a catalog that differs.
func library() (map[string]string, *memoryStore) {
	deprecated := seeded(valid("back"))
	deprecated.Deprecated = &catalog.Deprecation{Reason: catalog.ReasonVanished}
	store := newMemoryStore(
		seeded(valid("same")), seeded(valid("changed")), seeded(valid("older")), seeded(valid("vanished")), seeded(valid("broken")),
		ofOwner(valid("foreign"), "acme"), ofOwner(valid("applied"), ""), ofOwner(valid("theirs"), "acme"), seeded(valid("renamed")), deprecated,
	)
	return map[string]string{
		"new/recipe.json":     text("new"),
		"same.json":           text("same"),
		"changed/recipe.json": text("changed", described("Else", "1.1.0")),
		"older/recipe.json":   text("older", described("Else", "1.0.0")),
		"foreign.json":        text("foreign", described("Else", "1.1.0")),
		"applied.json":        text("applied", described("Else", "1.1.0")),
		"broken.json":         `{"schemaVersion":2,"id":"broken","name":"b","description":"d","repository":"https://x.example","recipeVersion":"2.0.0","tokne":1,"transports":[{"type":"stdio","command":"bash"}],"install":{"method":"npx","package":"p","version":"latest"}}`,
		"garbled.json":        `{`,
		"another.json":        text("renamed"),
		"twice/recipe.json":   text("twice"), "twice.json": text("twice"), "twice/server.json": text("twice"),
		"back.json":     text("back"),
		"registry.json": `{"name":"io.example/notes","description":"d","version":"1.0.0","remotes":[{"type":"streamable-http","url":"https://x.example/mcp"}]}`,
		"first.json":    `{"id":"first","name":"First","description":"d","transport":"stdio","command":"npx","args":["-y","@example/first@1.2.3"],"homepage":"https://x.example"}`,
	}, store
}

func TestASeedBringsTheCatalogInLine(t *testing.T) {
	files, store := library()
	s, _, _ := testSeeder(t, files, store)
	r := must.Value(s.Seed(t.Context(), false))(t)
	const foreign = "the name belongs to somebody else than the seeder"
	expectOutline(t, r,
		"none applied: "+foreign, "update back: the recipe is in the catalog's source again", "update changed:", "create first:", "none foreign: "+foreign,
		"create new:", "create notes:", "deprecate vanished: "+catalog.ReasonVanished,
		"broken another.json of another: id name_mismatch",
		"broken broken.json of broken: install.version unpinned, tokne unknown_field, transports[0].command shell",
		"broken garbled.json of garbled:  syntax",
		"broken older/recipe.json of older: recipeVersion version_not_newer",
		"broken twice.json of twice: id name_mismatch",
		"broken twice/recipe.json of twice: id name_mismatch",
		"broken twice/server.json of twice: id name_mismatch",
	)
	want := map[catalog.ChangeKind]int{catalog.Create: 3, catalog.Update: 2, catalog.Deprecate: 1, catalog.None: 3}
	if diff := cmp.Diff(want, r.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if r.Source != "memory:" || r.DryRun {
		t.Errorf("%+v", r)
	}
	if len(store.applied) != 1 || len(store.applied[0]) != 6 {
		t.Fatalf("%d writes, want one of 6 recipes", len(store.applied))
	}
	again, err := s.Seed(t.Context(), false)
	if err != nil || len(store.applied) != 1 {
		t.Errorf("the second run writes %v, %v", store.applied[1:], err)
	}
	if diff := cmp.Diff(map[catalog.ChangeKind]int{catalog.None: 8}, again.Counts); diff != "" {
		t.Errorf("counts of the second run (-want +got):\n%s", diff)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	files, store := library()
	s, _, _ := testSeeder(t, files, store)
	before := store.Current()
	dry, err := s.Seed(t.Context(), true)
	if err != nil || !dry.DryRun || store.Current() != before {
		t.Fatalf("%v, %+v", err, dry)
	}
	wet := must.Value(s.Seed(t.Context(), false))(t)
	if diff := cmp.Diff(outline(wet), outline(dry)); diff != "" {
		t.Errorf("what was done is not what was said (-done +said):\n%s", diff)
	}
}

func TestASourceThatIsNotThereChangesNothing(t *testing.T) {
	for name, source := range map[string]memorySource{
		"empty": {}, "with other files alone": {files: map[string]string{"README.md": "x", "docs/x.md": "x"}},
		"that cannot be read": {err: errors.New("the disk is gone")},
	} {
		t.Run(name, func(t *testing.T) {
			store := newMemoryStore(seeded(valid("same")))
			s, at, _ := testSeeder(t, nil, store)
			*at = source
			r, err := s.Seed(t.Context(), false)
			if err == nil || len(store.applied) > 0 || len(r.Changes) > 0 || r.Source != "memory:" {
				t.Errorf("%v, %v, %v", err, store.applied, r)
			}
		})
	}
	store := newMemoryStore(seeded(valid("kept")))
	s, _, _ := testSeeder(t, map[string]string{"garbled.json": "{", "kept.json": "["}, store)
	if r, err := s.Seed(t.Context(), false); err != nil || len(store.applied) > 0 || len(r.Broken) != 2 {
		t.Errorf("a source of broken recipes alone: %v, %v, %v", err, store.applied, r)
	}
}

func TestASeedWaitsForTheCatalogAndForASource(t *testing.T) {
	store := newMemoryStore()
	store.synced = false
	s, _, _ := testSeeder(t, map[string]string{"new.json": text("new")}, store)
	if _, err := s.Seed(t.Context(), false); !errors.Is(err, errNotSynced) || len(store.applied) > 0 {
		t.Errorf("%v, %v", err, store.applied)
	}
	none := New(nil, newMemoryStore(), clocktest.New(0), discard())
	if _, err := none.Seed(t.Context(), false); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if err := none.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotWrittenIsReported(t *testing.T) {
	away := errors.New("the API server is away")
	files := map[string]string{
		"fine.json": text("fine"), "refused.json": text("refused"), "held.json": text("held", described("Else", "1.1.0")), "taken.json": text("taken"),
	}
	newStore := func(failing error) *memoryStore {
		store := newMemoryStore(seeded(valid("held")))
		store.fail = func(c catalog.Change) error {
			return map[string]error{
				"refused": &catalog.InvalidError{Problems: []catalog.Problem{{Field: "name", Code: catalog.CodeInvalid, Message: "too long"}}},
				"held":    &catalog.ManagedError{By: []string{"kubectl"}}, "taken": catalog.ErrNotOwner, "fine": failing,
			}[c.Name]
		}
		return store
	}
	want := []string{
		"none held: what would be written is held by the field managers kubectl", "none refused: the API server does not take it",
		"none taken: " + catalog.ErrNotOwner.Error(), "broken refused.json of refused: name invalid",
	}
	s, _, _ := testSeeder(t, files, newStore(nil))
	r, err := s.Seed(t.Context(), false)
	if err != nil {
		t.Error(err)
	}
	expectOutline(t, r, append([]string{"create fine:"}, want...)...)

	s, _, _ = testSeeder(t, files, newStore(away))
	r, err = s.Seed(t.Context(), false)
	if !errors.Is(err, away) || strings.Contains(err.Error(), "kubectl") {
		t.Error(err)
	}
	expectOutline(t, r, append([]string{"none fine: " + away.Error()}, want...)...)
}

func TestASeedThatIsOvertakenLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		s, _, _ := testSeeder(t, map[string]string{"new.json": text("new"), "other.json": text("other")}, store)
		// Another replica writes one of them, and a publisher takes the other.
		store.fail = func(c catalog.Change) error {
			if c.Name == "new" {
				go store.put(seeded(valid("new")))
				return catalog.ErrChanged
			}
			go store.put(ofOwner(valid("other"), "acme"))
			return catalog.ErrExists
		}
		r, err := s.Seed(t.Context(), false)
		if err != nil || len(store.applied) != 1 {
			t.Errorf("%v, %v", err, store.applied)
		}
		expectOutline(t, r, "none other: the name belongs to somebody else than the seeder")

		// One that always is gives up, after some time.
		store = newMemoryStore()
		store.fail = func(catalog.Change) error { return catalog.ErrChanged }
		s, _, _ = testSeeder(t, map[string]string{"new.json": text("new")}, store)
		if _, err := s.Seed(t.Context(), false); !errors.Is(err, catalog.ErrChanged) || len(store.applied) != tries {
			t.Errorf("%v after %d tries, want %d", err, len(store.applied), tries)
		}
	})
}

func TestOneSeedRunsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		s, _, _ := testSeeder(t, map[string]string{"new.json": text("new")}, store)
		hold := make(chan struct{})
		store.before = func() { <-hold }
		done := make(chan error)
		for range 3 {
			go func() {
				_, err := s.Seed(t.Context(), false)
				done <- err
			}()
		}
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Seed(impatient, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a run beside another: %v", err)
		}
		close(hold)
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if len(store.applied) != 1 {
			t.Errorf("%d runs write, want one", len(store.applied))
		}
	})
}

func TestSignedRecipesAreKeptAsTheirAuthorsWroteThem(t *testing.T) {
	private := ed25519.NewKeyFromSeed(slices.Repeat([]byte{7}, ed25519.SeedSize))
	public := base64.StdEncoding.EncodeToString(private.Public().(ed25519.PublicKey))
	// A member that is false is part of what was signed, and not of a recipe as
	// the program writes it.
	doc, err := jsondoc.Parse([]byte(strings.Replace(text("notes"), `"id"`, `"multiInstance":false,"id"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = recipe.Sign(doc, private, "acme", clocktest.Start); err != nil {
		t.Fatal(err)
	}
	written, _ := doc.MarshalJSON()
	files := map[string]string{"notes.json": string(written), "plain.json": text("plain")}

	store := newMemoryStore()
	s, _, _ := testSeeder(t, files, store)
	r := must.Value(s.Seed(t.Context(), false))(t)
	expectOutline(t, r, "create plain:", "broken notes.json of notes: signature signature_unknown_key")

	store = newMemoryStore()
	store.publishers = map[string]catalog.Publisher{"acme": {ID: "acme", PublicKeys: []string{public}}}
	s, _, _ = testSeeder(t, files, store)
	if r, err = s.Seed(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	expectOutline(t, r, "create notes:", "create plain:")
	sources := map[string]string{}
	for _, c := range store.applied[0] {
		sources[c.Name] = c.Source
	}
	if diff := cmp.Diff(map[string]string{"notes": string(written), "plain": ""}, sources); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
