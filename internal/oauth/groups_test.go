// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestGroupsAreThoseOfTheClaim(t *testing.T) {
	many := slices.Repeat([]string{"eng"}, 5000)
	for name, tt := range map[string]struct {
		claims string
		want   []string
		err    error
	}{
		"a list":                      {`{"groups":["eng","/staff/ops","eng"]}`, []string{"eng", "/staff/ops", "eng"}, nil},
		"no group":                    {`{"groups":[]}`, []string{}, nil},
		"a text":                      {`{"groups":"eng"}`, []string{"eng"}, nil},
		"the claim is missing":        {`{"roles":["eng"]}`, nil, ErrNoGroups},
		"the claim is null":           {`{"groups":null}`, nil, ErrNoGroups},
		"too many for Entra":          {`{"_claim_names":{"groups":"src1"},"_claim_sources":{"src1":{"endpoint":"https://graph.example"}}}`, nil, ErrGroupsElsewhere},
		"too many for Entra, a flag":  {`{"hasgroups":true}`, nil, ErrGroupsElsewhere},
		"another claim elsewhere":     {`{"_claim_names":{"photo":"src1"}}`, nil, ErrNoGroups},
		"claim names of a wrong type": {`{"_claim_names":["groups"]}`, nil, ErrNoGroups},
		"a number":                    {`{"groups":7}`, nil, errGroupsForm},
		"an object":                   {`{"groups":{"eng":true}}`, nil, errGroupsForm},
		"a list with a number":        {`{"groups":["eng",7]}`, nil, errGroupsForm},
		"thousands":                   {`{"groups":["` + strings.Join(many, `","`) + `"]}`, many, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var claims map[string]any
			must.Succeed(t, json.Unmarshal([]byte(tt.claims), &claims))
			got, err := Groups(claims, "groups")
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v; groups (-want +got):\n%s", err, tt.err, diff)
			}
		})
	}
}

func TestGroupsAreComparedInOneForm(t *testing.T) {
	const composed, decomposed = "Caf\u00e9", "Cafe\u0301"
	for name, tt := range map[string]struct {
		named, group string
		same, near   bool
	}{
		"the same":                 {"eng", "eng", true, true},
		"an accent of two forms":   {decomposed, composed, true, true},
		"the other way around":     {composed, decomposed, true, true},
		"another case":             {"Eng", "eng", false, true},
		"another case and accent":  {"CAFE\u0301", composed, false, true},
		"another width":            {"\uff45ng", "eng", false, true},
		"two capitals of a letter": {"\u03a3", "\u03c2", false, true},
		"another group":            {"engineering", "eng", false, false},
		"without the accent":       {"Cafe", composed, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			same, near := NewGroupSet([]string{"other", tt.named}).Has(tt.group), FoldGroup(tt.named) == FoldGroup(tt.group)
			if same != tt.same || near != tt.near {
				t.Errorf("the same: %v, near: %v", same, near)
			}
		})
	}
}
