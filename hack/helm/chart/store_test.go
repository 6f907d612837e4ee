// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/engine"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestTheStoreIsWhatTheIngressesUse(t *testing.T) {
	const counts, index = "--quota-store-url=https://hosted-bridge-store.$(POD_NAMESPACE).svc:8443\n", "--audit-index=store:https://hosted-bridge-store.$(POD_NAMESPACE).svc:8443\n"
	const redis = "quota: {redis: {url: 'redis://valkey:6379/0'}}"
	for _, test := range []struct {
		name, values  string
		counts, index bool
	}{
		{"by default", "", true, true},
		{"beside a Redis", redis, false, true},
		{"beside a database", "audit: {index: {type: postgres, postgres: {existingSecret: url}}}", true, false},
		{"beside an index of each replica", "audit: {index: {type: sqlite}}", true, false},
		{"with all elsewhere", redis + "\naudit: {index: {type: none}}", false, false},
		{"without it", "store: {enabled: false}\naudit: {index: {type: sqlite}}", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := render(t, test.values+"\nbundles: {enabled: false}\nmonitoring: {requireNamespaces: false, serviceMonitor: {enabled: true}}")
			ingress := files["ingress.yaml"]
			if strings.Contains(ingress, counts) != test.counts || strings.Contains(ingress, index) != test.index {
				t.Errorf("the ingress's flags are others:\n%s", ingress)
			}
			used := test.counts || test.index
			for file, what := range map[string]string{
				"store.yaml": "name: hosted-bridge-store\n", "isolation-policies.yaml": "component: store}", "monitoring-servicemonitor.yaml": "name: hosted-bridge-store-metrics\n",
			} {
				if strings.Contains(files[file], what) != used {
					t.Errorf("%s has the store: %v, want %v", file, !used, used)
				}
			}
		})
	}
}

func TestTheStoresVolumeIsAClaimWhereOneIsBound(t *testing.T) {
	class := func(isDefault string) object {
		return object{kind: "StorageClass", name: "class-" + isDefault, annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": isDefault}}
	}
	for _, test := range []struct {
		name    string
		cluster engine.ClientProvider
		values  string
		claim   bool
	}{
		{"without a cluster", nil, "", true},
		{"with a default class", secrets{}.and(class("false"), class("true")), "", true},
		{"without a class", secrets{}.and(object{kind: "Secret", namespace: elsewhere, name: "one"}), "", false},
		{"without a default class", secrets{}.and(class("false")), "", false},
		{"with a class by name", secrets{}.and(class("false")), "store: {persistence: {storageClassName: class-false}}", true},
		{"in namespaced mode", secrets{}.and(class("false")), "watchNamespaces: [tenants]", true},
		{"with a claim at all events", secrets{}.and(class("false")), "store: {persistence: {enabled: true}}", true},
		{"without a claim at all events", secrets{}.and(class("true")), "store: {persistence: {enabled: false}}", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			files, err := renderAt(t, test.cluster, test.values)
			if err != nil {
				t.Fatal(err)
			}
			for text, want := range map[string]bool{"kind: PersistentVolumeClaim\n": test.claim, "claimName: hosted-bridge-store}": test.claim, "emptyDir: {sizeLimit: 4Gi}": !test.claim} {
				if strings.Contains(files["store.yaml"], text) != want {
					t.Errorf("it has %q: %v", text, !want)
				}
			}
			if told := strings.Contains(files["NOTES.txt"], "has no PersistentVolumeClaim"); told == test.claim {
				t.Errorf("the notes tell what is lost with the pod: %v", told)
			}
		})
	}
}

func TestBundlesHaveAVolumeAndAnAccountOfTheirOwn(t *testing.T) {
	const elsewhere = "quota: {redis: {url: 'redis://valkey:6379/0'}}\naudit: {index: {type: none}}"
	for _, test := range []struct {
		name, values string
		used         bool
	}{
		{"by default", "", true},
		{"with nothing else in the store", elsewhere, true},
		{"without them", "bundles: {enabled: false}", false},
		{"without a store", elsewhere + "\nstore: {enabled: false}", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := render(t, test.values)
			for file, texts := range map[string][]string{
				"store.yaml": {
					"--bundles-directory=/var/lib/hosted-bridge-bundles\n", "--bundles-max-bytes=8589934592\n", "--bundle-max-bytes=1073741824\n", "port: 8444",
					"name: hosted-bridge-bundler\n", "claimName: hosted-bridge-bundles}", "requests: {storage: 10Gi}",
				},
				"isolation-policies.yaml": {"name: hosted-bridge-bundler\n", "component: bundler}", "port: 8444}"},
			} {
				for _, text := range texts {
					if strings.Contains(files[file], text) != test.used {
						t.Errorf("%s has %q: %v", file, text, !test.used)
					}
				}
			}
		})
	}
	files, err := renderAt(t, nil, "store: {persistence: {enabled: false}}\nbundles: {size: 3Gi, maxTotalBytes: 2000000000}")
	if err != nil || !strings.Contains(files["store.yaml"], "emptyDir: {sizeLimit: 3Gi}") || !strings.Contains(files["store.yaml"], "--bundles-max-bytes=2000000000\n") {
		t.Errorf("without a claim: %v\n%s", err, files["store.yaml"])
	}
}

