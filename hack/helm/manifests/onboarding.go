// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/hostedbridge/hostedbridge/hack/helm/chart"
)

// generateOnboarding writes what the ingress of an installation is granted and
// held to where logins write HostedBridges, by which tests run.
func generateOnboarding(c *chart.Chart, tree *os.Root) error {
	for _, mode := range []string{"invite", "auto"} {
		rendered, err := c.Render(
			chart.Release{Name: "hosted-bridge", Namespace: "hosted-bridge-system", Service: "Helm"},
			map[string]any{"baseURL": "https://mcp.example.com", "ingress": map[string]any{"replicas": 1}, "oauth": map[string]any{"server": map[string]any{
				"enabled": true,
				"providers": []any{map[string]any{
					"id": "example", "name": "Example", "type": "oidc", "issuer": "https://login.example.com", "clientID": "bridges", "existingSecret": "login-example",
				}},
				"onboarding": map[string]any{
					"mode": mode, "namespace": "newcomers",
				},
			}}},
		)
		if err != nil {
			return fmt.Errorf("render onboarding %s: %w", mode, err)
		}
		for _, template := range []string{"rbac-ingress.yaml", "admission-ingress.yaml"} {
			text := fmt.Sprintf(header, template) + rendered[template]
			if err := write(tree, "test/testdata/onboarding/"+mode+"/"+template, text); err != nil {
				return err
			}
		}
	}
	return nil
}
