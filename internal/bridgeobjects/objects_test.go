// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/bundling"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
)

var update = flag.Bool("update", false, "write what is built to testdata/*.out.yaml")

var settings = Settings{
	BridgeImage:  "hosted-bridge/bridge:test",
	KeybrokerURL: "https://hosted-bridge-keybroker.hosted-bridge-system.svc:8443",

	RuntimeImageNode:   "hosted-bridge/runtime-node:test",
	RuntimeImagePython: "hosted-bridge/runtime-python:test",
	Egress:             bridgeconfig.Egress{Allow: []string{"10.96.0.0/16"}, Deny: []string{"10.96.0.1/32"}},
}

// TestObjects builds the objects of each testdata/*.in.yaml and compares them
// with the *.out.yaml beside it; go test ./internal/bridgeobjects -update rewrites
// the latter for review.
func TestObjects(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			b, p := load(t, input)
			got := render(t, b, p)
			if again := render(t, b, p); !bytes.Equal(got, again) {
				t.Error("equal arguments give different objects")
			}
			expectGolden(t, strings.TrimSuffix(input, ".in.yaml")+".out.yaml", got)
		})
	}
}

// TestAServerWithoutAnImageHasNoContainer builds a bridge of an installation that
// has no image for npx: the bridge is told why the server is out of service.
func TestAServerWithoutAnImageHasNoContainer(t *testing.T) {
	b, p := load(t, "testdata/npx.in.yaml")
	s := settings
	s.RuntimeImageNode = ""
	expectGolden(t, "testdata/noimage.out.yaml", renderWith(t, b, p, s))
}

// TestAProgramIsStartedByTheShimOfItsImage builds a bridge whose only program is in an image
// that has the shim.
func TestAProgramIsStartedByTheShimOfItsImage(t *testing.T) {
	s := settings
	s.ShimImages = []string{s.RuntimeImageNode}
	b, p := load(t, "testdata/npx.in.yaml")
	expectGolden(t, "testdata/imageshim.out.yaml", renderWith(t, b, p, s))
}

// TestProgramsInTheInstallationsImagesGetItsVariables builds a bridge with programs
// of npx and of images of their own: those in images of the installation get its
// variables and authorities.
func TestProgramsInTheInstallationsImagesGetItsVariables(t *testing.T) {
	s := settings
	s.RuntimeEnv = []string{"HTTPS_PROXY=http://proxy.example.com:3128", "NO_PROXY=localhost,.example.com"}
	s.RuntimeAuthorities = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	b, p := load(t, "testdata/programs.in.yaml")
	expectGolden(t, "testdata/runtimeenv.out.yaml", renderWith(t, b, p, s))
}

// TestABundledProgramReadsItsFilesAndTheBridgeFetchesThem adds the settings with bundles to a
// package of npm that is installed.
func TestABundledProgramReadsItsFilesAndTheBridgeFetchesThem(t *testing.T) {
	s := settings
	s.BundlesURL = "https://store:8444"
	s.Bundles = bundling.Bundles{Settings: bundling.Settings{Architecture: "amd64"}}
	b, p := load(t, "testdata/npx.in.yaml")
	spec := s.Bundles.Missing(effective.Of(b))[0]
	s.Bundles.Known = map[string]*v1alpha1.ProgramBundle{bundling.NameOf(spec): {Spec: spec, Status: v1alpha1.ProgramBundleStatus{
		Digest: "sha256:" + strings.Repeat("ab", 32), Bytes: 12, Program: "server",
		Programs: []v1alpha1.BundledProgram{{Name: "server", Path: "node_modules/server/index.js"}},
	}}}
	expectGolden(t, "testdata/bundled.out.yaml", renderWith(t, b, p, s))
}

