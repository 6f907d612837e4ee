// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// halves returns the configuration and the rest of what is built.
func halves(t *testing.T, b *v1alpha1.HostedBridge, s Settings) (configuration, deployment string) {
	t.Helper()
	objects, err := Objects(effective.Of(b), bridgestate.Plan{Action: bridgestate.Run, Trust: "certificate", RuntimeClass: ptr.Deref(b.Spec.RuntimeClassName, "")}, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		data := must.Value(yaml.Marshal(o))(t)
		switch o.(type) {
		case *corev1ac.ConfigMapApplyConfiguration:
			configuration = string(data)
		case *appsv1ac.DeploymentApplyConfiguration:
			deployment = string(data)
		}
	}
	return configuration, deployment
}

func TestWhatNeedsAnotherPodAndWhatDoesNot(t *testing.T) {
	drive := func(change func(*v1alpha1.Stdio)) func(*v1alpha1.HostedBridgeSpec) {
		return func(s *v1alpha1.HostedBridgeSpec) { change(s.Servers[2].Transport.Stdio) }
	}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.HostedBridgeSpec)
		// reloads and rolls say which half changes.
		reloads, rolls bool
	}{
		"nothing": {func(*v1alpha1.HostedBridgeSpec) {}, false, false},
		"another url": {
			func(s *v1alpha1.HostedBridgeSpec) { s.Servers[1].Transport.URL += "/2" }, true, false},
		"a server more over HTTP": {
			func(s *v1alpha1.HostedBridgeSpec) {
				s.Servers = append(s.Servers, v1alpha1.Server{Name: "new", Transport: v1alpha1.Transport{URL: "https://new"}})
			}, true, false},
		"a server over HTTP fewer": {
			func(s *v1alpha1.HostedBridgeSpec) { s.Servers = append(s.Servers[:1], s.Servers[2:]...) }, true, false},
		"the servers in another order": {
			func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0], s.Servers[1] = s.Servers[1], s.Servers[0] }, true, false},
		"the programs in another order": {
			func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0], s.Servers[3] = s.Servers[3], s.Servers[0] }, true, false},
		"the mode":   {func(s *v1alpha1.HostedBridgeSpec) { s.Mode = v1alpha1.ModeRouter }, true, false},
		"the prefix": {func(s *v1alpha1.HostedBridgeSpec) { s.ToolPrefix = v1alpha1.ToolPrefixNever }, true, false},
		"policies": {func(s *v1alpha1.HostedBridgeSpec) {
			s.Servers[0].Trust, s.Servers[0].CacheTTL = v1alpha1.TrustUntrusted, &metav1.Duration{Duration: time.Minute}
		}, true, false},
		"a secret granted": {func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0].Secrets = []v1alpha1.SecretName{"NEW"} }, true, false},
		"a command":        {drive(func(p *v1alpha1.Stdio) { p.Command = []string{"/bin/other"} }), true, false},
		"an argument":      {drive(func(p *v1alpha1.Stdio) { p.Args = nil }), true, false},
		"a variable":       {drive(func(p *v1alpha1.Stdio) { p.Env[0].Value = "info" }), true, false},
		"a file":           {drive(func(p *v1alpha1.Stdio) { p.Files[0].Content = "{}" }), true, false},
		"a version":        {func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0].Transport.Stdio.Install.Version = "2025.4.8" }, true, false},
		"an image":         {drive(func(p *v1alpha1.Stdio) { p.Image = "other" }), false, true},
		"resources": {drive(func(p *v1alpha1.Stdio) {
			p.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("300Mi")
		}), false, true},
		"the runtime class": {func(s *v1alpha1.HostedBridgeSpec) { s.RuntimeClassName = nil }, false, true},
		"another method": {func(s *v1alpha1.HostedBridgeSpec) {
			s.Servers[0].Transport.Stdio.Install = &v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "fetch", Version: "1.0.0"}
		}, true, true},
		"a program fewer": {func(s *v1alpha1.HostedBridgeSpec) { s.Servers = s.Servers[1:] }, true, true},
		"a program more": {func(s *v1alpha1.HostedBridgeSpec) {
			more := *s.Servers[0].DeepCopy()
			more.Name = "more"
			s.Servers = append(s.Servers, more)
		}, true, true},
		"a program of another name": {func(s *v1alpha1.HostedBridgeSpec) { s.Servers[0].Name = "other" }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := load(t, "testdata/programs.in.yaml")
			told, made := halves(t, b, settings)
			before := must.Value(Digest(effective.Of(b), settings))(t)
			tt.change(&b.Spec)
			toldThen, madeThen := halves(t, b, settings)
			after := must.Value(Digest(effective.Of(b), settings))(t)
			if reloads := told != toldThen; reloads != tt.reloads || (before != after) != tt.reloads {
				t.Errorf("another ConfigMap: %v, another digest: %v, want %v", reloads, before != after, tt.reloads)
			}
			if diff := cmp.Diff(made, madeThen); (diff != "") != tt.rolls {
				t.Errorf("another Deployment: %v, want %v\n%s", diff != "", tt.rolls, diff)
			}
		})
	}
}

