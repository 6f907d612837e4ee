// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"cel.dev/cel-go/cel"
	"sigs.k8s.io/yaml"
)

// gitOpsPage is the page with the health check for Flux.
const gitOpsPage = "../../docs/operations/profiles.md"

// bridges are HostedBridges, and how Flux has to show each.
var bridges = map[string]struct{ object, flux string }{
	"before the operator has seen it": {`{"metadata":{"generation":1},"status":{}}`, "in progress"},
	"after an edit": {`{"metadata":{"generation":2},"status":{"observedGeneration":1,"phase":"Running",
		"conditions":[{"type":"Ready","status":"True","message":"ready"}]}}`, "in progress"},
	"while it starts": {`{"metadata":{"generation":1},"status":{"observedGeneration":1,"phase":"Starting",
		"conditions":[{"type":"Ready","status":"False","message":"starting"},{"type":"Reconciling","status":"True","message":"starting"}]}}`, "in progress"},
	"in service": {`{"metadata":{"generation":1},"status":{"observedGeneration":1,"phase":"Running",
		"conditions":[{"type":"Ready","status":"True","message":"ready"},{"type":"ServersHealthy","status":"True","message":"all"}]}}`, "current"},
	"before a server was seen": {`{"metadata":{"generation":1},"status":{"observedGeneration":1,"phase":"Running",
		"conditions":[{"type":"ServersHealthy","status":"Unknown","message":"not asked"},{"type":"Ready","status":"True","message":"ready"}]}}`, "current"},
	"with a server that fails": {`{"metadata":{"generation":1},"status":{"observedGeneration":1,"phase":"Running",
		"conditions":[{"type":"Ready","status":"True","message":"ready"},{"type":"ServersHealthy","status":"False","message":"github: secret TOKEN is not set"}]}}`, "failed"},
	"failed": {`{"metadata":{"generation":1},"status":{"observedGeneration":1,"phase":"Failed",
		"conditions":[{"type":"Ready","status":"False","message":"the tier is unknown"},{"type":"Stalled","status":"True","message":"the tier is unknown"}]}}`, "failed"},
}

// block returns the YAML block of the page that begins with this text.
func block(t *testing.T, begins string) map[string]any {
	t.Helper()
	page, err := os.ReadFile(gitOpsPage)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```yaml\n(" + regexp.QuoteMeta(begins) + ".*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no block that begins with %s", begins)
	}
	var values map[string]any
	if err := yaml.Unmarshal(found[1], &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestFluxSeesWhatIsWrongWithABridge(t *testing.T) {
	list, _ := block(t, "healthCheckExprs:")["healthCheckExprs"].([]any)
	expressions, _ := list[0].(map[string]any)
	env, err := cel.NewEnv(cel.Variable("metadata", cel.DynType), cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	// Flux takes the first one that is true, in this order, and waits if there is none.
	holds := func(t *testing.T, name string, object map[string]any) bool {
		t.Helper()
		text, _ := expressions[name].(string)
		ast, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := program.Eval(object)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return got.Value() == true
	}
	for what, test := range bridges {
		t.Run(what, func(t *testing.T) {
			object, got := decode(t, test.object), "in progress"
			switch {
			case holds(t, "inProgress", object):
			case holds(t, "failed", object):
				got = "failed"
			case holds(t, "current", object):
				got = "current"
			}
			if got != test.flux {
				t.Errorf("%s, want %s", got, test.flux)
			}
		})
	}
}
