// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/hostedbridge/hostedbridge/hack/helm/chart"
)

// namespacedRights are the templates with the rights of processes.
var namespacedRights = []string{"rbac-operator.yaml", "rbac-keybroker.yaml", "rbac-ingress.yaml"}

// generateNamespaced writes what an installation for two namespaces is granted, by
// which tests run the processes.
func generateNamespaced(c *chart.Chart, tree *os.Root) error {
	rendered, err := c.Render(
		chart.Release{Name: "hosted-bridge", Namespace: "hosted-bridge-system", Service: "Helm"},
		map[string]any{"watchNamespaces": []any{"tenants", "trials"}},
	)
	if err != nil {
		return fmt.Errorf("render namespaced mode: %w", err)
	}
	for _, template := range namespacedRights {
		text := fmt.Sprintf(header, template) + rendered[template]
		if err := write(tree, "test/testdata/namespaced/"+template, text); err != nil {
			return err
		}
	}
	return nil
}
