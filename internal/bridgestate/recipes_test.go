// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// ofRecipe adds a server of the recipe notes, of which the status says this.
func ofRecipe(name string, status v1alpha1.RecipeStatus, said *bridgeconfig.Server) func(*Observed) {
	return func(o *Observed) {
		status.Server, status.Recipe = name, "notes"
		if said != nil {
			b, err := json.Marshal(said)
			if err != nil {
				panic(err)
			}
			status.Source = string(b)
		}
		o.Bridge.Spec.Servers = append(o.Bridge.Spec.Servers, servers(v1alpha1.Server{Name: name, Recipe: &v1alpha1.RecipeReference{Name: "notes"}})...)
		o.Bridge.Status.Recipes = append(o.Bridge.Status.Recipes, status)
	}
}

var (
	atNotes = &bridgeconfig.Server{
		Transport: bridgeconfig.StreamableHTTP, URL: "https://notes.example.com/mcp",
		Headers: []bridgeconfig.Header{{Name: "Authorization", Value: "Bearer ${NOTES_TOKEN}"}},
	}
	inUse = v1alpha1.RecipeStatus{
		Reason: v1alpha1.ReasonRecipeInUse, Version: "1.0.0", Message: "fine",
		Secrets: []string{"NOTES_TOKEN"}, CredentialsURL: "https://notes.example.com/keys",
	}
	notFound = v1alpha1.RecipeStatus{Reason: v1alpha1.ReasonRecipeNotFound, Message: "the catalog has no recipe notes"}
)

// seen makes the report one on these recipes.
func seen(o *Observed) {
	o.Bridge.Status.Secrets.ObservedRecipes = SecretsBesideSpec(o.Bridge)
}

func TestAServerThatIsOutOfServiceForItsRecipeIsThatAlone(t *testing.T) {
	// The one that is out comes first: what is said of the other names its place.
	o := observed(ofRecipe("lost", notFound, nil), needing("open"))
	for kind, want := range map[string]string{
		v1alpha1.ConditionAccepted: "True RecipesUnusable: the installation takes the spec; out of service for its recipe: server lost: the catalog has no recipe notes",
		v1alpha1.ConditionReady:    "True Ready: calls to status.url reach the bridge; out of service for its recipe: server lost: the catalog has no recipe notes",
	} {
		c := condition(t, kind, o)
		if got := string(c.Status) + " " + c.Reason + ": " + c.Message; got != want {
			t.Errorf("%s is %s\nwant %s", kind, got, want)
		}
	}
	if diff := cmp.Diff(o.Bridge.Status.Recipes, Decide(o, now).Status(o, Outcome{}, now).Recipes); diff != "" {
		t.Errorf("status.recipes (-want +got):\n%s", diff)
	}
	c := Configuration(o.Bridge, bridgeconfig.Egress{}, "")
	if len(c.Servers) != 1 || c.Servers[0].Name != "open" {
		t.Errorf("the bridge is told of %+v", c.Servers)
	}
	o.Bridge.Spec.Servers[1].Transport.URL = "nowhere"
	if f := accept(o); f.Reason != v1alpha1.ReasonInvalidServer || !strings.HasPrefix(f.Message, "spec.servers[1]") {
		t.Errorf("finding %+v", f)
	}
}

// TestWhatAPodGoesOnWithStaysInTheStatus resolves the recipe to something else
// than what the pod runs.
func TestWhatAPodGoesOnWithStaysInTheStatus(t *testing.T) {
	ran := []v1alpha1.RecipeStatus{{Server: "mine", Recipe: "notes", Version: "0.9.0", TokenSecret: "OAUTH_MINE", Secrets: []string{"OAUTH_MINE"}}}
	before := func(o *Observed) { o.Before.Recipes = ran }
	unknown := func(o *Observed) { o.Bridge.Spec.Tier = "unknown" }
	runs := withPods(Pod{Name: "p", Ready: true})
	mine := ofRecipe("mine", inUse, atNotes)
	for name, tt := range map[string]struct {
		o    Observed
		want string
	}{
		"it runs":                            {observed(mine, before, runs), "1.0.0"},
		"it runs, and no keybroker is there": {observed(mine, before, runs, withoutKeybroker), "0.9.0"},
		"it runs, and the spec is refused":   {observed(mine, before, runs, unknown), "0.9.0"},
		"the spec is refused":                {observed(mine, before, unknown), "1.0.0"},
	} {
		if got := Decide(tt.o, now).Status(tt.o, Outcome{}, now).Recipes; len(got) != 1 || got[0].Version != tt.want {
			t.Errorf("%s: %+v, want version %s", name, got, tt.want)
		}
	}
}

func TestARecipeThatRunsAndIsOddIsSaid(t *testing.T) {
	for _, reason := range []string{v1alpha1.ReasonRecipeDeprecated, v1alpha1.ReasonRecipeKept} {
		odd := inUse
		odd.Reason, odd.Message = reason, "recipe notes should not be used"
		c := condition(t, v1alpha1.ConditionAccepted, observed(ofRecipe("mine", odd, atNotes)))
		if c.Reason != v1alpha1.ReasonAccepted || !strings.HasSuffix(c.Message, "; server mine: recipe notes should not be used") {
			t.Errorf("%s: %+v", reason, c)
		}
	}
	if c := condition(t, v1alpha1.ConditionAccepted, observed(ofRecipe("mine", inUse, atNotes))); strings.Contains(c.Message, "mine") {
		t.Errorf("one with which all is well: %s", c.Message)
	}
}

