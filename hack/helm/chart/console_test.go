// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

func TestTheConsoleHasItsNameContactAndLogo(t *testing.T) {
	for name, tt := range map[string]struct {
		values string
		args   []string
		logo   bool
	}{
		"as shipped": {"", nil, false},
		"off":        {"console: {enabled: false, name: Unused, logoConfigMap: unused}", []string{"--console=false"}, false},
		"for users":  {"console: {administrators: false}", []string{"--console-administrators=false"}, false},
		"named":      {`console: {name: "Example: bridges", contact: help@example.com}`, []string{"--console-name=Example: bridges", "--console-contact=help@example.com"}, false},
		"with a logo": {
			"console: {logoConfigMap: look}", []string{"--console-logo-file=/etc/hosted-bridge/console/logo"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, _ := strings.Cut(strings.TrimPrefix(render(t, tt.values)["ingress.yaml"], "---\n"), "\n---\n")
			pod := strict[appsv1.Deployment](t, text).Spec.Template.Spec
			args := slices.DeleteFunc(slices.Clone(pod.Containers[0].Args), func(a string) bool { return !strings.HasPrefix(a, "--console") })
			if !slices.Equal(tt.args, args) {
				t.Errorf("arguments %q, want %q", args, tt.args)
			}
			mounted := false
			for _, v := range pod.Volumes {
				if v.Name == "console-logo" {
					mounted = v.ConfigMap.Name == "look" && v.ConfigMap.Items[0].Key == "logo" && v.ConfigMap.Items[0].Path == "logo"
				}
			}
			if mounted != tt.logo {
				t.Errorf("the logo is mounted: %t", mounted)
			}
		})
	}
}
