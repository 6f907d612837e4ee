// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scim

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestTheDirectoriesOfTheChartAreRead reads what the chart's own tests hold it to.
func TestTheDirectoriesOfTheChartAreRead(t *testing.T) {
	rendered := must.Value(os.ReadFile("../../hack/helm/chart/testdata/login.golden.yaml"))(t)
	for document := range strings.SplitSeq(string(rendered), "\n---\n") {
		var o struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		must.Succeed(t, yaml.Unmarshal([]byte(document), &o))
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