func TestTheSecretsOfARecipeAreThoseOfItsServer(t *testing.T) {
	mine := ofRecipe("mine", inUse, atNotes)
	for name, tt := range map[string]struct {
		o    Observed
		want string
		says string
	}{
		"not reported yet":                {observed(mine), "False Sealing", ""},
		"reported before it was resolved": {observed(mine, sealed(0)), "False Sealing", ""},
		"reported, and not set":           {observed(mine, notSet("NOTES_TOKEN"), seen), "False SecretsMissing", "server mine is out of service until these secrets are set: NOTES_TOKEN, which https://notes.example.com/keys gives; set a secret"},
		"reported, and set":               {observed(mine, sealed(1), seen), "True Sealed", ""},
		"another server's is missing":     {observed(mine, needing("open", "OTHER"), notSet("OTHER"), seen), "False SecretsMissing", "server open is out of service until these secrets are set: OTHER; set a secret"},
		"out of service for its recipe":   {observed(ofRecipe("mine", notFound, nil)), "True NothingToSeal", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := condition(t, v1alpha1.ConditionSecretsSealed, tt.o)
			if got := string(c.Status) + " " + c.Reason; got != tt.want || !strings.Contains(c.Message, tt.says) {
				t.Errorf("%s: %s\nwant %s: %s", got, c.Message, tt.want, tt.says)
			}
		})
	}
}

// TestAReportOnAnotherSpecIsNews holds what wakes the operator against what it
// waits for: only the status tells that a recipe names secrets.
func TestAReportOnAnotherSpecIsNews(t *testing.T) {
	o := observed(ofRecipe("mine", inUse, atNotes), sealed(1))
	before := Report(o.Bridge)
	o.Bridge.Status.Secrets.ObservedGeneration++
	if cmp.Equal(before, Report(o.Bridge)) {
		t.Error("a report on another generation is the same")
	}
	before = Report(o.Bridge)
	o.Bridge.Status.Secrets.ObservedRecipes = "another"
	if cmp.Equal(before, Report(o.Bridge)) {
		t.Error("a report on other recipes is the same")
	}
}

func TestRecipeSecretsTellGrantsApart(t *testing.T) {
	grant := func(server string, secrets ...string) v1alpha1.RecipeStatus {
		return v1alpha1.RecipeStatus{Server: server, Secrets: secrets, Version: "1.0.0"}
	}
	of := func(recipes ...v1alpha1.RecipeStatus) string {
		return SecretsBesideSpec(effective.Of(&v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{Recipes: recipes}}))
	}
	one := of(grant("a", "X", "Y"), grant("b", "Z"))
	for name, tt := range map[string]struct {
		recipes []v1alpha1.RecipeStatus
		same    bool
	}{
		"another order":            {[]v1alpha1.RecipeStatus{grant("b", "Z"), grant("a", "Y", "X")}, true},
		"one that grants nothing":  {[]v1alpha1.RecipeStatus{grant("a", "X", "Y"), grant("b", "Z"), grant("c")}, true},
		"another server":           {[]v1alpha1.RecipeStatus{grant("a", "X", "Y"), grant("c", "Z")}, false},
		"one secret less":          {[]v1alpha1.RecipeStatus{grant("a", "X"), grant("b", "Z")}, false},
		"a secret of another":      {[]v1alpha1.RecipeStatus{grant("a", "X"), grant("b", "Y", "Z")}, false},
		"names that run together":  {[]v1alpha1.RecipeStatus{grant("a", "XY"), grant("b", "Z")}, false},
		"no secrets":               {[]v1alpha1.RecipeStatus{grant("a")}, false},
		"nothing at all, as empty": {nil, false},
	} {
		if got := of(tt.recipes...); (got == one) != tt.same || (got == "") != strings.HasPrefix(name, "no") {
			t.Errorf("%s: %q beside %q", name, got, one)
		}
	}
}

func TestServersOfTheStatus(t *testing.T) {
	program := &bridgeconfig.Server{Transport: bridgeconfig.Stdio, Program: &bridgeconfig.Program{Command: []string{"npx", "notes"}}}
	o := observed(ofRecipe("mine", inUse, program), ofRecipe("changed", inUse, atNotes), ofRecipe("damaged", inUse, nil), needing("open", "OTHER"))
	large := &corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}
	o.Bridge.Spec.Servers[0].Recipe.Resources = large
	o.Bridge.Spec.Servers[1].Recipe.Name = "other"
	o.Bridge.Spec.Servers[1].Secrets = []v1alpha1.SecretName{"NOTES_TOKEN"}
	o.Bridge.Status.Recipes[2].Source = "{"
	before := o.Bridge.DeepCopy()
	got := Servers(o.Bridge)
	if diff := cmp.Diff(before, o.Bridge.HostedBridge); diff != "" {
		t.Errorf("the bridge was changed (-before +after):\n%s", diff)
	}
	want := []Server{{
		Server: bridgeconfig.Server{
			Name: "mine", Transport: bridgeconfig.Stdio, Secrets: []string{"NOTES_TOKEN"},
			Program: &bridgeconfig.Program{Socket: "/var/run/hosted-bridge/stdio/mine/shim.sock", Command: []string{"npx", "notes"}},
		},
		Method: v1alpha1.InstallNPX, Resources: large,
	}, {Server: Upstream(o.Bridge.Spec.Servers[3].Server), Index: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
