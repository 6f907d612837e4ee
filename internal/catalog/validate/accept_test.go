// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/catalog/validate"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// judge lets the catalog look at an object, minutes after the start, and writes
// what it says into its status.
func judge(o *v1alpha1.CatalogRecipe, minutes int, keys ...ed25519.PublicKey) validate.Verdict {
	texts := []string{"nonsense"}
	for _, k := range keys {
		texts = append(texts, recipe.FormatKey(k))
	}
	v := validate.Accept(o, map[string][]string{"acme": texts}, catalogtest.Start.Add(time.Duration(minutes)*time.Minute))
	c := metav1.Condition{Type: v1alpha1.ConditionRecipeAccepted, Status: metav1.ConditionFalse, Reason: v.Reason, Message: v.Message, ObservedGeneration: o.Generation}
	if v.Accepted {
		c.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&o.Status.Conditions, c)
	o.Status.Versions = v.Versions
	return v
}

func versions(o *v1alpha1.CatalogRecipe) []string {
	out := []string{}
	for _, v := range o.Status.Versions {
		out = append(out, v.Version)
	}
	return out
}

func TestAcceptKeepsTheNewestVersions(t *testing.T) {
	r := catalogtest.Recipe("notes")
	o := catalogtest.Object(r)
	for i := range 13 {
		r.RecipeVersion = fmt.Sprintf("1.%d.0", i)
		o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
		if v := judge(o, i); !v.Accepted {
			t.Fatal(v.Message)
		}
		if v := judge(o, i+1); !v.Accepted || !cmp.Equal(o.Status.Versions, v.Versions) {
			t.Errorf("looked at again, %s changes", r.RecipeVersion)
		}
	}
	want := []string{"1.12.0", "1.11.0", "1.10.0", "1.9.0", "1.8.0", "1.7.0", "1.6.0", "1.5.0", "1.4.0", "1.3.0"}
	if diff := cmp.Diff(want, versions(o)); diff != "" {
		t.Error(diff)
	}
	e := catalogtest.EntryOf(t, o)
	if e.Versions[2].Recipe.RecipeVersion != "1.10.0" || !e.Updated.Equal(catalogtest.Start.Add(12*time.Minute)) || !e.Created.Equal(catalogtest.Start) {
		t.Errorf("%+v", e)
	}
	if latest := o.Status.Versions[0]; latest.Digest != catalog.Digest(latest.Recipe) || latest.Recipe != catalog.SourceOf(r) {
		t.Errorf("%+v", latest)
	}
}

func TestAcceptKeepsFewerLongVersions(t *testing.T) {
	r := catalogtest.Recipe("notes")
	r.Install.ConfigFiles = []recipe.ConfigFile{{Name: "a", Content: strings.Repeat("a", 200<<10)}}
	o := catalogtest.Object(r)
	for i := range 5 {
		r.RecipeVersion = fmt.Sprintf("1.%d.0", i)
		o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
		judge(o, i)
	}
	if diff := cmp.Diff([]string{"1.4.0", "1.3.0", "1.2.0"}, versions(o)); diff != "" {
		t.Error(diff)
	}
}

func TestARecipeWithoutVersionsIsNamedByItsDigest(t *testing.T) {
	r := catalogtest.Recipe("notes")
	r.RecipeVersion = ""
	o := catalogtest.Object(r)
	judge(o, 1)
	first := versions(o)[0]
	r.Description = "Else"
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
	judge(o, 2)
	if got := versions(o); len(got) != 2 || got[1] != first || len(first) != 12 {
		t.Errorf("%q", got)
	}
	r.Description = "Does something"
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
	judge(o, 3)
	if got := versions(o); len(got) != 2 || got[0] != first {
		t.Errorf("after it came back: %q", got)
	}
}

