// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const pathTry = "/console/try-profile"

// team is a profile of everybody, with servers of each use.
func team(servers ...v1alpha1.ProfileServer) v1alpha1.BridgeProfile {
	return v1alpha1.BridgeProfile{
		ObjectMeta: metav1.ObjectMeta{
			Name: "team", Namespace: "hosted-bridge-system", ResourceVersion: "99", UID: "uid-team", Generation: 3, Labels: map[string]string{"owner": "platform"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}, Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"},
		},
		Spec: v1alpha1.BridgeProfileSpec{
			Tier: "pro", Who: v1alpha1.ProfileSubjects{Namespaces: []string{"tenants"}, Everyone: true}, Servers: servers,
		},
		Status: v1alpha1.BridgeProfileStatus{Matched: 2, Updated: 2},
	}
}

func gives(name string, use v1alpha1.ServerUse) v1alpha1.ProfileServer {
	return v1alpha1.ProfileServer{Server: v1alpha1.Server{Name: name, Recipe: &v1alpha1.RecipeReference{Name: name}, Trust: "Trusted"}, Use: use}
}

// hasProfile gives the world a profile that all bridges have by now.
func (w *adminWorld) hasProfile(p v1alpha1.BridgeProfile) {
	w.t.Helper()
	p.Status.Revisions = must.Value(profile.Accept(&p))(w.t)[:1]
	w.profiles = []v1alpha1.BridgeProfile{p}
	newest := must.Value(profile.Newest(w.profiles, nil))(w.t)
	w.change(func() {
		for _, b := range w.bridges {
			b.Status.Effective = profile.Effective(b, newest, quota.Defaults(), profile.Sharing{}, nil)
			b.Status.Profiles = []v1alpha1.ProfileUse{{Name: p.Name}}
		}
	})
}

// manifest returns a manifest of the profile team.
func manifestOf(spec string) string {
	return "apiVersion: hostedbridge.dev/v1alpha1\nkind: BridgeProfile\nmetadata: {name: team}\nspec:\n  who: {namespaces: [tenants], everyone: true}\n" + spec
}

func (v *visitor) try(manifest string, fields ...string) reply {
	v.w.t.Helper()
	return v.submit(pathTry, pathTry, append([]string{"profile", manifest}, fields...)...)
}

// says fails unless a page has the texts.
func says(t *testing.T, got reply, status int, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if got.status != status || !strings.Contains(html.UnescapeString(got.body), want) {
			t.Errorf("it lacks %q: %d %s", want, got.status, got.body)
		}
	}
}

func TestAProfileSaysWhatItGivesToWhom(t *testing.T) {
	w := newAdminWorld(t)
	p := team(gives("mail", v1alpha1.ServerRequired), gives("search", ""), gives("wiki", v1alpha1.ServerOptional), gives("gone", v1alpha1.ServerOnRequest),
		v1alpha1.ProfileServer{Server: v1alpha1.Server{Name: "docs", Transport: v1alpha1.Transport{URL: "https://docs.example.com/mcp?token=x"}, Tools: &v1alpha1.ToolFilter{Deny: []string{"erase"}}}})
	p.Spec.Who = v1alpha1.ProfileSubjects{Namespaces: []string{"tenants", "trials"}, Users: []v1alpha1.UserID{"alice"}, Groups: []v1alpha1.ProfileGroup{{Issuer: issuerURL, Value: "eng"}, {FromNamespace: "tenants", Value: "ops"}}}
	w.hasProfile(p)
	v := w.with(oauth.RoleAuditor)
	says(t, v.open("/console/profiles"), http.StatusOK, "Requires mail.", "On by default: search and docs.", "Offers wiki.", "On request: gone.", "tier pro", "2 people", `href="/console/try-profile"`,
		"alice and the groups eng at "+issuerURL+" and ops of HostedBridges in tenants, in the namespaces tenants and trials")
	got := v.open("/console/profiles/team")
	says(t, got, http.StatusOK, "Required: always on", `href="/console/catalog?search=search"`, "No such recipe", "https://docs.example.com/mcp", "erase", `href="/console/people/bob"`,
		"A change reaches", "kubectl get bridgeprofile --namespace hosted-bridge-system team -o yaml")
	text, _, _ := strings.Cut(got.body[strings.Index(got.body, "<textarea"):], "</textarea>")
	for _, internal := range []string{"managedFields", "resourceVersion", "uid", "status", "last-applied", "generation", "creationTimestamp"} {
		if strings.Contains(text, internal) {
			t.Errorf("the form has %s: %s", internal, text)
		}
	}
	if strings.Contains(got.body, "?search=gone") || !strings.Contains(text, "owner: platform") {
		t.Errorf("a link to a recipe that is gone, or no label: %s", got.body)
	}
	_, text, _ = strings.Cut(text, ">\n")
	says(t, v.try(html.UnescapeString(text)), http.StatusUnprocessableEntity, "spec.servers[3].recipe", "The catalog has no recipe gone")
}

