// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart renders the chart hosted-bridge by the engine that helm has,
// without a helm and without a cluster.
package chart

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Chart is a chart that has been read.
type Chart struct{ chart *v2.Chart }

// Release is what a rendering is for.
type Release struct {
	Name      string
	Namespace string
	// Service renders: templates leave out for others what only Helm needs.
	Service string
	// Cluster answers lookups; without one they find nothing.
	Cluster engine.ClientProvider
	// APIs are what the cluster serves beside Kubernetes' own, such as
	// hostedbridge.dev/v1alpha1/HostedBridge.
	APIs []string
}

// Load reads the chart in a folder.
func Load(folder string) (*Chart, error) {
	c, err := loader.Load(folder)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	return &Chart{chart: c}, nil
}

// Values reads values as a user writes them.
func Values(text string) (map[string]any, error) {
	return loader.LoadValues(strings.NewReader(text))
}

// Defaults returns the values of the chart itself.
func (c *Chart) Defaults() map[string]any { return c.chart.Values }

// Schema returns the JSON schema of the values.
func (c *Chart) Schema() []byte { return c.chart.Schema }

// Render checks values by the schema and returns what each template says, by
// its name without the chart's, such as operator.yaml.
func (c *Chart) Render(r Release, values map[string]any) (map[string]string, error) {
	capabilities := common.DefaultCapabilities.Copy()
	// Without helm's link flags the default is 1.20, for which the chart is not.
	capabilities.KubeVersion = common.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
	capabilities.APIVersions = slices.Concat(capabilities.APIVersions, r.APIs)
	top, err := util.ToRenderValues(c.chart, values, common.ReleaseOptions{
		Name: r.Name, Namespace: r.Namespace, IsInstall: true, Revision: 1,
	}, capabilities)
	if err != nil {
		return nil, err
	}
	top["Release"].(map[string]any)["Service"] = r.Service
	rendered, err := c.run(top, r.Cluster)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(rendered))
	for name, text := range rendered {
		_, file, _ := strings.Cut(name, "/templates/")
		if text = tidy(text); text != "" && !strings.HasPrefix(path.Base(file), "_") {
			files[file] = text
		}
	}
	return files, nil
}

func (c *Chart) run(values common.Values, cluster engine.ClientProvider) (map[string]string, error) {
	if cluster == nil {
		return engine.Render(c.chart, values)
	}
	return engine.RenderWithClientProvider(c.chart, values, cluster)
}

// Documents returns the objects of a rendered template.
func Documents(text string) ([]map[string]any, error) {
	var objects []map[string]any
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
			return nil, err
		}
		if o != nil {
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// Write writes rendered templates as one stream, in the order of their names.
func Write(w io.Writer, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := fmt.Fprintf(w, "---\n# %s\n%s", name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// tidy takes away what templates leave around what they say.
func tidy(text string) string {
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.TrimRight(line, " "); line != "" {
			kept = append(kept, line)
		}
	}
	for len(kept) > 0 && kept[0] == "---" {
		kept = kept[1:]
	}
	if len(kept) == 0 {
		return ""
	}
	return strings.Join(kept, "\n") + "\n"
}
