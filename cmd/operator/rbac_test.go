// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// grants are the roles and bindings of the manifests. Both kinds of role and
// both of binding have the same fields.
type grants struct {
	roles    map[string][]rbacv1.PolicyRule
	bindings []rbacv1.ClusterRoleBinding
}

func (g *grants) add(data []byte) error {
	if g.roles == nil {
		g.roles = map[string][]rbacv1.PolicyRule{}
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var o struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        metav1.ObjectMeta   `json:"metadata"`
			Rules           []rbacv1.PolicyRule `json:"rules"`
			RoleRef         rbacv1.RoleRef      `json:"roleRef"`
			Subjects        []rbacv1.Subject    `json:"subjects"`
		}
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch o.Kind {
		case "ClusterRole", "Role":
			g.roles[o.Kind+"/"+o.Metadata.Name] = o.Rules
		case "ClusterRoleBinding", "RoleBinding":
			g.bindings = append(g.bindings, rbacv1.ClusterRoleBinding{RoleRef: o.RoleRef, Subjects: o.Subjects})
		}
	}
}

// of returns all rules that hold for the ServiceAccount called name. A role
// that is bound and not in the manifests counts as a right on everything.
func (g *grants) of(name string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, b := range g.bindings {
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Name == name || s.Kind != "ServiceAccount" }) {
			continue
		}
		bound, ok := g.roles[b.RoleRef.Kind+"/"+b.RoleRef.Name]
		if !ok {
			bound = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
		}
		rules = append(rules, bound...)
	}
	return rules
}

// onSecrets says whether a rule allows anything with Secrets.
func onSecrets(r rbacv1.PolicyRule) bool {
	group := slices.Contains(r.APIGroups, "") || slices.Contains(r.APIGroups, "*")
	return group && slices.ContainsFunc(r.Resources, func(s string) bool { return s == "secrets" || s == "*" || s == "secrets/*" })
}

func TestTheOperatorHasNoRightOnSecrets(t *testing.T) {
	files := must.Value(filepath.Glob("../../config/rbac/*.yaml"))(t)
	var g grants
	for _, file := range files {
		data := must.Value(os.ReadFile(file))(t)
		if err := g.add(data); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	rules := g.of("hosted-bridge-operator")
	if len(rules) < 8 {
		t.Errorf("found only %d rules of the operator's", len(rules))
	}
	for _, r := range rules {
		if onSecrets(r) {
			t.Errorf("the operator may %v %v", r.Verbs, r.Resources)
		}
	}
	// The same look finds the rights of the one who has them.
	if !slices.ContainsFunc(g.of("hosted-bridge-keybroker"), onSecrets) {
		t.Error("the keybroker has no right on Secrets, so that this test looks for the wrong thing")
	}
}

func TestRightsOnSecretsAreFoundInEachForm(t *testing.T) {
	const binding = `
kind: ClusterRoleBinding
roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: ServiceAccount, name: hosted-bridge-operator}]
`
	for name, tt := range map[string]struct {
		manifest string
		found    bool
	}{
		"by name":                {`{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: [""], resources: [pods, secrets], verbs: [list]}]}`, true},
		"one Secret":             {`{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: [""], resources: [secrets], resourceNames: [a], verbs: [get]}]}`, true},
		"all resources":          {`{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: [""], resources: ["*"], verbs: [get]}]}`, true},
		"all groups":             {`{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: ["*"], resources: [secrets], verbs: [get]}]}`, true},
		"a role from elsewhere":  {`{kind: ClusterRole, metadata: {name: other}}`, true},
		"a Role of that name":    {`{kind: Role, metadata: {name: r}}`, true},
		"others":                 {`{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`, false},
		"secrets of other kinds": {`{kind: ClusterRole, metadata: {name: r}, rules: [{apiGroups: [example.com], resources: [secrets], verbs: [get]}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var g grants
			must.Succeed(t, g.add([]byte(tt.manifest+"\n---"+binding)))
			if found := slices.ContainsFunc(g.of("hosted-bridge-operator"), onSecrets); found != tt.found {
				t.Errorf("found %v, want %v", found, tt.found)
			}
		})
	}
}
