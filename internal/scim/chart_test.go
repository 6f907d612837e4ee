// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTheDirectoriesOfTheChartAreRead reads what the chart's own tests hold it to.
func TestTheDirectoriesOfTheChartAreRead(t *testing.T) {
	rendered, err := os.ReadFile("../../hack/helm/chart/testdata/login.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(rendered), "\n---\n") {
		var o struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if o.Metadata.Name != "hosted-bridge-scim" {
			continue
		}
		list, err := ParseDirectories([]byte(o.Data["scim.yaml"]))
		if err != nil || len(list) != 2 || list[1].GroupValue != ByExternalID || !list[1].DryRun || len(list[1].TokenHashes) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
		return
	}
	t.Error("the chart renders no directories")
}
