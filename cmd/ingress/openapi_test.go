// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/scim/scimapi"
)

// TestUsersAndAdministratorsRoutesAreDescribed compares the routes that the ingress
// serves beside the catalog with their description, both ways.
func TestUsersAndAdministratorsRoutesAreDescribed(t *testing.T) {
	text, err := os.ReadFile("../../internal/catalog/catalogapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range doc.Paths {
		for method, operation := range item {
			o, _ := operation.(map[string]any) // The others are parameters of all methods.
			tags, _ := o["tags"].([]any)
			if slices.ContainsFunc(tags, func(tag any) bool { return slices.Contains([]any{"installation", "scim", "user"}, tag) }) {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	served := []string{
		"POST /mcp", "GET /mcp", "DELETE /mcp",
		"POST /u/{userId}/mcp", "GET /u/{userId}/mcp", "DELETE /u/{userId}/mcp",
		"GET /u/{userId}/sse", "POST /u/{userId}/sse",
	}
	part := regexp.MustCompile(`:([A-Za-z]+)`)
	for _, f := range []httpapi.Feature{management.Health(nil, nil), management.Secrets(nil), management.Admin(management.AdminOptions{}), scimapi.Feature(scimapi.Options{}), management.Shared(management.SharedOptions{})} {
		for _, r := range f.Routes {
			served = append(served, r.Method+" "+part.ReplaceAllString(r.Path, "{$1}"))
		}
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}
