// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var tiers = quota.Tiers{"free": {Servers: new(int32(3))}, "pro": {}}

// bridge returns alice's, in the namespace people and the group engineering, with servers.
func bridge(change func(*v1alpha1.HostedBridgeSpec), servers ...string) *v1alpha1.HostedBridge {
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: "people", Name: "alice"}}
	b.Spec = v1alpha1.HostedBridgeSpec{Tier: "free", Mode: v1alpha1.ModeDirect, Groups: []string{"engineering"}}
	for _, name := range servers {
		b.Spec.Servers = append(b.Spec.Servers, at(name, "https://own.example.com"))
	}
	if change != nil {
		change(&b.Spec)
	}
	return b
}

func at(name, url string) v1alpha1.Server {
	return v1alpha1.Server{Name: name, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: url}}
}

// profiled returns a profile for everyone in people, with servers such as "Required a".
func profiled(name string, priority int32, change func(*v1alpha1.BridgeProfileSpec), servers ...string) Profile {
	p := Profile{Name: name, UID: "uid-" + name, Generation: 1}
	p.Spec = v1alpha1.BridgeProfileSpec{Priority: priority, Who: v1alpha1.ProfileSubjects{Namespaces: []string{"people"}, Everyone: true}}
	for _, text := range servers {
		use, server, _ := strings.Cut(text, " ")
		p.Spec.Servers = append(p.Spec.Servers, v1alpha1.ProfileServer{Server: at(server, "https://"+name+".example.com"), Use: v1alpha1.ServerUse(use)})
	}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

// summary says in a few words what a bridge has with the profiles: its tier, and its
// servers with the host from which each comes.
func summary(b *v1alpha1.HostedBridge, profiles ...Profile) string {
	Sort(profiles)
	out := *b
	out.Status.Effective = Effective(b, profiles, tiers, Sharing{}, nil)
	got := effective.Of(&out)
	words := []string{got.Spec.Tier}
	for _, s := range got.Spec.Servers {
		host, _, _ := strings.Cut(strings.TrimPrefix(s.Transport.URL, "https://"), ".")
		words = append(words, s.Name+"@"+host)
	}
	for _, s := range out.Status.Effective.Servers {
		if s.Reason != "" {
			words = append(words, s.Name+":"+s.Reason)
		}
	}
	for _, name := range out.Status.Effective.LeftOut {
		words = append(words, name+":left-out")
	}
	for _, c := range out.Status.Effective.Conflicts {
		words = append(words, c.Field+"="+strings.Join(c.Profiles, ","))
	}
	return strings.Join(words, " ")
}

func TestAnOfferNamesTheVersionOfItsRecipe(t *testing.T) {
	for _, version := range []string{"", "1.0.0"} {
		p := profiled("p", 0, nil, "Optional x")
		p.Spec.Servers[0].Recipe = &v1alpha1.RecipeReference{Name: "notes", Version: version}
		if got := Effective(bridge(nil), []Profile{p}, tiers, Sharing{}, nil).Servers[0]; got.Recipe != "notes" || got.RecipeVersion != version || got.Source != "" {
			t.Errorf("version %q: %+v", version, got)
		}
	}
}

func TestWhatABridgeHasWithItsProfiles(t *testing.T) {
	tier := func(name string) func(*v1alpha1.BridgeProfileSpec) {
		return func(s *v1alpha1.BridgeProfileSpec) { s.Tier = name }
	}
	choose := func(choices ...v1alpha1.ServerChoice) func(*v1alpha1.HostedBridgeSpec) {
		return func(s *v1alpha1.HostedBridgeSpec) { s.Choices = &v1alpha1.Choices{Servers: choices} }
	}
	on := func(name string) v1alpha1.ServerChoice {
		return v1alpha1.ServerChoice{Name: name, Use: v1alpha1.ChoiceOn}
	}
	off := func(name string) v1alpha1.ServerChoice {
		return v1alpha1.ServerChoice{Name: name, Use: v1alpha1.ChoiceOff}
	}
	for name, tt := range map[string]struct {
		bridge   *v1alpha1.HostedBridge
		profiles []Profile
		want     string
	}{
		"a profile that says nothing": {bridge(nil, "own"), []Profile{profiled("p", 0, nil)}, "free own@own"},
		"the tier of a profile":       {bridge(nil), []Profile{profiled("p", 0, tier("pro"))}, "pro"},
		"the higher priority decides": {bridge(nil), []Profile{profiled("a", 0, tier("free")), profiled("b", 100, tier("pro"))}, "pro"},
		"a lower priority adds what the higher is silent about": {
			bridge(nil), []Profile{profiled("a", 0, tier("pro"), "Default x"), profiled("b", 100, nil, "Default y")}, "pro y@b x@a"},
		"equal priority, one is silent": {bridge(nil), []Profile{profiled("a", 5, nil), profiled("b", 5, tier("pro"))}, "pro"},
		"equal priority, they agree":    {bridge(nil), []Profile{profiled("a", 5, tier("pro")), profiled("b", 5, tier("pro"))}, "pro"},
		"equal priority, they disagree": {
			bridge(nil), []Profile{profiled("b", 5, tier("pro")), profiled("a", 5, tier("free"))}, "free tier=a,b"},
		"a lower priority that disagrees is no conflict": {bridge(nil), []Profile{profiled("a", 5, tier("pro")), profiled("b", 4, tier("free"))}, "pro"},
		"servers of one name, equal priority": {
			bridge(nil), []Profile{profiled("b", 5, nil, "Default x"), profiled("a", 5, nil, "Default x")}, "free x@a servers[x]=a,b"},
		"servers of one name, the higher counts whole": {bridge(nil), []Profile{profiled("b", 6, nil, "Optional x"), profiled("a", 5, nil, "Required x")}, "free x:Off"},

		"a required server":                        {bridge(nil, "own"), []Profile{profiled("p", 0, nil, "Required x")}, "free own@own x@p"},
		"a required server replaces an own one":    {bridge(nil, "x", "own"), []Profile{profiled("p", 0, nil, "Required x")}, "free x@p own@own"},
		"a required server that is switched off":   {bridge(choose(off("x"))), []Profile{profiled("p", 0, nil, "Required x")}, "free x@p x:ChoiceIgnored"},
		"a default server":                         {bridge(nil), []Profile{profiled("p", 0, nil, "Default x")}, "free x@p"},
		"a server without a use is a default one":  {bridge(nil), []Profile{profiled("p", 0, nil, " x")}, "free x@p"},
		"a default server that is switched off":    {bridge(choose(off("x"))), []Profile{profiled("p", 0, nil, "Default x")}, "free x:Off"},
		"a default server that an own one shadows": {bridge(nil, "x"), []Profile{profiled("p", 0, nil, "Default x")}, "free x@own x:Shadowed"},
		"an optional server":                       {bridge(nil), []Profile{profiled("p", 0, nil, "Optional x")}, "free x:Off"},
		"an optional server that is switched on":   {bridge(choose(on("x"))), []Profile{profiled("p", 0, nil, "Optional x")}, "free x@p"},
		"a choice about a server of no profile":    {bridge(choose(on("y"))), []Profile{profiled("p", 0, nil, "Default x")}, "free x@p"},

		"room goes to required, own, default and optional ones": {
			bridge(choose(on("o")), "own"), []Profile{profiled("p", 0, nil, "Optional o", "Default d", "Required r")}, "free own@own d@p r@p o:NoRoom"},
		"required servers leave own ones out": {
			bridge(nil, "one", "two", "three"), []Profile{profiled("p", 0, nil, "Required r", "Default d")}, "free one@own two@own r@p d:NoRoom three:left-out"},
		"more required servers than the tier has room for": {
			bridge(nil, "one"), []Profile{profiled("p", 0, nil, "Required a", "Required b", "Required c", "Required d")}, "free a@p b@p c@p d:NoRoom one:left-out"},
		"a required server that replaces an own one takes no more room": {
			bridge(nil, "one", "two", "x"), []Profile{profiled("p", 0, nil, "Required x")}, "free one@own two@own x@p"},
		"the room is that of the tier of the profile": {
			bridge(nil, "one", "two", "three"), []Profile{profiled("p", 0, tier("pro"), "Default d")}, "pro one@own two@own three@own d@p"},
		"a spec with too many servers is refused as it is, not cut": {
			bridge(nil, "1", "2", "3", "4"), []Profile{profiled("p", 0, nil, "Default d")}, "free 1@own 2@own 3@own 4@own d:NoRoom"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := summary(tt.bridge, tt.profiles...); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestWhichBridgesAProfileSelects(t *testing.T) {
	for name, tt := range map[string]struct {
		who  v1alpha1.ProfileSubjects
		want bool
	}{
		"everyone of the namespace":        {v1alpha1.ProfileSubjects{Namespaces: []string{"people"}, Everyone: true}, true},
		"everyone of all namespaces":       {v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Everyone: true}, true},
		"everyone of another namespace":    {v1alpha1.ProfileSubjects{Namespaces: []string{"others"}, Everyone: true}, false},
		"the user":                         {v1alpha1.ProfileSubjects{Namespaces: []string{"people"}, Users: []v1alpha1.UserID{"bob", "alice"}}, true},
		"the user in another namespace":    {v1alpha1.ProfileSubjects{Namespaces: []string{"others"}, Users: []v1alpha1.UserID{"alice"}}, false},
		"another user":                     {v1alpha1.ProfileSubjects{Namespaces: []string{"people"}, Users: []v1alpha1.UserID{"bob"}}, false},
		"a group":                          {v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: "people", Value: "engineering"}}}, true},
		"a group of another namespace":     {v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: "others", Value: "engineering"}}}, false},
		"another group":                    {v1alpha1.ProfileSubjects{Namespaces: []string{"*"}, Groups: []v1alpha1.ProfileGroup{{FromNamespace: "people", Value: "engineering2"}}}, false},
		"nobody, as before it was created": {v1alpha1.ProfileSubjects{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := bridge(nil)
			groups, _ := Groups(b, access.NewPeople(nil), time.Now())
			if got := (Profile{Spec: v1alpha1.BridgeProfileSpec{Who: tt.who}}).Selects(b, groups); got != tt.want {
				t.Errorf("selects = %v", got)
			}
		})
	}
}

