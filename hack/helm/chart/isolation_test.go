// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// as reads an object by its type.
func as[T any](t *testing.T, o unstructured.Unstructured) T {
	t.Helper()
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return typed
}

func TestANamespaceOfTenantsIsRestrictedAndStays(t *testing.T) {
	made := objects(t, render(t, `
isolation:
  tenantNamespaces:
  - name: trials
  - name: tenants
    labels: {team: a, pod-security.kubernetes.io/enforce: privileged}
    quota: {pods: "2000", requests.memory: 64Gi}
    limitRange: {default: {memory: 1Gi}, max: {memory: 2Gi}}
`)["isolation-namespaces.yaml"])
	for _, name := range []string{"trials", "tenants"} {
		n := as[corev1.Namespace](t, made["Namespace/"+name])
		for _, mode := range []string{"enforce", "audit", "warn"} {
			if got := n.Labels["pod-security.kubernetes.io/"+mode]; got != "restricted" {
				t.Errorf("%s has %s: %q", name, mode, got)
			}
		}
		if n.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s goes with the chart, and every HostedBridge in it", name)
		}
		if name == "tenants" && n.Labels["team"] != "a" {
			t.Errorf("the labels of %s are %v", name, n.Labels)
		}
	}
	// Objects of several namespaces have one name here.
	documents, err := Documents(render(t, "isolation: {tenantNamespaces: [{name: trials}, {name: tenants, quota: {pods: 5}, limitRange: {max: {memory: 2Gi}}}]}")["isolation-namespaces.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]unstructured.Unstructured{}
	for _, d := range documents {
		o := unstructured.Unstructured{Object: d}
		got[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o
	}
	want := []string{
		"LimitRange tenants/hosted-bridge", "LimitRange trials/hosted-bridge",
		"Namespace /tenants", "Namespace /trials", "ResourceQuota tenants/hosted-bridge",
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Fatalf("there are %v, want %v", names, want)
	}
	plain := as[corev1.LimitRange](t, got["LimitRange trials/hosted-bridge"]).Spec.Limits[0]
	if plain.Default.Memory().String() != "128Mi" || plain.DefaultRequest.Cpu().String() != "10m" || plain.DefaultRequest.Memory().String() != "32Mi" || plain.Max != nil {
		t.Errorf("a container that says nothing has %v", plain)
	}
	if bounded := as[corev1.LimitRange](t, got["LimitRange tenants/hosted-bridge"]).Spec.Limits[0]; bounded.Max.Memory().String() != "2Gi" || bounded.Default.Memory().String() != "128Mi" {
		t.Errorf("a container that says nothing has %v", bounded)
	}
	if quota := as[corev1.ResourceQuota](t, got["ResourceQuota tenants/hosted-bridge"]); quota.Spec.Hard.Pods().String() != "5" {
		t.Errorf("the quota is %v", quota.Spec.Hard)
	}
	if text, has := render(t, "")["isolation-namespaces.yaml"]; has {
		t.Errorf("without any there is %s", text)
	}
}

// TestEveryPodHasAPolicyAndEveryPolicyAPod excepts policies whose pods are made later: their
// description says which.
func TestEveryPodHasAPolicyAndEveryPolicyAPod(t *testing.T) {
	for name, values := range map[string]string{
		"the default":           "",
		"exposed, with bundles": exposed + "bundles: {enabled: true}\n",
		"without a probe":       "isolation: {networkPolicy: {probe: false}}",
	} {
		t.Run(name, func(t *testing.T) {
			pods, policies := map[string]labels.Set{}, map[string]networkingv1.NetworkPolicy{}
			for template, file := range render(t, values) {
				if template == "NOTES.txt" {
					continue
				}
				for _, o := range objects(t, file) {
					where := []string{"spec", "template", "metadata", "labels"}
					switch o.GetKind() {
					case "NetworkPolicy":
						policies[o.GetName()] = as[networkingv1.NetworkPolicy](t, o)
						continue
					case "Pod":
						where = where[2:]
					}
					if of, found, _ := unstructured.NestedStringMap(o.Object, where...); found {
						pods[o.GetKind()+" "+o.GetName()] = of
					}
				}
			}
			selected := map[string]bool{}
			for name, p := range policies {
				selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
				if err != nil {
					t.Fatal(err)
				}
				isUsed := p.Annotations["kubernetes.io/description"] != ""
				for pod, of := range pods {
					if selector.Matches(of) {
						selected[pod], isUsed = true, true
					}
				}
				if !isUsed {
					t.Errorf("the policy %s selects no pod, and does not say which pods it is for", name)
				}
			}
			for pod := range pods {
				if !selected[pod] {
					t.Errorf("no policy selects the %s", pod)
				}
			}
			if _, found := policies["hosted-bridge-probe"]; found != (name != "without a probe") || len(pods) < 4 {
				t.Errorf("the policy of the probe is there: %v, and there are %d pods", found, len(pods))
			}
		})
	}
}

func TestTheOperatorIsToldOfIsolation(t *testing.T) {
	tests := map[string]struct {
		values   string
		has, not []string
	}{
		"by default": {
			"", []string{"--network-policy=true", "--network-policy-probe=true", "name: POD_IP", "--dns-namespace=kube-system", "--dns-pod-labels=k8s-app=kube-dns", "--dns-port=53"},
			[]string{"--require-network-policy", "--scrape-namespace", "--dns-cidr"},
		},
		"where policies are required": {"isolation: {networkPolicy: {require: true}}", []string{"--require-network-policy", "--network-policy-probe=true"}, nil},
		"without a probe":             {"isolation: {networkPolicy: {probe: false}}", []string{"--network-policy-probe=false"}, []string{"--require-network-policy"}},
		"without policies": {
			"isolation: {networkPolicy: {enabled: false}}", []string{"--network-policy=false"},
			[]string{"--network-policy-probe", "POD_IP", "--dns-namespace", "--require-network-policy"},
		},
		"with who reads metrics": {"isolation: {networkPolicy: {monitoringNamespaces: [monitoring, traces]}}", []string{"--scrape-namespace=monitoring", "--scrape-namespace=traces"}, nil},
		"with other resolvers": {
			"isolation: {networkPolicy: {dns: {namespace: openshift-dns, podLabels: {k8s-app: null, b: two, a: one}, port: 5353, cidrs: [169.254.20.10/32]}}}",
			[]string{"--dns-namespace=openshift-dns", "--dns-pod-labels=a=one,b=two", "--dns-port=5353", "--dns-cidr=169.254.20.10/32"}, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			operator := render(t, tt.values)["operator.yaml"]
			for _, want := range tt.has {
				if !strings.Contains(operator, "- "+want+"\n") {
					t.Errorf("the operator has no %s", want)
				}
			}
			for _, foreign := range tt.not {
				if strings.Contains(operator, foreign) {
					t.Errorf("the operator has %s", foreign)
				}
			}
		})
	}
}

// scrapers returns which namespaces a policy lets in at a port, by their name.
func scrapers(p networkingv1.NetworkPolicy, port int) (names []string) {
	for _, rule := range p.Spec.Ingress {
		for _, from := range rule.From {
			if from.NamespaceSelector == nil || from.PodSelector != nil || len(rule.Ports) != 1 || rule.Ports[0].Port.IntValue() != port {
				continue
			}
			for _, e := range from.NamespaceSelector.MatchExpressions {
				if e.Key == corev1.LabelMetadataName && e.Operator == "In" {
					names = append(names, e.Values...)
				}
			}
		}
	}
	return names
}

func TestMetricsAreForTheNamespacesThatAreNamed(t *testing.T) {
	metrics := map[string]int{"operator": 8082, "keybroker": 8081, "ingress": 8081}
	for values, want := range map[string][]string{
		"": nil,
		"isolation: {networkPolicy: {monitoringNamespaces: [monitoring, traces]}}": {"monitoring", "traces"},
	} {
		made := objects(t, render(t, values)["isolation-policies.yaml"])
		for component, port := range metrics {
			p := as[networkingv1.NetworkPolicy](t, made["NetworkPolicy/hosted-bridge-"+component])
			if got := scrapers(p, port); !slices.Equal(got, want) {
				t.Errorf("%q: %s lets in %v, want %v", values, component, got, want)
			}
		}
	}
	if text, has := render(t, "isolation: {networkPolicy: {enabled: false}}")["isolation-policies.yaml"]; has {
		t.Errorf("policies that are not wanted: %s", text)
	}
}

// TestTheKeybrokerIsReachedFromWatchedNamespacesAlone looks at who may come from
// other namespaces than its own.
func TestTheKeybrokerIsReachedFromWatchedNamespacesAlone(t *testing.T) {
	for values, want := range map[string][]string{"": {"everywhere"}, "watchNamespaces: [tenants, trials]": {"tenants", "trials"}} {
		p := as[networkingv1.NetworkPolicy](t, objects(t, render(t, values)["isolation-policies.yaml"])["NetworkPolicy/hosted-bridge-keybroker"])
		var got []string
		for _, rule := range p.Spec.Ingress {
			for _, from := range rule.From {
				switch {
				case from.NamespaceSelector == nil:
				case from.PodSelector == nil || from.PodSelector.MatchLabels["app.kubernetes.io/component"] != "bridge":
					t.Errorf("%q: pods that are no tenants' are let in: %v", values, from)
				case len(from.NamespaceSelector.MatchExpressions) == 0:
					got = append(got, "everywhere")
				default:
					got = append(got, from.NamespaceSelector.MatchExpressions[0].Values...)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: let in are tenants of %v, want %v", values, got, want)
		}
	}
}

// policies returns the admission policies that values make, by name.
func policies(t *testing.T, values string) map[string]unstructured.Unstructured {
	t.Helper()
	all := map[string]unstructured.Unstructured{}
	for template, text := range render(t, values) {
		if strings.HasPrefix(template, "admission-") {
			maps.Copy(all, objects(t, text))
		}
	}
	return all
}

func TestAdmissionPoliciesAreTheInstallationsOwn(t *testing.T) {
	// Where each holds: those for one account hold it wherever it writes.
	watched := map[string]bool{"tenants": true, "workloads": true, "operator": false, "operator-status": false, "operator-persons": false, "operator-jobs": false, "ingress-keys": false, "ingress-status": false, "ingress-persons": false, "ingress-groups": false, "ingress-catalog": false}
	for values, namespaces := range map[string]int{"": 0, "watchNamespaces: [tenants, trials]": 2} {
		all := policies(t, values)
		if len(all) != 2*len(watched) {
			t.Errorf("%q: there are %v", values, slices.Sorted(maps.Keys(all)))
		}
		for short, bound := range watched {
			name := "hosted-bridge-" + short + "." + elsewhere
			p, b := all["ValidatingAdmissionPolicy/"+name], all["ValidatingAdmissionPolicyBinding/"+name]
			if to, _, _ := unstructured.NestedString(b.Object, "spec", "policyName"); to != name {
				t.Errorf("%q: the binding of %s is for %q", values, name, to)
			}
			if policy, _, _ := unstructured.NestedString(p.Object, "spec", "failurePolicy"); policy != "Fail" {
				t.Errorf("%q: %s fails %q", values, name, policy)
			}
			var selected []any
			if expressions, _, _ := unstructured.NestedSlice(p.Object, "spec", "matchConstraints", "namespaceSelector", "matchExpressions"); len(expressions) == 1 {
				selected, _ = expressions[0].(map[string]any)["values"].([]any)
			}
			want := namespaces
			if !bound {
				want = 0
			}
			if len(selected) != want {
				t.Errorf("%q: %s holds in %v", values, name, selected)
			}
		}
	}
	if got := policies(t, "isolation: {admissionPolicies: {enabled: false}}"); len(got) != 0 {
		t.Errorf("policies that are not wanted: %v", slices.Sorted(maps.Keys(got)))
	}
}

func TestAdmissionPoliciesNameNoAccountOfAnotherInstallation(t *testing.T) {
	for template, text := range render(t, "") {
		if !strings.HasPrefix(template, "admission-") {
			continue
		}
		for _, part := range strings.Split(text, "system:serviceaccount:")[1:] {
			if !strings.HasPrefix(part, elsewhere+":hosted-bridge-") && !strings.HasPrefix(part, "kube-system:") {
				t.Errorf("%s names %.60s", template, part)
			}
		}
	}
}

func TestThePodsOfTheProbeHaveTheImageOfBridges(t *testing.T) {
	for values, want := range map[string]string{
		"bridge: {image: example.com/bridge:2}":                    "c.image == 'example.com/bridge:2'",
		"image: {repository: registry.example.com/hb, tag: 1.2.3}": "c.image == 'registry.example.com/hb/bridge:1.2.3'",
	} {
		files := render(t, values)
		if !strings.Contains(files["admission-operator.yaml"], want) {
			t.Errorf("%s: the operator's policy has no %s", values, want)
		}
		image, _, _ := strings.Cut(strings.TrimPrefix(want, "c.image == '"), "'")
		if !strings.Contains(files["config.yaml"], `BRIDGE_IMAGE: "`+image+`"`) {
			t.Errorf("%s: the operator makes pods of another image", values)
		}
	}
	v, err := Values("")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := load(t).Render(Release{Name: "some-name", Namespace: elsewhere, Service: "Kustomize"}, v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain["admission-operator.yaml"], "c.image ==") {
		t.Error("Kustomize, which changes images, is held to one")
	}
}
