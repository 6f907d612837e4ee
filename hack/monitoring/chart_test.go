// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

const (
	root  = "../.."
	chart = root + "/charts/hosted-bridge"
	docs  = root + "/docs/operations/"
)

// helm runs the repository's helm and returns what it says and whether it failed.
func helm(t *testing.T, args ...string) (string, string, error) {
	t.Helper()
	program := os.Getenv("HELM")
	if program == "" {
		program = filepath.Join(root, "bin", "helm")
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("there is no helm to render the chart with: run make bin/helm (%v)", err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	// Neither a user's settings nor a cluster are asked.
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+t.TempDir(), "KUBECONFIG=/dev/null")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), stderr.String(), err
}

// enabled are the settings that make everything of monitoring.
var enabled = []string{
	"monitoring.serviceMonitor.enabled=true", "monitoring.podMonitor.enabled=true",
	"monitoring.prometheusRule.enabled=true", "monitoring.dashboard.enabled=true",
	`isolation.networkPolicy.monitoringNamespaces=["monitoring"]`,
}

// render returns the chart's objects, as YAML, by "kind/name".
func render(t *testing.T, settings ...string) map[string]string {
	t.Helper()
	args := []string{"template", "hosted-bridge", chart, "--namespace=hosted-bridge-system"}
	for _, s := range settings {
		args = append(args, "--set-json="+jsonOf(s))
	}
	out, said, err := helm(t, args...)
	if err != nil {
		t.Fatalf("helm: %v\n%s", err, said)
	}
	objects := map[string]string{}
	for document := range strings.SplitSeq(out, "\n---\n") {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if head.Kind != "" {
			objects[head.Kind+"/"+head.Metadata.Name] = document
		}
	}
	return objects
}

// jsonOf makes a setting's value a JSON value where it is none.
func jsonOf(setting string) string {
	key, value, _ := strings.Cut(setting, "=")
	if value == "true" || value == "false" || strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		return setting
	}
	return key + "=\"" + value + "\""
}

// strict reads an object of a kind, of which it knows every field.
func strict(t *testing.T, document string, into any) {
	t.Helper()
	if document == "" {
		t.Fatal("the chart has no such object")
	}
	if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
}

func TestNothingIsMonitoredUnasked(t *testing.T) {
	for name, object := range render(t) {
		if strings.Contains(object, "monitoring.coreos.com") || strings.Contains(object, "grafana") {
			t.Errorf("%s is there by default, and not every cluster has its kind", name)
		}
	}
}

func TestMonitorsThatPoliciesKeepOutAreRefused(t *testing.T) {
	const namespace = "--set=isolation.networkPolicy.monitoringNamespaces={monitoring}"
	for _, test := range []struct {
		name    string
		args    []string
		refused bool
	}{
		{"a monitor that no namespace is named for", []string{"--set=monitoring.serviceMonitor.enabled=true"}, true},
		{"one of bridges", []string{"--set=monitoring.podMonitor.enabled=true"}, true},
		{"one that may read", []string{"--set=monitoring.serviceMonitor.enabled=true", namespace}, false},
		{"one that comes in otherwise", []string{"--set=monitoring.serviceMonitor.enabled=true", "--set=monitoring.requireNamespaces=false"}, false},
		{"one that no policy keeps out", []string{"--set=monitoring.serviceMonitor.enabled=true", "--set=isolation.networkPolicy.enabled=false"}, false},
		{"alerts alone", []string{"--set=monitoring.prometheusRule.enabled=true"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, said, err := helm(t, append([]string{"template", "x", chart}, test.args...)...)
			if (err != nil) != test.refused || test.refused != strings.Contains(said, "isolation.networkPolicy.monitoringNamespaces") {
				t.Errorf("error %v, and it says %s", err, said)
			}
		})
	}
}

func TestMonitorsFindTheProcesses(t *testing.T) {
	objects := render(t, append(enabled, "monitoring.labels={\"release\":\"p\"}", "watchNamespaces=[\"a\",\"b\"]")...)
	var monitor monitoringv1.ServiceMonitor
	strict(t, objects["ServiceMonitor/hosted-bridge"], &monitor)
	if monitor.Labels["release"] != "p" || monitor.Spec.NamespaceSelector.MatchNames[0] != "hosted-bridge-system" {
		t.Errorf("the monitor is %v", monitor)
	}
	for component, port := range map[string]string{"operator": "metrics", "keybroker": "probes", "ingress": "probes"} {
		var service struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Selector map[string]string
				Ports    []struct{ Name, TargetPort string }
			}
		}
		if err := yaml.Unmarshal([]byte(objects["Service/hosted-bridge-"+component+"-metrics"]), &service); err != nil {
			t.Fatal(err)
		}
		for label, value := range monitor.Spec.Selector.MatchLabels {
			if service.Metadata.Labels[label] != value {
				t.Errorf("the monitor does not select the Service of the %s", component)
			}
		}
		if p := service.Spec.Ports; len(p) != 1 || p[0].Name != monitor.Spec.Endpoints[0].Port || p[0].TargetPort != port {
			t.Errorf("the Service of the %s has the ports %v", component, p)
		}
		deployment := objects["Deployment/hosted-bridge-"+component]
		if !strings.Contains(deployment, "name: "+port+", containerPort: ") {
			t.Errorf("the %s has no port %s", component, port)
		}
		for label, value := range service.Spec.Selector {
			if !strings.Contains(deployment, label+": "+value) {
				t.Errorf("the %s's pods have no label %s=%s", component, label, value)
			}
		}
	}
	var bridges monitoringv1.PodMonitor
	strict(t, objects["PodMonitor/hosted-bridge-bridges"], &bridges)
	if got := bridges.Spec.NamespaceSelector; got.Any || len(got.MatchNames) != 2 {
		t.Errorf("bridges are looked for in %v", got)
	}
}