// TestABundledProgramMountsTheImageOfItsBundle adds a registry to the settings.
func TestABundledProgramMountsTheImageOfItsBundle(t *testing.T) {
	s := settings
	s.BundlesURL = "https://store:8444"
	s.Bundles = bundling.Bundles{Settings: bundling.Settings{Architecture: "amd64", Repository: "registry.example.com/bundles"}}
	b, p := load(t, "testdata/npx.in.yaml")
	spec := s.Bundles.Missing(effective.Of(b))[0]
	image := "registry.example.com/bundles@sha256:" + strings.Repeat("cd", 32)
	s.Bundles.Known = map[string]*v1alpha1.ProgramBundle{bundling.NameOf(spec): {Spec: spec, Status: v1alpha1.ProgramBundleStatus{
		Digest: "sha256:" + strings.Repeat("ab", 32), Reference: image, Bytes: 12, Program: "server",
		Programs: []v1alpha1.BundledProgram{{Name: "server", Path: "node_modules/server/index.js"}},
	}}}
	expectGolden(t, "testdata/bundleimage.out.yaml", renderWith(t, b, p, s))
}

// expectGolden compares what is built with the file, which -update writes anew.
func expectGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		must.Succeed(t, os.WriteFile(file, got, 0o600))
	}
	want := must.Value(os.ReadFile(file))(t)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func load(t *testing.T, path string) (*v1alpha1.HostedBridge, bridgestate.Plan) {
	t.Helper()
	data := must.Value(os.ReadFile(path))(t)
	var in struct {
		Action bridgestate.Action    `json:"action"`
		Trust  string                `json:"trust"`
		Reject string                `json:"reject"`
		Class  string                `json:"runtimeClass"` // what the bridge's tier has
		Bridge v1alpha1.HostedBridge `json:"bridge"`
	}
	must.Succeed(t, yaml.UnmarshalStrict(data, &in))
	in.Bridge.Status.UserID = in.Bridge.User() // No longer new: configurations show what is special.
	return &in.Bridge, bridgestate.Plan{Action: in.Action, Trust: in.Trust, RuntimeClass: ptr.Deref(in.Bridge.Spec.RuntimeClassName, in.Class), Rejected: bridgestate.Finding{Reason: in.Reject}}
}

func render(t *testing.T, b *v1alpha1.HostedBridge, p bridgestate.Plan) []byte {
	t.Helper()
	return renderWith(t, b, p, settings)
}

func renderWith(t *testing.T, b *v1alpha1.HostedBridge, p bridgestate.Plan, s Settings) []byte {
	t.Helper()
	objects := must.Value(Objects(effective.Of(b), p, s))(t)
	var out bytes.Buffer
	for _, object := range objects {
		data := must.Value(yaml.Marshal(object))(t)
		out.WriteString("---\n")
		out.Write(data)
	}
	return out.Bytes()
}

func TestObjectsRefusesWhatTheBridgeWouldRefuse(t *testing.T) {
	b, p := load(t, "testdata/minimal.in.yaml")
	b.Spec.Servers[0].Transport.URL = "https://me:hunter2@mcp.example.com"
	objects, err := Objects(effective.Of(b), p, settings)
	if err == nil || !strings.Contains(err.Error(), "build ConfigMap alice-bridge") {
		t.Errorf("%d objects, error = %v", len(objects), err)
	}
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error holds a credential: %v", err)
	}
}

func TestTracesGoWhereTheInstallationSays(t *testing.T) {
	b, p := load(t, "testdata/minimal.in.yaml")
	traced := settings
	traced.OTLPEndpoint = "http://collector:4318"
	for _, s := range []Settings{settings, traced} {
		var got string
		for _, e := range container(effective.Of(b), p, s).Env {
			if *e.Name == envTraces {
				got = *e.Value
			}
		}
		if got != s.OTLPEndpoint {
			t.Errorf("traces go to %q, want %q", got, s.OTLPEndpoint)
		}
	}
}

func TestPodsHaveThePriorityClassThatTheInstallationSays(t *testing.T) {
	b, p := load(t, "testdata/programs.in.yaml")
	for _, want := range []string{"", "hosted-bridge-bridges"} {
		s := settings
		s.PriorityClass = want
		spec := must.Value(podSpec(effective.Of(b), p, s))(t)
		var got string
		if spec.PriorityClassName != nil {
			got = *spec.PriorityClassName
		}
		if got != want {
			t.Errorf("the class is %q, want %q", got, want)
		}
	}
}