func TestThePeopleOfAProfileComeInPages(t *testing.T) {
	w := newAdminWorld(t)
	w.addPeople(120)
	w.hasProfile(team())
	v, seen := w.administrator(), map[string]bool{}
	for next := "/console/profiles/team"; next != ""; {
		got := v.open(next)
		for _, found := range peopleLink.FindAllStringSubmatch(got.body, -1) {
			if seen[found[1]] {
				t.Errorf("%s is on two pages", found[1])
			}
			seen[found[1]] = true
		}
		next = ""
		if found := nextPeople.FindStringSubmatch(got.body); found != nil {
			next, _, _ = strings.Cut(html.UnescapeString(found[1]), "#")
		}
	}
	if len(seen) != 122 {
		t.Errorf("%d people are shown", len(seen))
	}
}

// addPeople adds bridges to a world.
func (w *adminWorld) addPeople(n int) {
	w.change(func() {
		for i := range n {
			name := fmt.Sprintf("person-%05d", i)
			w.bridges = append(w.bridges, &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "tenants", Name: name, UID: types.UID("uid-" + name)}, Spec: v1alpha1.HostedBridgeSpec{Tier: "free"}})
		}
	})
}

func TestATriedProfileSaysWhomItTouches(t *testing.T) {
	w := newAdminWorld(t)
	w.changeBridge("alice", func(b *v1alpha1.HostedBridge) {
		b.Spec.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "wiki", Use: v1alpha1.ChoiceOn}}}
	})
	w.recipes.entries = append(w.recipes.entries, catalog.Entry{Name: "files", Accepted: true, Recipe: recipe.Recipe{}})
	w.addPeople(10)
	w.hasProfile(team(gives("github", v1alpha1.ServerRequired), gives("wiki", v1alpha1.ServerOptional)))
	v := w.with(oauth.RoleAuditor)
	manifest := manifestOf("  tier: free\n  servers:\n  - {name: files, use: Default, recipe: {name: files}}\n")
	got := v.try(manifest)
	says(t, got, http.StatusOK, "12 people would lose github", "1 person would lose wiki", "1 person's own choice of wiki would end", "12 people would get files", "12 people would have tier free in place of pro",
		"12 bridges of 12 would change", "The profile would be for 12 bridges", `href="/console/people/alice"`, "and 2 others", "<<'EOF'\n"+manifest+"EOF", "kubectl apply --namespace hosted-bridge-system -f - ")
	all := v.try(manifest, "see", "1 - server github")
	says(t, all, http.StatusOK, "12 people would lose github", `href="/console/people/person-00009"`, "All changes")
	if strings.Contains(all.body, "would get files") || w.tries.computed != 1 {
		t.Errorf("bridges were read %d times for two pages: %s", w.tries.computed, all.body)
	}
	says(t, v.try(manifestOf("  tier: pro\n  servers:\n  - {name: github, use: Required, recipe: {name: search}}\n  - {name: wiki, use: Optional, recipe: {name: wiki}}\n")), http.StatusOK, "12 people would have another github")
	unchanged := must.Value(w.tries.List(t.Context()))(t)[0]
	w.recipes.entries = append(w.recipes.entries, catalog.Entry{Name: "github", Accepted: true})
	form := v.open("/console/profiles/" + unchanged.Name)
	_, text, _ := strings.Cut(form.body, "<textarea")
	_, text, _ = strings.Cut(text, ">\n")
	text, _, _ = strings.Cut(text, "</textarea>")
	says(t, v.try(html.UnescapeString(text)), http.StatusOK, "No bridge would change", "Nothing, for nobody")
	if acted := w.acted(); !strings.Contains(strings.Join(acted, "\n"), "oauth auditor admin/profiles.preview  team") {
		t.Errorf("the trail lacks the preview: %q", acted)
	}
}

