// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/oauth/settings"
	"github.com/hostedbridge/hostedbridge/internal/quota/store"
)

func TestAFirstLoginNeedsATierThatThereIs(t *testing.T) {
	own := write(t, "tiers: {trial: {perMinute: 1, perHour: 1, perDay: 1, burst: 1, auditDays: 1, concurrentCalls: 1, streams: 1}}")
	for _, test := range []struct {
		name, mode, tier, file, want string // No want: it is taken.
	}{
		{"one of the shipped tiers", settings.Auto, "free", "", ""},
		{"one that is misspelt", settings.Auto, "fre", "", "server.onboarding.tier must be one of the installation's tiers: business, free, pro"},
		{"one of the installation's own", settings.Auto, "trial", own, ""},
		{"one that the installation's own replace", settings.Auto, "free", own, "one of the installation's tiers: trial"},
		{"the one that is not said, where nothing is made", settings.Invite, "free", own, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tiers, err := store.OpenTierFile(test.file, clock.System{}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			c := &core{quotas: &quotas{tiers: tiers}, identity: &identity{config: &rest.Config{Host: "https://127.0.0.1:1"}}}
			_, err = usersOf(&settings.Settings{Server: &settings.Server{Onboarding: settings.Onboarding{Mode: test.mode, Namespace: "people", Tier: test.tier}}}, c)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
