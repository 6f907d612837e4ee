// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// workloads are the templates whose golden files are kept, and what they read.
var workloads = []string{"config.yaml", "operator.yaml", "keybroker.yaml", "ingress.yaml", "store.yaml", "backup.yaml"}

func TestValuesMakeTheProcessesWhatTheGoldenFilesSay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".values.yaml")
		t.Run(name, func(t *testing.T) {
			values, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rendered := render(t, string(values))
			var got strings.Builder
			kept := map[string]string{}
			for _, w := range workloads {
				kept[w] = rendered[w]
			}
			if err := Write(&got, kept); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if line, g, w := firstDifference(got.String(), string(want)); line > 0 {
				t.Errorf("%s differs at line %d:\n got %s\nwant %s\n(go test ./chart -update writes it anew)", golden, line, g, w)
			}
		})
	}
}

// firstDifference returns the first line in which two texts differ, 0 if none.
func firstDifference(got, want string) (line int, g, w string) {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for n := range max(len(a), len(b)) {
		g, w = "(end)", "(end)"
		if n < len(a) {
			g = a[n]
		}
		if n < len(b) {
			w = b[n]
		}
		if g != w {
			return n + 1, g, w
		}
	}
	return 0, "", ""
}

func TestEveryTemplateIsYAMLThatNamesNoOtherNamespaceAndNoRelease(t *testing.T) {
	values, err := os.ReadFile("testdata/external.values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)^\s*#.*$`)
	for _, v := range []string{"", string(values), "watchNamespaces: [tenants]"} {
		for name, text := range render(t, v) {
			if name == "NOTES.txt" {
				continue
			}
			if _, err := Documents(text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			said := comment.ReplaceAllString(text, "")
			for _, foreign := range []string{"namespace: hosted-bridge-system", ".hosted-bridge-system.", "some-name"} {
				if strings.Contains(said, foreign) && name != "crds.yaml" {
					t.Errorf("%s has %q", name, foreign)
				}
			}
		}
	}
}

func TestAPodIsReplacedWhenWhatItReadsAtItsStartAloneChanges(t *testing.T) {
	tests := []struct {
		name   string
		values string
		want   []string // components whose pods differ from those without values.
	}{
		{"a tier is read by ingresses while they run", "tiers: {free: {perMinute: 31}}", []string{"keybroker", "operator"}},
		{"the public address is the operator's and the ingress's", "baseURL: https://bridges.example.com", []string{"ingress", "operator"}},
		{"the tenants' image is the operator's", "bridge: {image: example.com/bridge:2}", []string{"operator"}},
		{"a label of the Service is no pod's", "ingress: {service: {annotations: {a: b}}}", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := render(t, ""), render(t, tt.values)
			var got []string
			for _, component := range []string{"ingress", "keybroker", "operator"} {
				if pod(t, before, component) != pod(t, after, component) {
					got = append(got, component)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("replaced are the pods of %v, want %v", got, tt.want)
			}
		})
	}
}

// pod returns a component's pod template as one line.
func pod(t *testing.T, rendered map[string]string, component string) string {
	t.Helper()
	o := objects(t, rendered[component+".yaml"])["Deployment/hosted-bridge-"+component]
	spec, _ := o.Object["spec"].(map[string]any)
	template, err := (&jsonLine{spec["template"]}).text()
	if err != nil || template == "null" {
		t.Fatalf("%s has no pod template: %v", component, err)
	}
	return template
}

func TestTheTiersAreThoseOfKustomize(t *testing.T) {
	shipped, err := os.ReadFile(root + "/config/default/tiers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := objects(t, render(t, "")["config.yaml"])["ConfigMap/hosted-bridge-tiers"].Object["data"].(map[string]any)
	got, err := canonical(data["tiers.yaml"].(string))
	if err != nil {
		t.Fatal(err)
	}
	want, err := canonical(string(shipped))
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the chart has %s, config/default %s", got, want)
	}
}

func TestDefinitionsStayUnlessTheyAreNotWanted(t *testing.T) {
	const keep = "helm.sh/resource-policy"
	kept := objects(t, render(t, "")["crds.yaml"])
	if len(kept) != 9 {
		t.Fatalf("there are %d definitions", len(kept))
	}
	for name, o := range kept {
		if o.GetAnnotations()[keep] != "keep" {
			t.Errorf("%s goes on uninstall", name)
		}
	}
	for name, o := range objects(t, render(t, "crds: {keep: false}")["crds.yaml"]) {
		if _, has := o.GetAnnotations()[keep]; has {
			t.Errorf("%s stays on uninstall", name)
		}
	}
	if text, has := render(t, "crds: {install: false}")["crds.yaml"]; has {
		t.Errorf("definitions are rendered: %.80s", text)
	}
}

func TestTheAuthorityKeepsItsConfigMap(t *testing.T) {
	o, found := objects(t, render(t, "")["keybroker.yaml"])["ConfigMap/hosted-bridge-ca"]
	if !found {
		t.Fatal("there is no ConfigMap hosted-bridge-ca")
	}
	if data, has := o.Object["data"]; has {
		t.Errorf("the chart writes its data, which is the keybroker's: %v", data)
	}
}

// TestNamesOfNamespacesStayText has names that YAML takes for something else.
func TestNamesOfNamespacesStayText(t *testing.T) {
	values := `
watchNamespaces: ["123", "on"]
catalog: {namespace: "1e3"}
isolation: {tenantNamespaces: [{name: "123"}], networkPolicy: {monitoringNamespaces: ["007"]}}
`
	seen := map[string]bool{}
	var look func(any)
	look = func(part any) {
		switch part := part.(type) {
		case map[string]any:
			for name, value := range part {
				_, isText := value.(string)
				if _, isSchema := value.(map[string]any); name == "namespace" && !isText && !isSchema {
					t.Errorf("a namespace is %#v", value)
				}
				look(value)
			}
		case []any:
			for _, value := range part {
				look(value)
			}
		case string:
			seen[part] = true
		}
	}
	for name, text := range render(t, values) {
		if name == "NOTES.txt" {
			continue
		}
		documents, err := Documents(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, d := range documents {
			metadata, _ := d["metadata"].(map[string]any)
			if _, isText := metadata["name"].(string); !isText {
				t.Errorf("%s: a name is %#v", name, metadata["name"])
			}
			look(d)
		}
	}
	for _, name := range []string{"123", "on", "1e3", "007"} {
		if !seen[name] {
			t.Errorf("the namespace %s is nowhere as text", name)
		}
	}
}

func TestTheNotesSayWhatIsNotShared(t *testing.T) {
	const counts, index = "each of the 2 replicas allows its part of a tier", `"scope": "replica"`
	for values, want := range map[string][2]bool{
		"": {false, false},
		"{store: {enabled: false}, audit: {index: {type: sqlite}}}":                                                   {true, true},
		"{store: {enabled: false}, ingress: {replicas: 1}, audit: {index: {type: sqlite}}}":                           {false, true},
		"{store: {enabled: false}, quota: {redis: {url: \"redis://valkey:6379/0\"}}, audit: {index: {type: sqlite}}}": {false, true},
		"audit: {index: {type: sqlite}}": {false, true},
		"{store: {enabled: false}, audit: {index: {type: postgres, postgres: {existingSecret: audit-url}}}}": {true, false},
		"{quota: {redis: {url: \"redis://valkey:6379/0\"}}, audit: {index: {type: none}}}":                   {false, false},
	} {
		notes := render(t, values)["NOTES.txt"]
		if got := [2]bool{strings.Contains(notes, counts), strings.Contains(notes, index)}; got != want {
			t.Errorf("with %q the notes tell of counts and of an index: %v, want %v\n%s", values, got, want, notes)
		}
		if listed := strings.Contains(notes, "keeps in its own pod"); listed != (want[0] || want[1]) {
			t.Errorf("with %q the notes have a list: %v", values, listed)
		}
	}
}

// TestTheShimIsThatOfTheBridgesVersion has a pod copy the shim where its runtime image could have
// that of another version.
func TestTheShimIsThatOfTheBridgesVersion(t *testing.T) {
	for _, tt := range []struct{ name, values, want string }{
		{"all images have one tag", "image: {repository: example.com/hb, tag: 1.2.3}", "example.com/hb/runtime-node:1.2.3"},
		{"both runtimes have the tag", "image: {tag: 1.2.3}\nbridge: {runtimes: {python: auto}}", "hosted-bridge/runtime-node:1.2.3,hosted-bridge/runtime-python:1.2.3"},
		{"the bridge's image has another tag", "image: {tag: 1.2.3}\nbridge: {image: 'example.com/bridge:1.2.4'}", ""},
		{"the runtime is somebody else's", "bridge: {runtimes: {node: 'example.com/node:24'}}", ""},
		{"there is no runtime", "bridge: {runtimes: {node: ''}}", ""},
		{"the administrator names images", "bridge: {image: a@b, runtimes: {node: c@d, shimImages: [c@d, e]}}", "c@d,e"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := render(t, tt.values)
			if want := `SHIM_IMAGES: "` + tt.want + "\"\n"; !strings.Contains(files["config.yaml"]+"\n", want) {
				t.Errorf("the ConfigMap has no %s:\n%s", want, files["config.yaml"])
			}
			if !strings.Contains(files["operator.yaml"], "- --shim-images=$(SHIM_IMAGES)\n") {
				t.Error("the operator does not read it")
			}
		})
	}
}