func TestAProfileOfManyPeopleIsTriedWithoutReadingAllAtEachClick(t *testing.T) {
	w := newAdminWorld(t)
	w.addPeople(1000)
	w.hasProfile(team(gives("github", v1alpha1.ServerRequired)))
	v, manifest, see, seen := w.administrator(), manifestOf("  tier: pro\n"), "", map[string]bool{}
	for range 20 {
		got := v.try(manifest, "see", see)
		for _, found := range peopleLink.FindAllStringSubmatch(got.body, -1) {
			seen[found[1]] = true
		}
		found := seeButton.FindAllStringSubmatch(got.body, -1)
		if see == "" {
			see = found[0][1]
			continue
		}
		next := ""
		for _, button := range found {
			if button[2] == "Next" {
				next = button[1]
			}
		}
		if next == "" {
			break
		}
		see = next
	}
	if len(seen) != 1002 || w.tries.computed != 1 {
		t.Errorf("%d people were shown, and all bridges read %d times", len(seen), w.tries.computed)
	}
}

func TestAProfileThatCannotBeTriedSaysWhy(t *testing.T) {
	w := newAdminWorld(t)
	v := w.administrator()
	for manifest, want := range map[string][]string{
		"":                             {"It is empty"},
		"a: [":                         {"It is not YAML"},
		"kind: Pod":                    {"kind", "must be BridgeProfile", "apiVersion", "must be hostedbridge.dev/v1alpha1", "metadata"},
		manifestOf("") + "---\n":       {"more than one document"},
		manifestOf("  tiers: pro\n"):   {"spec.tiers", "There is no such field"},
		manifestOf("  priority: -1\n"): {"spec.priority", "must be greater than or equal to 0"},
		manifestOf("  tier: gold\n"):   {"spec.tier", "it must be one of: business, free, pro"},
		manifestOf("  servers: [{name: a, recipe: {name: none}}]\n"):                                     {"spec.servers[0].recipe", "The catalog has no recipe none"},
		manifestOf("  servers: [{name: a, use: Sometimes}]\n"):                                           {"spec.servers[0].use", "Required Default Optional OnRequest"},
		strings.Replace(manifestOf(""), "name: team", "name: team, namespace: elsewhere", 1):             {"metadata.namespace", "hosted-bridge-system alone"},
		strings.Replace(manifestOf(""), "name: team", "name: Team", 1):                                   {"metadata.name"},
		manifestOf("  tier: " + strings.Repeat("x", 64<<10) + "\n"):                                      {"longer than the 64 KiB"},
		manifestOf("  variables: [{name: A, value: <script>alert(1)</script>}]\n  servers: [{name: a}]"): {"spec.servers[0]"},
	} {
		got := v.try(manifest)
		says(t, got, http.StatusUnprocessableEntity, want...)
		if strings.Contains(got.body, "<script>alert") || manifest != "" && !strings.Contains(html.UnescapeString(got.body), manifest) {
			t.Errorf("what was entered is not kept as it was: %s", got.body)
		}
	}
	if w.tries.computed != 0 {
		t.Error("bridges were read")
	}
	if got := v.try(strings.Repeat("x", 300<<10)); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form that is too long: %d", got.status)
	}
	w.profilesErr = errors.New("away")
	says(t, v.try(manifestOf("")), http.StatusServiceUnavailable, "The API server does not answer")
	w.profilesErr = admin.ErrMayNotRead
	for path := range map[string]bool{"/console/profiles": true, "/console/profiles/team": true} {
		says(t, v.open(path), http.StatusOK, "does not let the ingress read profiles", "kubectl get bridgeprofile")
	}
	says(t, v.try(manifestOf("")), http.StatusOK, "does not let the ingress read profiles", "operator profiles diff")
}

func TestAPreviewThatTakesTooLongEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newAdminWorld(t)
		v := w.administrator()
		w.tries.late = true
		says(t, v.try(manifestOf("")), http.StatusServiceUnavailable, "not known within 20 seconds")
	})
}

func TestProfilesAreTriedByThoseWhoSeePeople(t *testing.T) {
	w := newAdminWorld(t)
	w.hasProfile(team())
	for role, status := range map[oauth.Role]int{oauth.RoleAdmin: http.StatusOK, oauth.RoleAuditor: http.StatusOK, oauth.RoleCurator: http.StatusNotFound} {
		v := w.with(role)
		form := v.open("/console/catalog").hidden()
		form.Set("profile", manifestOf("  tier: free\n"))
		if got := v.post(pathTry, form); got.status != status {
			t.Errorf("%s: %d %s", role, got.status, got.body)
		}
	}
}

var (
	peopleLink = regexp.MustCompile(`href="/console/people/([a-z0-9-]+)"`)
	nextPeople = regexp.MustCompile(`<a class="action" href="([^"]+)">Next</a>`)
	seeButton  = regexp.MustCompile(`name="see" value="([^"]+)"[^>]*>([^<]+)<`)
)