func TestWhatIsServedIsWhatWasAccepted(t *testing.T) {
	r := catalogtest.Recipe("notes")
	o := catalogtest.Object(r)
	if e := catalogtest.EntryOf(t, o); e.Accepted || e.Recipe.ID != "notes" {
		t.Errorf("before it was looked at: %+v", e)
	}
	judge(o, 1)
	first := catalogtest.EntryOf(t, o)
	if !first.Accepted || first.Pending != nil || first.Refused != "" {
		t.Errorf("accepted: %+v", first)
	}

	bad := r
	bad.RecipeVersion, bad.Install = "2.0.0", nil
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: bad}
	o.Generation++
	if e := catalogtest.EntryOf(t, o); !e.Accepted || e.Recipe.RecipeVersion != "1.0.0" || e.Pending == nil || e.Matches(first.Revision) {
		t.Errorf("while another waits, of which who writes next must know: %+v", e)
	}
	if v := judge(o, 2); v.Accepted || v.Reason != v1alpha1.ReasonRecipeInvalid || !strings.Contains(v.Message, "install: is required") {
		t.Errorf("%+v", v)
	}
	if e := catalogtest.EntryOf(t, o); !e.Accepted || e.Recipe.RecipeVersion != "1.0.0" || !strings.Contains(e.Refused, "install: is required") {
		t.Errorf("while another is refused: %+v", e)
	}

	o.Spec.Quality = catalog.OverlayObject(catalog.Overlay{Score: new(5)})
	if e := catalogtest.EntryOf(t, o); e.Revision == first.Revision || *e.Quality.Score != 5 {
		t.Errorf("with an overlay: %+v", e)
	}
	o.Spec.Recipe = nil
	if v := judge(o, 3); v.Accepted || v.Reason != v1alpha1.ReasonRecipeMissing {
		t.Errorf("%+v", v)
	}
	if e := catalogtest.EntryOf(t, o); e.Accepted {
		t.Errorf("without a recipe: %+v", e)
	}
}

