// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"
)

// rulesOf returns the alerts as the chart renders them, by name.
func rulesOf(t *testing.T, settings ...string) (monitoringv1.PrometheusRule, map[string]monitoringv1.Rule) {
	t.Helper()
	var object monitoringv1.PrometheusRule
	strict(t, render(t, append(slices.Clone(enabled), settings...)...)["PrometheusRule/hosted-bridge"], &object)
	all := map[string]monitoringv1.Rule{}
	for _, group := range object.Spec.Groups {
		for _, rule := range group.Rules {
			all[rule.Alert] = rule
		}
	}
	return object, all
}

func TestRulesAreValid(t *testing.T) {
	object, rules := rulesOf(t)
	text, err := yaml.Marshal(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)); len(errs) > 0 {
		t.Fatalf("%v in\n%s", errs, text)
	}
	known := inventory(t)
	for name, rule := range rules {
		check(t, known, rule.Expr.StrVal)
		for _, of := range installations(t, rule.Expr.StrVal) {
			if of != installed {
				t.Errorf("%s asks for series of the installation %q: %s", name, of, rule.Expr.StrVal)
			}
		}
		if rule.Labels["namespace"] != installed {
			t.Errorf("%s does not say whose it is: %v", name, rule.Labels)
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s does not say enough: %v %v", name, rule.Labels, rule.Annotations)
		}
		if !strings.HasSuffix(rule.Annotations["runbook_url"], "/docs/operations/alerts.md#"+strings.ToLower(name)) {
			t.Errorf("%s leads to %s", name, rule.Annotations["runbook_url"])
		}
		if strings.Contains(rule.Expr.StrVal, "$threshold") {
			t.Errorf("%s has no threshold: %s", name, rule.Expr.StrVal)
		}
	}
}

func TestEachAlertIsExplained(t *testing.T) {
	_, rules := rulesOf(t)
	text, err := os.ReadFile(docs + "alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, found := range regexp.MustCompile(`(?ms)^## (HostedBridge\w+)\n(.*?)(?:\z|^## )`).FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n## ", "\n## \n## "), -1) {
		sections[found[1]] = found[2]
	}
	want, got := slices.Sorted(maps.Keys(rules)), slices.Sorted(maps.Keys(sections))
	if !slices.Equal(want, got) {
		t.Errorf("alerts are\n%v\nand explained are\n%v", want, got)
	}
	for name, section := range sections {
		for _, part := range []string{"**What it means.**", "**Likely causes.**", "**What to do.**", "```"} {
			if !strings.Contains(section, part) {
				t.Errorf("the section of %s has no %s", name, part)
			}
		}
	}
}

func TestAlertsAreSetByValues(t *testing.T) {
	_, rules := rulesOf(t, `monitoring.prometheusRule.alerts={"HostedBridgeCallsSlow":{"threshold":42.5,"for":"3m","severity":"page"},"HostedBridgeKeysGuessed":{"enabled":false}}`)
	slow := rules["HostedBridgeCallsSlow"]
	if !strings.HasSuffix(slow.Expr.StrVal, "> 42.5") || *slow.For != "3m" || slow.Labels["severity"] != "page" {
		t.Errorf("the alert is %v", slow)
	}
	if _, there := rules["HostedBridgeKeysGuessed"]; there {
		t.Error("an alert that was turned off is there")
	}
	_, zero := rulesOf(t, `monitoring.prometheusRule.alerts={"HostedBridgeCallsSlow":{"threshold":0}}`)
	if !strings.HasSuffix(zero["HostedBridgeCallsSlow"].Expr.StrVal, "> 0") {
		t.Error("a threshold of 0 is taken for none")
	}
	_, said, err := helm(t, "template", "x", chart, "--set=monitoring.prometheusRule.enabled=true", "--set=monitoring.prometheusRule.alerts.HostedBridgeCallSlow.threshold=1")
	if err == nil || !strings.Contains(said, "HostedBridgeCallSlow") {
		t.Errorf("a mistyped alert: %v, %s", err, said)
	}
}

// scenario is what an alert is tried on: series with a value each step.
type scenario struct {
	// Step is a minute where it is left out.
	Step string `json:"step"`
	// Fires are series that fire the alert, FiresToo others that do, and Quiet such
	// that do not.
	Fires    []string `json:"fires"`
	FiresToo []string `json:"firesToo"`
	Quiet    []string `json:"quiet"`
}

// installed is the namespace of the installation that is rendered, and other of
// one beside it.
const installed, other = "hosted-bridge-system", "other-system"

// of returns the series as they are scraped of an installation.
func of(namespace string, series []string) []string {
	all := make([]string, len(series))
	for i, s := range series {
		name, rest, labelled := strings.Cut(s, "{")
		if labelled {
			rest = "," + rest
		} else {
			name, rest, _ = strings.Cut(s, " ")
			rest = "} " + rest
		}
		all[i] = name + `{namespace="` + namespace + `"` + rest
	}
	return all
}

// samples is how many each series must have.
const samples = 100

func TestAlertsFireAndAreQuiet(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenarios := map[string]scenario{}
	if err := yaml.UnmarshalStrict(text, &scenarios); err != nil {
		t.Fatal(err)
	}
	_, rules := rulesOf(t)
	for name := range scenarios {
		if _, ok := rules[name]; !ok {
			t.Errorf("there is no alert %s", name)
		}
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			s := scenarios[name]
			if len(s.Fires) == 0 || len(s.Quiet) == 0 {
				t.Fatal("no series that fires it, or none that does not")
			}
			// What goes on in the installation beside it makes no difference.
			for _, series := range [][]string{s.Fires, s.FiresToo} {
				if series != nil && !fires(t, rule, s.Step, slices.Concat(of(installed, series), of(other, s.Quiet))) {
					t.Errorf("%s is quiet where it should fire: %v", rule.Expr.StrVal, series)
				}
			}
			if fires(t, rule, s.Step, slices.Concat(of(installed, s.Quiet), of(other, s.Fires))) {
				t.Errorf("%s fires where it should be quiet: %v", rule.Expr.StrVal, s.Quiet)
			}
		})
	}
}

// fires reports whether the expression holds, for one and the same series, at
// each step of the time for which it must.
func fires(t *testing.T, rule monitoringv1.Rule, stepText string, series []string) bool {
	t.Helper()
	if stepText == "" {
		stepText = "1m"
	}
	step, err := model.ParseDuration(stepText)
	if err != nil {
		t.Fatal(err)
	}
	held, err := model.ParseDuration(string(*rule.For))
	if err != nil {
		t.Fatal(err)
	}
	storage := promqltest.LoadedStorage(t, fmt.Sprintf("load %s\n  %s\n", stepText, strings.Join(series, "\n  ")))
	end := time.Unix(0, 0).Add((samples - 2) * time.Duration(step))
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	query, err := engine.NewRangeQuery(t.Context(), storage, nil, rule.Expr.StrVal, end.Add(-time.Duration(held)), end, time.Duration(step))
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	matrix, err := result.Matrix()
	if err != nil {
		t.Fatal(err)
	}
	steps := int(held/step) + 1
	return slices.ContainsFunc(matrix, func(s promql.Series) bool { return len(s.Floats) == steps })
}
