// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// metric is one that the processes register.
type metric struct {
	kind   string
	labels []string
}

// added are the labels that Prometheus gives to all that it scrapes.
var added = []string{"job", "namespace", "pod", "instance", "service", "endpoint", "container", "installation"}

// inventory returns every metric of docs/operations/metrics.md, which tests
// beside the code hold to what is registered there.
func inventory(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile(docs + "metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]metric{"up": {kind: "gauge"}}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 4 || !strings.HasPrefix(line, "| `") || !slices.Contains([]string{"counter", "gauge", "histogram"}, cells[1]) {
			continue
		}
		m := metric{kind: cells[1]}
		for label := range strings.SplitSeq(strings.ReplaceAll(cells[2], "`", ""), ", ") {
			if label != "-" {
				m.labels = append(m.labels, label)
			}
		}
		all[strings.Trim(cells[0], "| `")] = m
	}
	if len(all) < 40 {
		t.Fatalf("only %d metrics were found in metrics.md", len(all))
	}
	return all
}

// lookup returns the metric of a series' name.
func lookup(all map[string]metric, series string) (metric, bool) {
	if m, ok := all[series]; ok {
		return m, m.kind != "histogram"
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		name, ok := strings.CutSuffix(series, suffix)
		if m, known := all[name]; ok && known && m.kind == "histogram" {
			if suffix == "_bucket" {
				m.labels = append(slices.Clone(m.labels), "le")
			}
			return m, true
		}
	}
	return metric{}, false
}

// installations returns for each series of an expression the installation that it
// asks for, by the label for that; empty where it asks for all.
func installations(t *testing.T, expression string) []string {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		n, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		of := ""
		for _, matcher := range n.LabelMatchers {
			if matcher.Type == labels.MatchEqual && (matcher.Name == "namespace" || matcher.Name == "installation") {
				of = matcher.Value
			}
		}
		all = append(all, of)
		return nil
	})
	return all
}

// check parses an expression and fails where it asks for a metric or a label
// that nobody registers. It returns the names of its series, and the labels of
// what comes of it where they are named.
func check(t *testing.T, all map[string]metric, expression string) (series map[string]bool, by []string) {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", expression, err)
		return nil, nil
	}
	series, known := map[string]bool{}, map[string]bool{}
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			m, ok := lookup(all, n.Name)
			if !ok {
				t.Errorf("%s: nobody has a metric %q", expression, n.Name)
			}
			series[n.Name] = true
			for _, label := range slices.Concat(m.labels, added) {
				known[label] = true
			}
			for _, matcher := range n.LabelMatchers {
				if matcher.Name != model.MetricNameLabel && !slices.Contains(slices.Concat(m.labels, added), matcher.Name) {
					t.Errorf("%s: %s has no label %s", expression, n.Name, matcher.Name)
				}
			}
		case *parser.AggregateExpr:
			by = append(by, n.Grouping...)
		case *parser.Call:
			if n.Func.Name == "rate" || n.Func.Name == "increase" {
				counted(t, all, expression, n)
			}
		}
		return nil
	})
	for _, label := range by {
		if !known[label] {
			t.Errorf("%s: grouped by %s, which is no label of %v", expression, label, slices.Sorted(maps.Keys(series)))
		}
	}
	return series, by
}

// counted fails for a rate of what goes up and down.
func counted(t *testing.T, all map[string]metric, expression string, call *parser.Call) {
	t.Helper()
	parser.Inspect(call, func(node parser.Node, _ []parser.Node) error {
		if n, ok := node.(*parser.VectorSelector); ok {
			if m, _ := lookup(all, n.Name); m.kind == "gauge" {
				t.Errorf("%s: %s of the gauge %s", expression, call.Func.Name, n.Name)
			}
		}
		return nil
	})
}
