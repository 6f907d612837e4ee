// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package privileges_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/privileges"
)

const (
	root     = "../.."
	document = "docs/operations/rights.md"
)

var quoted = regexp.MustCompile("`([^`]*)`")

// documented returns the rights of the document's table, one a line.
func documented(t *testing.T) (rights []string) {
	t.Helper()
	text := must.Value(os.ReadFile(filepath.Join(root, document)))(t)
	_, table, _ := strings.Cut(string(text), "<!-- rights -->\n")
	table, _, ended := strings.Cut(table, "<!-- /rights -->")
	if !ended {
		t.Fatalf("%s has no table between <!-- rights --> and <!-- /rights -->", document)
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if cells[0] == "process" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		if len(cells) != 5 {
			t.Fatalf("%s: a row of %d cells, want 5: %s", document, len(cells), line)
		}
		// The catalog is in the installation's namespace, as shipped.
		where := strings.Replace(cells[1], "catalog", "installation", 1)
		for _, resource := range quoted.FindAllStringSubmatch(cells[2], -1) {
			for verb := range strings.SplitSeq(cells[3], ", ") {
				rights = append(rights, cells[0]+" "+where+": "+verb+" "+resource[1])
			}
		}
	}
	return rights
}

// shipped returns the roles and bindings of config/rbac, installed in the
// namespace that they are for.
func shipped(t *testing.T) (g privileges.Grants) {
	t.Helper()
	files := must.Value(filepath.Glob(filepath.Join(root, "config/rbac/*.yaml")))(t)
	for _, file := range files {
		addInstalled(t, &g, strings.TrimPrefix(file, root+"/"))
	}
	return g
}

// addInstalled adds the roles and bindings of a manifest, installed in the namespace that they are
// for. The file's path is that in the repository.
func addInstalled(t *testing.T, g *privileges.Grants, file string) {
	t.Helper()
	data := must.Value(os.ReadFile(filepath.Join(root, file)))(t)
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		// Both kinds of role and both of binding have the same fields.
		var o struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        metav1.ObjectMeta   `json:"metadata"`
			Rules           []rbacv1.PolicyRule `json:"rules"`
			RoleRef         rbacv1.RoleRef      `json:"roleRef"`
			Subjects        []rbacv1.Subject    `json:"subjects"`
		}
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		here := o.Metadata
		here.Namespace = system
		switch o.Kind {
		case "Role":
			g.Roles = append(g.Roles, rbacv1.Role{ObjectMeta: here, Rules: o.Rules})
		case "ClusterRole":
			g.ClusterRoles = append(g.ClusterRoles, rbacv1.ClusterRole{ObjectMeta: o.Metadata, Rules: o.Rules})
		case "RoleBinding":
			g.RoleBindings = append(g.RoleBindings, rbacv1.RoleBinding{ObjectMeta: here, RoleRef: o.RoleRef, Subjects: o.Subjects})
		case "ClusterRoleBinding":
			g.ClusterRoleBindings = append(g.ClusterRoleBindings, rbacv1.ClusterRoleBinding{RoleRef: o.RoleRef, Subjects: o.Subjects})
		}
	}
}

func TestTheDocumentHasEachRightAndNoOther(t *testing.T) {
	g := shipped(t)
	var rights []string
	for _, process := range []string{"operator", "keybroker", "ingress"} {
		own, common := g.Of(privileges.Account{Namespace: system, Name: "hosted-bridge-" + process})
		if len(own) == 0 || len(common) > 0 {
			t.Errorf("the %s has %d rights of its own and %d of a group's, want some and none", process, len(own), len(common))
		}
		for _, r := range own {
			where := "everywhere"
			if r.Namespace != "" {
				where = "installation"
			}
			rights = append(rights, process+" "+where+": "+r.String())
		}
	}
	if own, common := g.Of(privileges.Account{Namespace: system, Name: "hosted-bridge-store"}); len(own)+len(common) > 0 {
		t.Errorf("the store has rights: %v %v", own, common)
	}
	want := documented(t)
	slices.Sort(want)
	slices.Sort(rights)
	if diff := cmp.Diff(want, rights); diff != "" {
		t.Errorf("%s (-) and config/rbac (+) differ:\n%s", document, diff)
	}
}
