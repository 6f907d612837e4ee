// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/gobuild"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestTheBridgeStaysSmall holds what keeps a user's pod small and harmless: bridges run once
// per user, shims once per server, and neither can speak to Kubernetes.
func TestTheBridgeStaysSmall(t *testing.T) {
	t.Parallel()
	const own = "github.com/hostedbridge/hostedbridge/"
	cluster := []string{"k8s.io/", "sigs.k8s.io/", "github.com/gin-gonic/", own + "api/v1alpha1", own + "controllers/"}
	// A laptop's bridge reads recipes. Their type links nothing of Kubernetes, as the list above shows.
	const recipes = own + "api/v1alpha1/recipefile"
	laptop := []string{own + "internal/laptop", own + "internal/catalog", "github.com/zalando/go-keyring", "github.com/spf13/cobra", "text/template"}
	protobuf := []string{"google.golang.org/protobuf", "github.com/prometheus/client_golang"}
	http := []string{"net/http", "github.com/modelcontextprotocol/go-sdk"}
	banned := cluster
	for _, program := range []struct {
		name string
		more []string
	}{{"bridge", nil}, {"bridgepod", append(laptop, protobuf...)}, {"shim", http}} {
		banned = append(banned, program.more...)
		must.Succeed(t, gobuild.Look(t.Context(), own+"cmd/"+program.name))
		out := must.Value(exec.CommandContext(t.Context(), "go", "list", "-deps", own+"cmd/"+program.name).Output())(t)
		for pkg := range strings.FieldsSeq(string(out)) {
			for _, prefix := range banned {
				if strings.HasPrefix(pkg, prefix) && (pkg != recipes || program.name != "bridge") {
					t.Errorf("cmd/%s links %s", program.name, pkg)
				}
			}
		}
	}
}