func TestASignedRecipeIsServedAsItWasSigned(t *testing.T) {
	public, private := catalogtest.Key(1)
	// A member that a recipe in the API leaves out, and an order of its own.
	doc, err := jsondoc.Parse([]byte(strings.Replace(catalog.SourceOf(catalogtest.Recipe("notes")), `"name"`, `"multiInstance":false,"metadata":{"selfHosted":false,"homepage":"https://x.example"},"name"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = recipe.Sign(doc, private, "acme", catalogtest.Start); err != nil {
		t.Fatal(err)
	}
	source := must.Value(doc.MarshalJSON())(t)
	r, _ := must.Values(catalog.ReadSource(string(source)))(t)
	o := catalogtest.Object(r)
	if v := judge(o, 1, public); v.Reason != v1alpha1.ReasonRecipeSignature {
		t.Errorf("without the source: %+v", v)
	}
	o.Spec.Source, o.Spec.Owner = string(source), "acme"
	if v := judge(o, 2, public); !v.Accepted {
		t.Fatal(v.Message)
	}
	i := search.NewItem(catalogtest.EntryOf(t, o))
	served, err := jsondoc.Parse(i.Download)
	if err != nil || recipe.Verify(served, public) != nil {
		t.Errorf("%v: %s", err, i.Download)
	}
	before := o.DeepCopy()
	if v := judge(o, 3); v.Accepted || v.Reason != v1alpha1.ReasonRecipeSignature || catalogtest.EntryOf(t, o).Accepted || !v.Versions[0].Withdrawn {
		t.Errorf("after the key was withdrawn: %+v", v)
	}
	if before.Status.Versions[0].Withdrawn || catalogtest.EntryOf(t, before).Revision == catalogtest.EntryOf(t, o).Revision {
		t.Error("what was there before is changed, or the revision is not")
	}
	o.Spec.Owner = "other"
	if v := judge(o, 4, public); v.Reason != v1alpha1.ReasonRecipeSignature {
		t.Errorf("of another owner: %+v", v)
	}
	o.Spec.Owner = "acme"
	o.Spec.Recipe.Description = "Else"
	if v := judge(o, 5, public); v.Reason != v1alpha1.ReasonRecipeSignature || !strings.Contains(v.Message, "spec.source") {
		t.Errorf("with another recipe beside it: %+v", v)
	}
	o.Spec.Recipe.Name = ""
	if v := judge(o, 5, public); !strings.Contains(v.Message, "spec.source") || !strings.Contains(v.Message, "name: must have") {
		t.Errorf("with another fault: %s", v.Message)
	}
	o.Spec.Source = "{"
	if v := judge(o, 6, public); v.Reason != v1alpha1.ReasonRecipeInvalid {
		t.Errorf("with a source that is none: %+v", v)
	}
}

// signedObject returns an object with what acme signed with the key of this seed.
func signedObject(t *testing.T, o *v1alpha1.CatalogRecipe, version string, seed byte, minutes int) {
	t.Helper()
	r := catalogtest.Recipe("notes")
	r.RecipeVersion = version
	r, doc := signed(t, r, seed, catalogtest.Start.Add(time.Duration(minutes)*time.Minute))
	source := must.Value(doc.MarshalJSON())(t)
	o.Spec.Recipe, o.Spec.Source = &v1alpha1.Recipe{Recipe: r}, string(source)
}

func TestAVersionIsWithdrawnWithTheKeyThatSignedIt(t *testing.T) {
	first, _ := catalogtest.Key(1)
	second, _ := catalogtest.Key(2)
	o := catalogtest.Object(catalogtest.Recipe("notes"))
	signedObject(t, o, "1.0.0", 1, 1)
	judge(o, 1, first, second)
	signedObject(t, o, "1.1.0", 2, 2)
	judge(o, 2, first, second)
	withdrawn := func() []bool {
		t.Helper()
		var all []bool
		for i, v := range catalogtest.EntryOf(t, o).Versions {
			if v.Withdrawn != o.Status.Versions[i].Withdrawn {
				t.Error("the entry says otherwise")
			}
			all = append(all, v.Withdrawn)
		}
		return all
	}
	if diff := cmp.Diff([]bool{false, false}, withdrawn()); diff != "" {
		t.Error(diff)
	}
	if v := judge(o, 3, second); !v.Accepted || !catalogtest.EntryOf(t, o).Accepted {
		t.Errorf("%+v", v)
	}
	if diff := cmp.Diff([]bool{false, true}, withdrawn()); diff != "" {
		t.Error("after the first key was withdrawn: " + diff)
	}

	// Neither an overlay nor a recipe that is refused brings one back.
	judge(o, 4, first)
	o.Spec.Quality = catalog.OverlayObject(catalog.Overlay{Score: new(5)})
	if diff := cmp.Diff([]bool{true, false}, withdrawn()); diff != "" || catalogtest.EntryOf(t, o).Accepted {
		t.Error("with an overlay: " + diff)
	}
	bad := catalogtest.Recipe("notes")
	o.Spec.Recipe, o.Spec.Source = &v1alpha1.Recipe{Recipe: bad}, ""
	if e := catalogtest.EntryOf(t, o); e.Accepted {
		t.Errorf("while another one waits: %+v", e)
	}
	if v := judge(o, 5, first); v.Accepted || catalogtest.EntryOf(t, o).Accepted {
		t.Errorf("while another one is refused: %+v", v)
	}
	o.Spec.Recipe = nil
	judge(o, 6)
	if diff := cmp.Diff([]bool{true, true}, withdrawn()); diff != "" {
		t.Error("without a recipe: " + diff)
	}
	judge(o, 7, first, second)
	if diff := cmp.Diff([]bool{false, false}, withdrawn()); diff != "" {
		t.Error("after the keys came back: " + diff)
	}
}

// TestSignersAreFoundHoweverTheyAreSpelled holds that a signature cannot be hidden
// from the withdrawal of its key.
func TestSignersAreFoundHoweverTheyAreSpelled(t *testing.T) {
	o := catalogtest.Object(catalogtest.Recipe("notes"))
	signedObject(t, o, "1.0.0", 1, 1)
	o.Spec.Source = strings.Replace(o.Spec.Source, `"signature"`, `"\u0073ignature"`, 1)
	public, _ := catalogtest.Key(1)
	if v := judge(o, 1, public); !v.Accepted || !strings.Contains(v.Versions[0].Recipe, `\u0073`) {
		t.Fatalf("%+v", v)
	}
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: catalogtest.Recipe("notes")}
	o.Status.Versions = append(o.Status.Versions, v1alpha1.RecipeVersion{Recipe: "{"}, v1alpha1.RecipeVersion{Recipe: `"signature"`})
	if diff := cmp.Diff([]string{"acme"}, validate.Signers(o)); diff != "" {
		t.Error(diff)
	}
	if v := judge(o, 2); !v.Versions[0].Withdrawn {
		t.Errorf("%+v", v)
	}
}

func TestNoVersionTakesThePlaceOfAnother(t *testing.T) {
	r := catalogtest.Recipe("notes")
	r.RecipeVersion = ""
	o := catalogtest.Object(r)
	judge(o, 1)
	first := o.Status.Versions[0]

	// Whoever pinned the digits would get this.
	r.RecipeVersion, r.Description = first.Version, "Else"
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
	if v := judge(o, 2); v.Accepted || !cmp.Equal([]v1alpha1.RecipeVersion{first}, v.Versions) || !strings.Contains(v.Message, "recipeVersion") {
		t.Errorf("the digits of a digest as a version: %+v", v)
	}

	// Twelve digits of two contents can be the same, with some patience.
	r.RecipeVersion = ""
	o.Spec.Recipe = &v1alpha1.Recipe{Recipe: r}
	other := catalogtest.Recipe("notes")
	other.Description = "Another"
	colliding := first
	colliding.Version = catalog.VersionOf(r, catalog.Digest(catalog.SourceOf(r)))
	colliding.Recipe, colliding.Digest = catalog.SourceOf(other), catalog.Digest(catalog.SourceOf(other))
	o.Status.Versions = []v1alpha1.RecipeVersion{first, colliding}
	if v := judge(o, 3); v.Accepted || v.Reason != v1alpha1.ReasonRecipeVersion || !cmp.Equal([]v1alpha1.RecipeVersion{first, colliding}, v.Versions) {
		t.Errorf("another content of the same digits: %+v", v)
	}
}

func TestAcceptSaysWhatTheProblemsAreOf(t *testing.T) {
	o := catalogtest.Object(catalogtest.Recipe("notes"))
	judge(o, 1)
	o.Spec.Recipe.Description = "Else"
	if v := judge(o, 2); v.Reason != v1alpha1.ReasonRecipeVersion {
		t.Errorf("%+v", v)
	}
	o.Spec.Recipe.Install.Version = "latest"
	if v := judge(o, 3); v.Reason != v1alpha1.ReasonRecipeInvalid {
		t.Errorf("%+v", v)
	}
	for range 14 {
		o.Spec.Recipe.Transports = append(o.Spec.Recipe.Transports, recipe.Transport{Type: recipe.TransportType(strings.Repeat("x", 1000))})
	}
	if v := judge(o, 4); !strings.Contains(v.Message, "more") || len(v.Message) > catalog.MaxMessage+len("…") {
		t.Errorf("%d bytes: %s", len(v.Message), v.Message)
	}
	o.Name = "other"
	if v := judge(o, 5); v.Reason != v1alpha1.ReasonRecipeInvalid {
		t.Errorf("%+v", v)
	}
	o.Status.Versions[0].Recipe = "{"
	if v := judge(o, 6); v.Accepted || !strings.Contains(v.Message, "status.versions[0]") {
		t.Errorf("%+v", v)
	}
	if _, err := catalog.EntryOf(o); err == nil {
		t.Error("a version that is none was read")
	}
}

func TestPublicKeys(t *testing.T) {
	public, _ := catalogtest.Key(1)
	if got := catalog.PublicKeys([]string{"nonsense", recipe.FormatKey(public)}); len(got) != 1 || !got[0].Equal(public) {
		t.Errorf("%v", got)
	}
}

func TestTheExampleOfTheSpecificationIsAccepted(t *testing.T) {
	document := must.Value(os.ReadFile("../../../docs/spec/catalogrecipe.md"))(t)
	_, rest, _ := strings.Cut(string(document), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	o := &v1alpha1.CatalogRecipe{}
	must.Succeed(t, yaml.UnmarshalStrict([]byte(example), o))
	if v := judge(o, 1); !v.Accepted {
		t.Error(v.Message)
	}
	if view := search.NewItem(catalogtest.EntryOf(t, o)).View; !*view.Verified || !view.Listing.HostedSafe {
		t.Errorf("%+v", view.Listing)
	}
}