func TestSettingsAndChoices(t *testing.T) {
	timeout := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	all := []v1alpha1.ProfileChoice{v1alpha1.ChoiceMode, v1alpha1.ChoiceToolPrefix, v1alpha1.ChoiceIdleTimeout}
	for name, tt := range map[string]struct {
		allowed []v1alpha1.ProfileChoice
		choices *v1alpha1.Choices
		want    v1alpha1.EffectiveSettings
	}{
		"as the profile says": {all, nil, v1alpha1.EffectiveSettings{
			Mode: v1alpha1.ModeRouter, ToolPrefix: v1alpha1.ToolPrefixAuto, IdleTimeout: timeout(time.Hour), RuntimeClassName: "gvisor"}},
		"as the user chooses": {all, &v1alpha1.Choices{Mode: v1alpha1.ModeDirect, ToolPrefix: v1alpha1.ToolPrefixNever, IdleTimeout: timeout(time.Minute)}, v1alpha1.EffectiveSettings{
			Mode: v1alpha1.ModeDirect, ToolPrefix: v1alpha1.ToolPrefixNever, IdleTimeout: timeout(time.Minute), RuntimeClassName: "gvisor"}},
		"choices that are not allowed": {nil, &v1alpha1.Choices{Mode: v1alpha1.ModeDirect, ToolPrefix: v1alpha1.ToolPrefixNever, IdleTimeout: timeout(time.Minute)}, v1alpha1.EffectiveSettings{
			Mode: v1alpha1.ModeRouter, ToolPrefix: v1alpha1.ToolPrefixAuto, IdleTimeout: timeout(time.Hour), RuntimeClassName: "gvisor"}},
		"a longer time than the profile's": {all, &v1alpha1.Choices{IdleTimeout: timeout(2 * time.Hour)}, v1alpha1.EffectiveSettings{
			Mode: v1alpha1.ModeRouter, ToolPrefix: v1alpha1.ToolPrefixAuto, IdleTimeout: timeout(time.Hour), RuntimeClassName: "gvisor"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := profiled("p", 0, func(s *v1alpha1.BridgeProfileSpec) {
				s.Mode, s.ToolPrefix, s.IdleTimeout, s.RuntimeClassName = v1alpha1.ModeRouter, v1alpha1.ToolPrefixAuto, timeout(time.Hour), "gvisor"
				s.AllowChoices = tt.allowed
			})
			got := Effective(bridge(func(s *v1alpha1.HostedBridgeSpec) { s.Choices = tt.choices }), []Profile{p}, tiers, Sharing{}, nil)
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// serverOf returns the effective server of that name.
func serverOf(t *testing.T, e *v1alpha1.EffectiveSettings, name string) v1alpha1.Server {
	t.Helper()
	var s v1alpha1.Server
	for _, given := range e.Servers {
		if given.Name == name && given.Source != "" {
			must.Succeed(t, json.Unmarshal([]byte(given.Source), &s))
		}
	}
	return s
}

func TestToolsThatAnyProfileDeniesAreDenied(t *testing.T) {
	filter := func(allow, deny string) func(*v1alpha1.BridgeProfileSpec) {
		return func(s *v1alpha1.BridgeProfileSpec) {
			s.Servers[0].Tools = &v1alpha1.ToolFilter{Allow: strings.Fields(allow), Deny: strings.Fields(deny)}
		}
	}
	b := bridge(func(s *v1alpha1.HostedBridgeSpec) {
		s.Choices = &v1alpha1.Choices{Servers: []v1alpha1.ServerChoice{{Name: "x", Deny: []string{"mine", "two"}}}}
	})
	profiles := []Profile{profiled("a", 9, filter("read write", "one"), "Default x"), profiled("b", 1, filter("other", "two"), "Optional x")}
	got := serverOf(t, Effective(b, profiles, tiers, Sharing{}, nil), "x").Tools
	if diff := cmp.Diff(&v1alpha1.ToolFilter{Allow: []string{"read", "write"}, Deny: []string{"mine", "one", "two"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVariablesStandInTheServersOfTheirProfile(t *testing.T) {
	p := profiled("p", 0, func(s *v1alpha1.BridgeProfileSpec) {
		s.Variables = []v1alpha1.ProfileVariable{{Name: "TEAM", Value: "pay$ops"}}
		s.Servers[0].Transport.Headers = []v1alpha1.Header{{Name: "X-Team", Value: "$$ ${TEAM} ${TEAM:-none} ${TOKEN} ${OTHER:-$$x}"}}
		s.Servers[0].Secrets = []v1alpha1.SecretName{"TOKEN", "OTHER"}
		s.Servers[1].Transport = v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
			Args: []string{"--team=${TEAM}", "cost: $5"}, Env: []v1alpha1.StdioVariable{{Name: "T", Value: "${TEAM}"}}, Files: []v1alpha1.StdioFile{{Name: "t", Content: "${TEAM}"}},
		}}
	}, "Default x", "Default y")
	e := Effective(bridge(nil), []Profile{p}, tiers, Sharing{}, nil)
	if got, want := serverOf(t, e, "x").Transport.Headers[0].Value, "$$ pay$$ops pay$$ops ${TOKEN} ${OTHER:-$$x}"; got != want {
		t.Errorf("header %q, want %q", got, want)
	}
	stdio := serverOf(t, e, "y").Transport.Stdio
	if got, want := fmt.Sprintf("%s %s %s", stdio.Args, stdio.Env[0].Value, stdio.Files[0].Content), "[--team=pay$$ops cost: $5] pay$$ops pay$$ops"; got != want {
		t.Errorf("program %q, want %q", got, want)
	}
	if p.Spec.Servers[0].Transport.Headers[0].Value[0:2] != "$$" || !strings.Contains(p.Spec.Servers[0].Transport.Headers[0].Value, "${TEAM}") {
		t.Error("the profile itself was changed")
	}
}

// TestOrderAndDenialDoNotDependOnChance tries profiles at random: in any order they have the same
// result, and each tool that one of them denies is denied.
func TestOrderAndDenialDoNotDependOnChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var profiles []Profile
		for i := range 1 + random.IntN(4) {
			p := profiled(fmt.Sprint("p", i), int32(random.IntN(3)), nil)
			for _, server := range []string{"x", "y", "z", "own"} {
				if random.IntN(2) == 0 {
					use := []v1alpha1.ServerUse{v1alpha1.ServerRequired, v1alpha1.ServerDefault, v1alpha1.ServerOptional}[random.IntN(3)]
					s := v1alpha1.ProfileServer{Server: at(server, "https://"+p.Name), Use: use}
					s.Tools = &v1alpha1.ToolFilter{Deny: []string{fmt.Sprint("t", random.IntN(5))}}
					p.Spec.Servers = append(p.Spec.Servers, s)
				}
			}
			p.Spec.Tier = []string{"", "free", "pro"}[random.IntN(3)]
			profiles = append(profiles, p)
		}
		b := bridge(nil, "own", "second")
		want := summary(b, profiles...)
		random.Shuffle(len(profiles), func(i, j int) { profiles[i], profiles[j] = profiles[j], profiles[i] })
		if got := summary(b, profiles...); got != want {
			t.Fatalf("in another order\n%s\nand not\n%s", got, want)
		}
		all := Effective(b, profiles, tiers, Sharing{}, nil)
		for _, given := range all.Servers {
			server := serverOf(t, all, given.Name)
			for _, denied := range deniedBy(profiles, given.Name) {
				if given.Source != "" && !slices.Contains(server.Tools.Deny, denied) {
					t.Fatalf("%s of %s is not denied", denied, given.Name)
				}
			}
		}
	}
}

func deniedBy(profiles []Profile, server string) []string {
	var denied []string
	for _, p := range profiles {
		for _, s := range p.Spec.Servers {
			if s.Name == server {
				denied = append(denied, s.Tools.Deny...)
			}
		}
	}
	return denied
}
