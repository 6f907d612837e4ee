// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"
)

// TestAlertsThatCannotBeReadAreRefused has a chart whose file of alerts is spoiled.
func TestAlertsThatCannotBeReadAreRefused(t *testing.T) {
	values, err := Values("monitoring: {prometheusRule: {enabled: true}}")
	if err != nil {
		t.Fatal(err)
	}
	for content, says := range map[string]string{
		"groups: [": "files/alerts/alerts.yaml is not valid YAML: ",
		"other: 1":  "files/alerts/alerts.yaml has no groups",
	} {
		c := load(t)
		for _, f := range c.chart.Files {
			if f.Name == "files/alerts/alerts.yaml" {
				f.Data = []byte(content)
			}
		}
		if _, err := c.Render(Release{Name: "some-name", Namespace: elsewhere, Service: "Helm"}, values); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", content, err, says)
		}
	}
}
