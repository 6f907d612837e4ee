// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// dashboard is what is read of a dashboard.
type dashboard struct {
	UID    string
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, LegendFormat string }
	}
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

func TestDashboardAsksForWhatThereIs(t *testing.T) {
	var object struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(render(t, enabled...)["ConfigMap/hosted-bridge-dashboard"]), &object); err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal([]byte(object.Data["hosted-bridge.json"]), &d); err != nil {
		t.Fatal(err)
	}
	all := inventory(t)
	asked := 0
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: the number %d is another panel's too", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q, or beside the screen", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if len(p.Targets) == 0 && p.Type != "row" {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			asked++
			for _, of := range installations(t, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")) {
				if of != "$namespace" {
					t.Errorf("%s: %s is of more than the installation that was chosen", p.Title, target.Expr)
				}
			}
			_, by := check(t, all, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			for _, label := range placeholder.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(by, label[1]) {
					t.Errorf("%s: the legend names %s, by which nothing is grouped", p.Title, label[1])
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d expressions", asked)
	}
}
