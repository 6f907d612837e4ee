// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/hostedbridge/hostedbridge/hack/helm/chart"
)

// generateBackup writes the CronJob of backups into a claim, and what it is granted, by
// which tests run.
func generateBackup(c *chart.Chart, tree *os.Root) error {
	rendered, err := c.Render(
		chart.Release{Name: "hosted-bridge", Namespace: "hosted-bridge-system", Service: "Helm"},
		map[string]any{
			"image": map[string]any{"tag": "dev"},
			// Tests put their own key in its place.
			"backup": map[string]any{"recipients": []any{"age1recipient"}, "existingClaim": "hosted-bridge-backup"},
		},
	)
	if err != nil {
		return fmt.Errorf("render backups: %w", err)
	}
	for _, template := range []string{"rbac-backup.yaml", "backup.yaml"} {
		if err := write(tree, "test/testdata/backup/"+template, fmt.Sprintf(header, template)+rendered[template]); err != nil {
			return err
		}
	}
	return nil
}
