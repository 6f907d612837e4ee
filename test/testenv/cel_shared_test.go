// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/profile/manifest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

// createKind asks the API server what it says of an object of a kind. Nothing is stored.
func createKind(t *testing.T, c client.Client, kind, namespace, name, spec string) error {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &o.Object); err != nil {
		t.Fatalf("%v: %s", err, spec)
	}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
}

// TestAManifestIsReadAsTheAPIServerReadsIt compares what the console makes of manifests with what
// the API server does. Of rules in CEL the console says nothing.
func TestAManifestIsReadAsTheAPIServerReadsIt(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const everybody = "who: {namespaces: [a], everyone: true}"
	for spec, want := range map[string]string{
		everybody: "both", "priority: 5\n" + everybody + "\nrollout: {pace: Immediate}": "both",
		everybody + "\nservers: [{name: a, recipe: {name: github}}, {name: b, use: Optional, transport: {url: 'https://b.example.com'}}]":                                 "both",
		everybody + "\nservers: [{name: a, transport: {type: Stdio, stdio: {image: x, command: [z], storage: {size: 1Gi}, resources: {limits: {cpu: 1, memory: 1Gi}}}}}]": "both",
		everybody + "\npriority: -1": "none", everybody + "\ntiers: x": "none", everybody + "\nmode: X": "none", "who: {}": "none",
		everybody + "\nvariables: [{name: A, value: 7}]": "none", everybody + "\nservers: [{name: a, use: Never}]": "none",
		"who: {namespaces: [a]}": "console", // A rule in CEL.
	} {
		text := "apiVersion: hostedbridge.dev/v1alpha1\nkind: BridgeProfile\nmetadata: {name: a}\nspec: {" + strings.ReplaceAll(spec, "\n", ", ") + "}\n"
		read, problems := manifest.Parse([]byte(text), namespace)
		var stored v1alpha1.BridgeProfile
		o := &unstructured.Unstructured{}
		must.Succeed(t, yaml.Unmarshal([]byte(text), &o.Object))
		o.SetNamespace(namespace)
		err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
		if err == nil {
			must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &stored))
		}
		accepted := map[bool]string{true: "none"}[len(problems) > 0 && err != nil]
		switch {
		case len(problems) == 0 && err == nil:
			accepted = "both"
		case len(problems) == 0:
			accepted = "console"
		case err == nil:
			accepted = "API server"
		}
		if accepted != want {
			t.Errorf("%s\nis accepted by %s, want %s: %v, %v", text, accepted, want, problems, err)
		}
		if diff := cmp.Diff(stored.Spec, read.Spec); accepted == "both" && diff != "" {
			t.Errorf("%s (-API server +console):\n%s", text, diff)
		}
	}
}

func TestSharedServersAreCheckedByTheAPIServer(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const good = `{server: {transport: {url: 'https://pay.example.com/mcp', headers: [{name: Authorization, value: 'Bearer ${A}'}]}}, secrets: [A],
		members: [{issuer: 'https://idp', value: m}], owners: [{issuer: 'https://idp', value: o}], namespaces: [people]}`
	with := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("%q is not in it", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	names := make([]string, 17)
	for i := range names {
		names[i] = "S" + string(rune('A'+i))
	}
	for name, tt := range map[string]struct {
		object, spec string
		want         []string
	}{
		"a good one":                {"payments", good, nil},
		"one over SSE":              {"payments", with("transport: {", "transport: {type: SSE, "), nil},
		"all namespaces":            {"payments", with("[people]", "['*']"), nil},
		"16 secrets":                {"payments", with("[A]", "["+strings.Join(names[:16], ", ")+"]"), nil},
		"17 secrets":                {"payments", with("[A]", "["+strings.Join(names, ", ")+"]"), []string{"spec.secrets", "16"}},
		"no secrets":                {"payments", with("[A]", "[]"), []string{"spec.secrets"}},
		"a secret's name":           {"payments", with("[A]", "['shared/x/A']"), []string{"spec.secrets[0]", "a secret's name must be"}},
		"a program":                 {"payments", with("{url: 'https://pay.example.com/mcp', headers: [{name: Authorization, value: 'Bearer ${A}'}]}", "{type: Stdio, stdio: {image: x, command: [x]}}"), []string{"spec.server.transport", "a shared server is reached over HTTP"}},
		"a name with a full stop":   {"pay.ments", good, []string{"metadata.name must be 1 to 63 lower-case letters"}},
		"a group of a manifest":     {"payments", with("members: [{issuer: 'https://idp', value: m}]", "members: [{value: m}]"), []string{"spec.members[0].issuer"}},
		"no members":                {"payments", with("members: [{issuer: 'https://idp', value: m}]", "members: []"), []string{"spec.members"}},
		"no owners":                 {"payments", with(", owners: [{issuer: 'https://idp', value: o}]", ""), []string{"spec.owners"}},
		"a namespace beside all":    {"payments", with("[people]", "['*', people]"), []string{"names of namespaces, or * alone"}},
		"a URL with a password":     {"payments", with("https://pay", "https://me:x@pay"), []string{"without credentials"}},
		"a field that there is not": {"payments", with("secrets:", "programs: Allow, secrets:"), []string{"programs"}},
	} {
		err := createKind(t, c, "SharedServer", namespace, tt.object, tt.spec)
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", name, want, err)
			}
		}
	}
}