// TestPodsMountImagesOfTheRegistryOfBundlesAlone renders the chart with and without one.
func TestPodsMountImagesOfTheRegistryOfBundlesAlone(t *testing.T) {
	const repository = "registry.example.com:5000/mcp/bundles"
	for name, values := range map[string]string{"a registry": "bundles: {registry: {repository: \"" + repository + "\", authorities: PEM, allowCIDRs: [10.0.5.0/24]}}", "none": ""} {
		files := render(t, values)
		for file, text := range map[string]string{
			"admission-tenants.yaml":  "has(v.image) && v.image.?reference.orValue('').startsWith('" + repository + "@sha256:')",
			"operator.yaml":           "--bundle-registry=" + repository,
			"isolation-policies.yaml": "cidr: \"10.0.5.0/24\"",
		} {
			if got := strings.Contains(files[file], text); got != (values != "") {
				t.Errorf("with %s %s has %q: %v", name, file, text, got)
			}
		}
	}
}

// blocks returns the ranges of addresses that pods with bundles' maker may reach, with what is
// left out of each.
func blocks(t *testing.T, values string) map[string]string {
	t.Helper()
	made := objects(t, render(t, values)["isolation-policies.yaml"])
	p := as[networkingv1.NetworkPolicy](t, made["NetworkPolicy/hosted-bridge-bundler"]).Spec
	if len(p.PolicyTypes) != 2 || len(p.Ingress) != 0 {
		t.Errorf("it is reached by %+v", p.Ingress)
	}
	found := map[string]string{}
	for i, rule := range p.Egress {
		if len(rule.To) == 0 {
			t.Errorf("egress[%d] is to everybody", i)
		}
		for _, to := range rule.To {
			if to.IPBlock != nil {
				found[to.IPBlock.CIDR] = strings.Join(to.IPBlock.Except, " ")
			}
		}
	}
	return found
}

func TestWhatMakesBundlesReachesRegistriesAsUsersProgramsDo(t *testing.T) {
	all := blocks(t, "")
	if len(all) != 2 || !strings.HasPrefix(all["0.0.0.0/0"], "0.0.0.0/8 10.0.0.0/8 ") || !strings.Contains(all["::/0"], "fc00::/7") {
		t.Errorf("%v", all)
	}
	got := blocks(t, `bridge: {upstream: {
		allowCIDRs: [10.96.0.0/16, 10.200.0.0/16, 192.168.7.7/32, 172.16.0.0/12, "fd00:10::/32"],
		denyCIDRs: [10.96.0.1/32, 10.97.0.1/32, 10.200.0.0/15, 192.168.7.7/32]}}`)
	for cidr, want := range map[string]string{"10.96.0.0/16": "10.96.0.1/32", "172.16.0.0/12": "", "fd00:10::/32": ""} {
		if except, ok := got[cidr]; !ok || except != want {
			t.Errorf("%s: %v, %q, want %q", cidr, ok, except, want)
		}
	}
	if len(got) != 5 || !strings.HasSuffix(got["0.0.0.0/0"], " 10.96.0.1/32 10.97.0.1/32 10.200.0.0/15 192.168.7.7/32") {
		t.Errorf("%v", got)
	}
	if got := blocks(t, `bridge: {upstream: {allowCIDRs: ["fd00:10::/32"], denyCIDRs: [0.0.0.0/0, "::/0"]}}`); len(got) != 0 {
		t.Errorf("with all denied: %v", got)
	}
}

func TestTheStoreReachesTheKeybrokerAndNothingElse(t *testing.T) {
	made := objects(t, render(t, "isolation: {networkPolicy: {dns: {cidrs: [169.254.20.10/32]}}}")["isolation-policies.yaml"])
	p := as[networkingv1.NetworkPolicy](t, made["NetworkPolicy/hosted-bridge-store"]).Spec
	if len(p.PolicyTypes) != 2 || len(p.Ingress) != 2 || len(p.Egress) != 2 {
		t.Fatalf("%+v", p)
	}
	component := func(peers []networkingv1.NetworkPolicyPeer) string {
		return peers[0].PodSelector.MatchLabels["app.kubernetes.io/component"]
	}
	if from := p.Ingress[0]; len(from.From) != 1 || component(from.From) != "ingress" || from.Ports[0].Port.IntValue() != 8443 {
		t.Errorf("it is reached by %+v", from)
	}
	if from := p.Ingress[1]; len(from.From) != 3 || component(from.From[2:]) != "bridge" || component(from.From[1:]) != "bundler" || from.Ports[0].Port.IntValue() != 8444 {
		t.Errorf("its bundles are reached by %+v", from)
	}
	if to := p.Egress[0]; len(to.To) != 1 || component(to.To) != "keybroker" || to.Ports[0].Port.IntValue() != 8443 {
		t.Errorf("it reaches %+v", to)
	}
	if dns := p.Egress[1]; len(dns.To) != 2 || dns.To[1].IPBlock.CIDR != "169.254.20.10/32" || dns.Ports[0].Port.IntValue() != 53 {
		t.Errorf("it asks %+v", dns)
	}
}
