// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metricstest keeps docs/operations/metrics.md up to date: the page is
// generated from the metrics that the processes register, and a test in each
// package with metrics compares them.
package metricstest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/hostedbridge/hostedbridge/test/repository"
)

// update, if it is set in the environment, has the page follow the code.
const update = "UPDATE_METRICS_DOCS"

// Metric describes one metric before it has a value.
type Metric struct {
	Name, Type, Help string
	Labels           []string
}

// Registry is a registry that remembers the kind of its collectors: a vector
// without a series does not reveal it when it is gathered.
type Registry struct {
	*prometheus.Registry
	metrics map[string]Metric
}

// New returns an empty registry.
func New() *Registry {
	return &Registry{Registry: prometheus.NewRegistry(), metrics: map[string]Metric{}}
}

// Register implements prometheus.Registerer.
func (r *Registry) Register(c prometheus.Collector) error {
	if err := r.Registry.Register(c); err != nil {
		return err
	}
	r.note(c)
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r *Registry) MustRegister(all ...prometheus.Collector) {
	r.Registry.MustRegister(all...)
	for _, c := range all {
		r.note(c)
	}
}

func (r *Registry) note(c prometheus.Collector) {
	kind := kindOf(c)
	described := make(chan *prometheus.Desc)
	go func() { c.Describe(described); close(described) }()
	for d := range described {
		m := Described(d)
		m.Type = kind
		r.metrics[m.Name] = m
	}
}

// kindOf returns the kind of a collector's metrics: those of a collector that
// is no vector are all of the kind of the first that it has.
func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	}
	collected := make(chan prometheus.Metric)
	go func() { c.Collect(collected); close(collected) }()
	kind := "gauge"
	for m := range collected {
		var value dto.Metric
		if m.Write(&value) != nil {
			continue
		}
		switch {
		case value.Counter != nil:
			kind = "counter"
		case value.Histogram != nil:
			kind = "histogram"
		}
	}
	return kind
}

// description is how the library prints a description, which has no other way
// to be read.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// constant is one of the labels that a metric always has with one value.
var constant = regexp.MustCompile(`(\w+)="`)

// Described returns what a description says.
func Described(d *prometheus.Desc) Metric {
	found := description.FindStringSubmatch(d.String())
	if found == nil {
		panic("the library prints descriptions in another way now: " + d.String())
	}
	help, err := strconv.Unquote(found[2])
	if err != nil {
		panic(err)
	}
	m := Metric{Name: found[1], Help: help}
	for _, label := range constant.FindAllStringSubmatch(found[3], -1) {
		m.Labels = append(m.Labels, label[1])
	}
	if found[4] != "" {
		m.Labels = append(m.Labels, strings.Split(found[4], ",")...)
	}
	slices.Sort(m.Labels)
	return m
}

// Metrics returns what is registered, by name.
func (r *Registry) Metrics() []Metric {
	var all []Metric
	for _, m := range r.metrics {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Read returns the metrics with a help text that a process has written in
// Prometheus' text format, by name.
func Read(t *testing.T, text string) []Metric {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all []Metric
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		if f.GetHelp() == "" {
			continue
		}
		m := Metric{Name: name, Type: strings.ToLower(f.GetType().String()), Help: f.GetHelp()}
		for _, label := range f.GetMetric()[0].GetLabel() {
			m.Labels = append(m.Labels, label.GetName())
		}
		slices.Sort(m.Labels)
		all = append(all, m)
	}
	return all
}

// Documented fails t if the page and the code do not list the same metrics of a
// package.
func Documented(t *testing.T, block string, metrics []Metric) {
	t.Helper()
	page, err := repository.Path("docs", "operations", "metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "<!-- metrics: "+block+" -->\n")
	is, after, ok2 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 {
		t.Fatalf("docs/operations/metrics.md has no block %s", block)
	}
	want := table(metrics)
	if is == want {
		return
	}
	if os.Getenv(update) == "" {
		t.Fatalf("docs/operations/metrics.md is not what %s registers; run its tests with %s=1, which writes:\n%s", block, update, want)
	}
	after = "<!-- end -->" + after
	if err := os.WriteFile(page, []byte(before+"<!-- metrics: "+block+" -->\n"+want+after), 0o644); err != nil { //nolint:gosec // A page is for all to read.
		t.Fatal(err)
	}
}

func table(metrics []Metric) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | what it says |\n| --- | --- | --- | --- |\n")
	for _, m := range metrics {
		labels := "-"
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, labels, strings.ReplaceAll(m.Help, "|", "\\|"))
	}
	return b.String()
}