func TestAProfilesServerIsSharedOrNot(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const oneOf, excludes = "one of transport", "shared excludes secrets and auth"
	for server, want := range map[string]string{
		"shared: {name: payments}":                                    "",
		"shared: {name: payments}, use: Required, tools: {deny: [x]}": "",
		"transport: {url: 'https://h/mcp'}":                           "",
		"recipe: {name: github}":                                      "",
		"use: Required":                                               oneOf,
		"shared: {name: payments}, recipe: {name: github}":            oneOf,
		"shared: {name: payments}, transport: {url: 'https://h/mcp'}": oneOf,
		"recipe: {name: github}, transport: {url: 'https://h/mcp'}":   oneOf,
		"shared: {name: payments}, secrets: [A]":                      excludes,
		"shared: {name: payments}, auth: {oauth: {grant: ClientCredentials, tokenURL: 'https://l/t', clientID: me, clientSecret: A}}": excludes,
		"shared: {}": "spec.servers[0].shared.name",
	} {
		err := createKind(t, c, "BridgeProfile", namespace, "p", "{who: {namespaces: [people], everyone: true}, servers: [{name: x, "+server+"}]}")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", server, err)
		}
	}
	// A HostedBridge can name none.
	for _, server := range []string{"shared: {name: payments}", "shared: {name: payments}, transport: {url: 'https://h/mcp'}", "transport: {url: 'https://h/mcp'}, secrets: ['shared/payments/PAY_TOKEN']"} {
		if _, err := create(t, c, namespace, "{servers: [{name: x, "+server+"}]}"); err == nil {
			t.Errorf("a HostedBridge has a server with %s", server)
		}
	}
}

func TestPeopleAreFoundByFields(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	p := &v1alpha1.BridgePerson{Spec: v1alpha1.BridgePersonSpec{Issuer: "https://idp", Subject: `odd,sub=ject\|1`}}
	p.Namespace, p.Name = namespace, "odd"
	u := &v1alpha1.BridgePerson{Spec: v1alpha1.BridgePersonSpec{User: "ulla"}}
	u.Namespace, u.Name = namespace, "user.ulla"
	testenv.ExpectApplied(t, c, p, u)
	p.Status.Login = &v1alpha1.PersonLogin{User: "ruled", Time: metav1.Now()}
	must.Succeed(t, c.Status().Update(t.Context(), p))
	for field, tt := range map[string]struct{ value, want string }{
		"spec.subject": {`odd,sub=ject\|1`, "odd"}, "spec.user": {"ulla", "user.ulla"}, "status.login.user": {"ruled", "odd"},
	} {
		var list v1alpha1.BridgePersonList
		if err := c.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingFields{field: tt.value}); err != nil || len(list.Items) != 1 || list.Items[0].Name != tt.want {
			t.Errorf("by %s: %d, %v", field, len(list.Items), err)
		}
	}
}
