// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// metricName is how a metric of ours, of the library under the operator or of
// Go stands in an expression.
var metricName = regexp.MustCompile(`\b(hostedbridge|controller_runtime|leader_election|workqueue|process|go)_[a-z0-9_]+\b`)

// optional are the metrics that an installation has only with a setting, or
// while there is something to count whose label nobody knows before.
var optional = map[string]string{
	"hostedbridge_ingress_audit_index_lag_seconds":                  "with an audit index",
	"hostedbridge_ingress_audit_index_lost_total":                   "with an audit index",
	"hostedbridge_ingress_quota_store_up":                           "with a shared quota store",
	"hostedbridge_ingress_tls_certificate_expiry_timestamp_seconds": "with TLS of its own",
	"hostedbridge_ingress_catalog_seed_last_timestamp_seconds":      "with a source of recipes",
	"hostedbridge_envelopes":                                        "with a sealed secret",
	"hostedbridge_bridge_conditions":                                "with a condition that is not True",
	"hostedbridge_ingress_backup_last_success_timestamp_seconds":    "with a schedule of backups",
}

// asked returns the metrics that alerts and dashboard ask for.
func asked(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	for _, file := range []string{"alerts/alerts.yaml", "dashboards/hosted-bridge.json"} {
		text := must.Value(os.ReadFile("../../charts/hosted-bridge/files/" + file))(t)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "description:") || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, name := range metricName.FindAllString(line, -1) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// exposed returns the names of the series that the installation's processes
// have.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	series := map[string]bool{}
	for _, component := range []string{"operator", "keybroker", "ingress", "store"} {
		var pods corev1.PodList
		err := installed.client.List(t.Context(), &pods, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/component": component})
		if err != nil {
			t.Fatal(err)
		}
		answered := 0
		for _, pod := range pods.Items {
			if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
				continue
			}
			text, err := readMetrics(t.Context(), pod)
			if err != nil {
				t.Fatalf("%s: %v", pod.Name, err)
			}
			answered++
			for line := range strings.Lines(text) {
				if name, _, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
					name, _, _ = strings.Cut(name, "{")
					series[name] = true
				}
			}
		}
		if answered == 0 {
			t.Errorf("no %s answers", component)
		}
	}
	return series
}

func TestMetricsThatAlertsAndDashboardAskForAreThere(t *testing.T) {
	names, series := asked(t), exposed(t)
	if len(names) < 25 {
		t.Fatalf("only %d metrics are asked for: %v", len(names), names)
	}
	for _, name := range names {
		if !series[name] && optional[name] == "" {
			t.Errorf("no process has %s", name)
		}
	}
	for name, when := range optional {
		if !slices.Contains(names, name) {
			t.Errorf("%s, which is there %s, is asked for by nobody", name, when)
		}
	}
}
