// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestParseUserID(t *testing.T) {
	tests := map[string]struct {
		in string
		ok bool
	}{
		"one letter":                {"a", true},
		"one digit":                 {"7", true},
		"hyphens within":            {"a--b-c", true},
		"63 characters":             {strings.Repeat("a", 63), true},
		"64 characters":             {strings.Repeat("a", 64), false},
		"nothing":                   {"", false},
		"an upper-case letter":      {"Alice", false},
		"a hyphen at the beginning": {"-a", false},
		"a hyphen at the end":       {"a-", false},
		"a dot":                     {"a.b", false},
		"a path":                    {"a/../b", false},
		"an escape":                 {"a%2fb", false},
		"an underscore":             {"a_b", false},
		"a space":                   {"a b", false},
		"a line after it":           {"alice\n", false},
		"a line before it":          {"\nalice", false},
		"a NUL":                     {"alice\x00", false},
		"a letter that looks right": {"аlice", false}, // The first letter is Cyrillic.
		"bytes that are no text":    {"\xff", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseUserID(tt.in)
			if tt.ok && (err != nil || got != UserID(tt.in)) {
				t.Errorf("got %q, %v", got, err)
			}
			if !tt.ok && (err == nil || got != "" || !strings.Contains(err.Error(), UserIDForm)) {
				t.Errorf("got %q, %v; want an error that says what is accepted", got, err)
			}
		})
	}
}

func TestParseUserIDDoesNotRepeatAllOfALongOne(t *testing.T) {
	_, err := ParseUserID(strings.Repeat("A", 1<<20))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func FuzzParseUserID(f *testing.F) {
	for _, s := range []string{"alice", "a-b", "", "A", "a/b", "a%2e", "\n", strings.Repeat("z", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseUserID(s)
		// A DNS label is what the pattern means to say.
		if isLabel := len(validation.IsDNS1123Label(s)) == 0; isLabel != (err == nil) {
			t.Errorf("%q is a DNS label: %v, but the error is %v", s, isLabel, err)
		}
		if err == nil && string(got) != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func TestTheCRDRepeatsUserIDPattern(t *testing.T) {
	crd := must.Value(os.ReadFile("../../config/crd/bases/hostedbridge.dev_hostedbridges.yaml"))(t)
	// YAML folds a long rule over several lines.
	text := strings.Join(strings.Fields(string(crd)), " ")
	for _, rule := range []string{
		"self.matches('" + UserIDPattern + "')",
		"self.metadata.name.matches('" + UserIDPattern + "')",
	} {
		if !strings.Contains(text, rule) {
			t.Errorf("no rule of the CRD is %s", rule)
		}
	}
	// No other pattern for a user id hides beside it.
	found := regexp.MustCompile(`matches\('(\^\[a-z0-9\][^']*61[^']*)'\)`).FindAllStringSubmatch(text, -1)
	if len(found) < 2 {
		t.Errorf("%d patterns found, want at least 2", len(found))
	}
	for _, f := range found {
		if f[1] != UserIDPattern {
			t.Errorf("the CRD has the pattern %s", f[1])
		}
	}
	if strings.Count(text, UserIDForm) < 2 {
		t.Error("the messages of the CRD do not say UserIDForm")
	}
}

func TestTheCRDsRepeatServerNamePattern(t *testing.T) {
	for _, kind := range []string{"hostedbridges", "bridgeprofiles", "bridgerequests"} {
		crd := must.Value(os.ReadFile("../../config/crd/bases/hostedbridge.dev_" + kind + ".yaml"))(t)
		if rule := "self.matches('^" + ServerNamePattern + "$')"; !strings.Contains(strings.Join(strings.Fields(string(crd)), " "), rule) {
			t.Errorf("no rule of %s is %s", kind, rule)
		}
	}
}

func TestUser(t *testing.T) {
	b := &HostedBridge{ObjectMeta: metav1.ObjectMeta{Name: "name"}}
	if got := b.User(); got != "name" {
		t.Errorf("without spec.userID the user is %q", got)
	}
	b.Spec.UserID = "alice"
	if got := b.User(); got != "alice" {
		t.Errorf("with spec.userID the user is %q", got)
	}
}

func TestPrecedes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	claim := func(age time.Duration, namespace, name string) *HostedBridge {
		return &HostedBridge{ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp: metav1.NewTime(now.Add(-age)), Namespace: namespace, Name: name,
		}}
	}
	// From the best claim to the worst.
	order := []*HostedBridge{
		claim(time.Hour, "z", "z"),
		claim(time.Second, "b", "a"),
		claim(0, "a", "y"),
		claim(0, "a", "z"),
		claim(0, "b", "a"),
	}
	for i, a := range order {
		for j, b := range order {
			if got := a.Precedes(b); got != (i < j) {
				t.Errorf("%s/%s precedes %s/%s: %v", a.Namespace, a.Name, b.Namespace, b.Name, got)
			}
		}
	}
	shuffled := []*HostedBridge{order[3], order[0], order[4], order[2], order[1]}
	slices.SortFunc(shuffled, func(a, b *HostedBridge) int {
		if a.Precedes(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(shuffled, order) {
		t.Error("the order depends on the order of asking")
	}
}