func TestTheInstallationsAddressesReachThePodByItsConfiguration(t *testing.T) {
	b, _ := load(t, "testdata/minimal.in.yaml")
	told, made := halves(t, b, settings)
	other := settings
	other.Egress = bridgeconfig.Egress{}
	toldThen, madeThen := halves(t, b, other)
	if told == toldThen || made != madeThen {
		t.Errorf("another ConfigMap: %v, another Deployment: %v", told != toldThen, made != madeThen)
	}
}

func TestWhereUsersConnectReachesThePodByItsConfiguration(t *testing.T) {
	b, _ := load(t, "testdata/minimal.in.yaml")
	b.Spec.Servers = []v1alpha1.Server{{
		Name: "drive", Secrets: []v1alpha1.SecretName{"LOGIN"}, Transport: v1alpha1.Transport{URL: "https://h"},
		Auth: &v1alpha1.Auth{OAuth: &v1alpha1.OAuth{
			Grant: v1alpha1.OAuthAuthorizationCode, AuthorizationURL: "https://a", TokenURL: "https://t", ClientID: "me", TokenSecret: "LOGIN",
		}},
	}}
	told, made := halves(t, b, settings)
	other := settings
	other.LoginURL = "https://bridges.example.com"
	toldThen, madeThen := halves(t, b, other)
	if told == toldThen || made != madeThen {
		t.Errorf("another ConfigMap: %v, another Deployment: %v", told != toldThen, made != madeThen)
	}
}

func TestOnlyProgramsHaveContainers(t *testing.T) {
	b, _ := load(t, "testdata/programs.in.yaml")
	objects := must.Value(Objects(effective.Of(b), bridgestate.Plan{Action: bridgestate.Run}, settings))(t)
	var names, servers []string
	for _, c := range objects[2].(*appsv1ac.DeploymentApplyConfiguration).Spec.Template.Spec.Containers {
		names = append(names, *c.Name)
		if server, ok := StdioServer(*c.Name); ok {
			servers = append(servers, server)
		}
	}
	if diff := cmp.Diff([]string{"bridge", "stdio-drive", "stdio-fetch", "stdio-memory"}, names); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"drive", "fetch", "memory"}, servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}

func TestAPodIsToldByAnAnnotationAlone(t *testing.T) {
	b, _ := load(t, "testdata/minimal.in.yaml")
	got := must.Value(yaml.Marshal(Told(effective.Of(b), bridgestate.Pod{Name: "p", UID: "u"}, "0123")))(t)
	const want = `apiVersion: v1
kind: Pod
metadata:
  annotations:
    hostedbridge.dev/config-digest: "0123"
  name: p
  namespace: tenants
  uid: u
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
