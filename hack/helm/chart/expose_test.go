// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// exposed are values with which the chart makes everything that it has for
// those who come from outside.
const exposed = `
baseURL: https://mcp.example.com
masterKey: {existingSecret: kept}
tls: {mode: certManager, certManager: {issuerRef: {name: letsencrypt}}}
expose:
  ingress:
    enabled: true
    className: nginx
    annotations: {nginx.ingress.kubernetes.io/proxy-read-timeout: "60", example.com/own: "yes"}
    tls: [{secretName: mcp-example-com}]
  httpRoute: {enabled: true, parentRefs: [{name: public, namespace: gateways, sectionName: https, port: 443}]}
`

// strict reads the one object of a rendered template, and fails where it has a
// field that its kind has not.
func strict[T any](t *testing.T, text string) *T {
	t.Helper()
	o := new(T)
	if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(text, "---\n")), o); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return o
}

func TestWhatExposesTheIngressIsWhatOthersRead(t *testing.T) {
	files := render(t, exposed)

	i := strict[networkingv1.Ingress](t, files["expose-ingress.yaml"])
	if rule := i.Spec.Rules[0]; *i.Spec.IngressClassName != "nginx" || rule.Host != "mcp.example.com" || rule.HTTP.Paths[0].Path != "/" || i.Spec.TLS[0].Hosts[0] != "mcp.example.com" {
		t.Errorf("the Ingress is %+v", i.Spec)
	}
	for name, want := range map[string]string{
		"proxy-buffering": "off", "proxy-send-timeout": "3600", "backend-protocol": "HTTPS",
		"proxy-read-timeout": "60", // The values' own goes before.
	} {
		if got := i.Annotations["nginx.ingress.kubernetes.io/"+name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	r := strict[gatewayv1.HTTPRoute](t, files["expose-httproute.yaml"])
	rule := r.Spec.Rules[0]
	if *rule.Timeouts.Request != "0s" || *rule.Timeouts.BackendRequest != "0s" {
		t.Errorf("the timeouts are %v and %v", *rule.Timeouts.Request, *rule.Timeouts.BackendRequest)
	}
	if ref := r.Spec.ParentRefs[0]; ref.Name != "public" || *ref.Namespace != "gateways" || *ref.SectionName != "https" || *ref.Port != 443 {
		t.Errorf("the Gateway is %+v", ref)
	}
	if backend := rule.BackendRefs[0]; backend.Name != "hosted-bridge-ingress" || *backend.Port != 80 || r.Spec.Hostnames[0] != "mcp.example.com" {
		t.Errorf("the route is %+v", r.Spec)
	}

	c := strict[certmanagerv1.Certificate](t, files["certificate.yaml"])
	if c.Spec.SecretName != "hosted-bridge-ingress-tls" || c.Spec.DNSNames[0] != "mcp.example.com" || c.Spec.IssuerRef.Kind != "ClusterIssuer" {
		t.Errorf("the certificate is %+v", c.Spec)
	}
	if c.Spec.PrivateKey.Algorithm != certmanagerv1.ECDSAKeyAlgorithm || c.Spec.PrivateKey.RotationPolicy != certmanagerv1.RotationPolicyAlways {
		t.Errorf("its key is %+v", c.Spec.PrivateKey)
	}
	for _, want := range []string{"--tls-cert-file=/var/run/secrets/hosted-bridge-tls/tls.crt", "secretName: hosted-bridge-ingress-tls", "appProtocol: https"} {
		if !strings.Contains(files["ingress.yaml"], want) {
			t.Errorf("the ingress has no %s", want)
		}
	}
}

func TestTheTestOfAnInstallationHasNoRightAndNoKey(t *testing.T) {
	p := strict[corev1.Pod](t, render(t, exposed)["tests/serves.yaml"])
	if p.Annotations["helm.sh/hook"] != "test" || *p.Spec.AutomountServiceAccountToken || p.Spec.ServiceAccountName != "" {
		t.Errorf("the pod is %+v", p.Spec)
	}
	for _, v := range p.Spec.Volumes {
		if v.Secret != nil && (len(v.Secret.Items) != 1 || v.Secret.Items[0].Key != "tls.crt") {
			t.Errorf("it has of the Secret %s: %+v", v.Secret.SecretName, v.Secret.Items)
		}
	}
	s := p.Spec.Containers[0].SecurityContext
	if !*p.Spec.SecurityContext.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" {
		t.Error("the pod is not restricted")
	}
}

func TestNothingIsExposedUnasked(t *testing.T) {
	files := render(t, `masterKey: {existingSecret: kept}`)
	for _, name := range []string{"expose-ingress.yaml", "expose-httproute.yaml", "certificate.yaml"} {
		if files[name] != "" {
			t.Errorf("%s renders\n%s", name, files[name])
		}
	}
	if strings.Contains(files["ingress.yaml"], "tls") || !strings.Contains(files["ingress.yaml"], "appProtocol: http}") {
		t.Error("the ingress has TLS")
	}
}

func TestWhatIsLostWithANodeIsBounded(t *testing.T) {
	files := render(t, `masterKey: {existingSecret: kept}`)
	for _, component := range []string{"operator", "keybroker", "ingress"} {
		if !strings.Contains(files["pdb.yaml"], "name: hosted-bridge-"+component+"\n") {
			t.Errorf("%s has no budget", component)
		}
		for _, want := range []string{"priorityClassName: hosted-bridge-system\n", "topologyKey: kubernetes.io/hostname\n", "topologyKey: topology.kubernetes.io/zone\n", "maxUnavailable: 0"} {
			if !strings.Contains(files[component+".yaml"], want) {
				t.Errorf("%s has no %s", component, want)
			}
		}
	}
	for document := range strings.SplitSeq(strings.TrimPrefix(files["pdb.yaml"], "---\n"), "\n---\n") {
		if b := strict[policyv1.PodDisruptionBudget](t, document); b.Spec.MaxUnavailable.IntValue() != 1 {
			t.Errorf("%s lets %v go", b.Name, b.Spec.MaxUnavailable)
		}
	}
	one := render(t, "masterKey: {existingSecret: kept}\noperator: {replicas: 1}")
	if strings.Contains(one["pdb.yaml"], "hosted-bridge-operator") {
		t.Error("a budget of one replica would let no node be emptied, or keep nothing")
	}
}

func TestTenantsPodsComeAfterWhatAllOfThemNeed(t *testing.T) {
	for _, test := range []struct{ name, values, system, bridges string }{
		{"of one installation in the cluster", "", "hosted-bridge-system", "hosted-bridge-bridges"},
		{"of one among others", "watchNamespaces: [tenants]", "hosted-bridge-system-elsewhere", "hosted-bridge-bridges-elsewhere"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := render(t, "masterKey: {existingSecret: kept}\n"+test.values)
			system, bridges, _ := strings.Cut(files["priorityclass.yaml"], "\n---\n")
			first, second := strict[schedulingv1.PriorityClass](t, system), strict[schedulingv1.PriorityClass](t, bridges)
			if first.Name != test.system || second.Name != test.bridges || first.Value <= second.Value || first.GlobalDefault || second.GlobalDefault {
				t.Errorf("%s has %d, %s has %d", first.Name, first.Value, second.Name, second.Value)
			}
			if !strings.Contains(files["operator.yaml"], "--bridge-priority-class="+test.bridges+"\n") {
				t.Error("the operator does not know of it")
			}
		})
	}
	none := render(t, "masterKey: {existingSecret: kept}\npriorityClasses: {create: false, bridges: batch}")
	if none["priorityclass.yaml"] != "" || strings.Contains(none["ingress.yaml"], "priorityClassName") || !strings.Contains(none["operator.yaml"], "--bridge-priority-class=batch\n") {
		t.Error("classes are made unasked, or one that is named is not used")
	}
}
