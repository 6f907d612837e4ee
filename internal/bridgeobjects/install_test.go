// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

func TestAJobGivesNpmNoCredential(t *testing.T) {
	b := &v1alpha1.ProgramBundle{Spec: v1alpha1.ProgramBundleSpec{
		Install: v1alpha1.Install{Method: v1alpha1.InstallNPX, Package: "server", Version: "1.2.3"}, Architecture: "amd64",
	}}
	j := InstallJob(b, Installing{Image: "node:1", MaxBytes: 1 << 20, Env: []string{"npm_config_registry=https://r.example.com/$(X)"}, Authorities: "PEM"})
	pod := j.Spec.Template.Spec
	npm := pod.InitContainers[0]
	if *pod.AutomountServiceAccountToken || len(npm.VolumeMounts) != 1 || npm.VolumeMounts[0].Name != workVolume || npm.EnvFrom != nil {
		t.Errorf("npm has %v", npm.VolumeMounts)
	}
	env := map[string]string{}
	for _, v := range npm.Env {
		if v.ValueFrom != nil {
			t.Errorf("%s comes from %v", v.Name, v.ValueFrom)
		}
		env[v.Name] = v.Value
	}
	if env["PACKAGE"] != "server@1.2.3" || env["SCRIPTS"] != "--ignore-scripts" || env["npm_config_registry"] != "https://r.example.com/$$(X)" {
		t.Errorf("npm's variables are %v", env)
	}
	if packer := pod.Containers[0]; !packer.VolumeMounts[2].ReadOnly || packer.VolumeMounts[2].Name != workVolume || packer.Image == npm.Image {
		t.Error("the packer runs what was installed, or changes it")
	}
	b.Spec.InstallScripts = true
	if scripts := InstallJob(b, Installing{}).Spec.Template.Spec.InitContainers[0].Env[1]; scripts.Value != "--no-ignore-scripts" {
		t.Errorf("allowed scripts: %v", scripts)
	}
}

func TestAJobGivesUVNoCredentialAndBuildsNothing(t *testing.T) {
	b := &v1alpha1.ProgramBundle{Spec: v1alpha1.ProgramBundleSpec{
		Install: v1alpha1.Install{Method: v1alpha1.InstallUVX, Package: "notes", Version: "1.2"}, Architecture: "amd64",
	}}
	pod := InstallJob(b, Installing{Image: "node:1", PythonImage: "python:1", Env: []string{"UV_DEFAULT_INDEX=https://r.example.com"}}).Spec.Template.Spec
	uv := pod.InitContainers[0]
	env := map[string]string{}
	for _, v := range uv.Env {
		if v.ValueFrom != nil {
			t.Errorf("%s comes from %v", v.Name, v.ValueFrom)
		}
		env[v.Name] = v.Value
	}
	if uv.Image != "python:1" || uv.Command[0] != "python3" || env["PACKAGE"] != "notes==1.2" || env["BUILD"] != "--no-build" || env["UV_DEFAULT_INDEX"] != "https://r.example.com" {
		t.Errorf("image %s, variables %v", uv.Image, env)
	}
	if args := pod.Containers[0].Args; !slices.Contains(args, "--method=uvx") || !slices.Contains(args, "--runtime=python:1") {
		t.Errorf("the packer is told %v", args)
	}
	if strings.Contains(uv.Command[2], "$(") {
		t.Error("Kubernetes replaces something in the script")
	}
	b.Spec.InstallScripts = true
	if build := InstallJob(b, Installing{}).Spec.Template.Spec.InitContainers[0].Env[1]; build.Value != "--build" {
		t.Errorf("allowed builds: %v", build)
	}
}
