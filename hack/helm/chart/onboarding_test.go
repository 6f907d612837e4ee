// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// onboardingIn are the values of an installation with this onboarding.
func onboardingIn(onboarding string) string { return withLogin("onboarding: " + onboarding) }

// watching are the values of one that looks after the namespaces a and b alone.
func watching(values string) string {
	return values + "\nwatchNamespaces: [a, b]\n"
}

// creators returns the roles that let the ingress create HostedBridges, as
// namespace/name.
func creators(t *testing.T, text string) []string {
	t.Helper()
	documents, err := Documents(text)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range documents {
		o := unstructured.Unstructured{Object: d}
		if o.GetKind() != "Role" && o.GetKind() != "ClusterRole" {
			continue
		}
		for _, rule := range as[rbacv1.Role](t, o).Rules {
			if slices.Contains(rule.Resources, "hostedbridges") && slices.Contains(rule.Verbs, "create") {
				found = append(found, o.GetNamespace()+"/"+o.GetName())
			}
		}
	}
	return found
}

func TestTheIngressCreatesHostedBridgesWhereFirstLoginsDoAlone(t *testing.T) {
	const off, invite, auto = "apiKeys and choices.servers alone", "the subjects in oauth alone", "the ingress makes HostedBridges in the namespace"
	const reserved = "user ids of u- and 16 characters are those of first logins"
	for _, test := range []struct {
		name, values string
		creators     []string
		says         []string
	}{
		{"without logins", "masterKey: {existingSecret: kept}", nil, []string{off}},
		{"with logins and no onboarding", onboardingIn("{}"), nil, []string{off}},
		{"with a mode that YAML takes for false", onboardingIn("{mode: off}"), nil, []string{off}},
		{"with invitations", onboardingIn("{mode: invite}"), nil, []string{invite, "the ingress makes no HostedBridge"}},
		{"with first logins", onboardingIn("{mode: auto, namespace: newcomers, tier: trial}") + "\ntiers: {trial: {perMinute: 1}}\n", []string{"newcomers/hosted-bridge-ingress-onboarding"}, []string{invite, auto, reserved, "request.namespace == 'newcomers'", "request.namespace != 'newcomers'", "== 'trial'", "[])"}},
		{"with first logins in one of several namespaces", watching(onboardingIn("{mode: auto, namespace: b}")), []string{"b/hosted-bridge-ingress-onboarding"}, []string{invite, auto, reserved, "request.namespace == 'b'", "request.namespace in ['"}},
		{"with a server that is off", strings.Replace(onboardingIn("{mode: auto, namespace: newcomers}"), "enabled: true", "enabled: false", 1), nil, []string{off}},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := render(t, test.values)
			if got := creators(t, files["rbac-ingress.yaml"]); !slices.Equal(got, test.creators) {
				t.Errorf("%v create HostedBridges, want %v", got, test.creators)
			}
			for _, says := range test.says {
				if !strings.Contains(files["admission-ingress.yaml"], says) {
					t.Errorf("the policy does not say %q", says)
				}
			}
			for _, other := range []string{off, auto, reserved} {
				if strings.Contains(files["admission-ingress.yaml"], other) && !slices.Contains(test.says, other) {
					t.Errorf("the policy says %q", other)
				}
			}
		})
	}
}

func TestFirstLoginsNeedANamespaceOfTenantsAndATier(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"none":                      {onboardingIn("{mode: auto}"), "set oauth.server.onboarding.namespace"},
		"the installation's":        {onboardingIn("{mode: auto, namespace: " + elsewhere + "}"), "is that of the installation"},
		"one that nobody looks at":  {watching(onboardingIn("{mode: auto, namespace: c}")), "not in watchNamespaces"},
		"a tier that is none":       {onboardingIn("{mode: auto, namespace: newcomers, tier: fre}"), "oauth.server.onboarding.tier is fre, and tiers has business, free, pro"},
		"the tier of nothing said":  {onboardingIn("{mode: auto, namespace: newcomers}") + "\ntiers: {free: null}\n", "oauth.server.onboarding.tier is free, and tiers has business, pro"},
		"none, without other rules": {onboardingIn("{mode: auto}") + "\nrbac: {create: false}\n", "set oauth.server.onboarding.namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := renderAt(t, nil, test.values); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
