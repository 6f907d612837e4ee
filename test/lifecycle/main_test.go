// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package lifecycle takes an installation on a real cluster through an upgrade,
// a rollback, an uninstall, another install and rights in one namespace alone, by
// helm and while users call. It runs by itself, after what else looks at the
// installation: it ends and replaces all of it. It is told where by the
// environment, as test/e2e is, and:
//
//	HELM             the helm to run
//	HB_CHART         the chart to upgrade to
//	HB_VALUES        files of its values, separated by commas
//	HB_OLD_CHART     the chart to upgrade from
//	HB_OLD_VALUES    files of its values
//
// Where there is no other chart to come from, HB_OLD_VALUES let the same one
// describe other pods: what rolls is the same.
package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

const (
	system  = "hosted-bridge-system"
	release = "hosted-bridge"
	// patience bounds one act of helm, and what is awaited after it.
	patience = 4 * time.Minute
)

// version is a chart with its values.
type version struct {
	chart  string
	values []string
}

// cluster is where the tests are.
type cluster struct {
	url, kubeconfig, helm string
	old, next             version
	config                *rest.Config
	client                client.Client
	run, namespace        string
	guarded               string // image.
}

func fromEnvironment() (*cluster, error) {
	c := &cluster{
		url: strings.TrimSuffix(os.Getenv("HB_URL"), "/"), kubeconfig: os.Getenv("HB_KUBECONFIG"), helm: cmp.Or(os.Getenv("HELM"), "helm"),
		next:    version{os.Getenv("HB_CHART"), split(os.Getenv("HB_VALUES"))},
		old:     version{os.Getenv("HB_OLD_CHART"), split(os.Getenv("HB_OLD_VALUES"))},
		run:     strings.ToLower(rand.Text()[:8]),
		guarded: cmp.Or(os.Getenv("HB_GUARDED_IMAGE"), "hosted-bridge/guarded-server:dev"),
	}
	c.namespace = "lifecycle-" + c.run
	for name, value := range map[string]string{"HB_URL": c.url, "HB_KUBECONFIG": c.kubeconfig, "HB_CHART": c.next.chart, "HB_OLD_CHART": c.old.chart} {
		if value == "" {
			return nil, errors.New(name + " is not set: run these tests by make test-upgrade")
		}
	}
	var err error
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c.client, err = client.New(c.config, client.Options{Scheme: scheme})
	return c, err
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// install brings the installation to the version, with values that are set
// besides, and returns when all of it has rolled.
func (c *cluster) install(t *testing.T, v version, set ...string) {
	t.Helper()
	args := []string{"upgrade", release, v.chart, "--install", "--take-ownership", "--force-conflicts", "--wait", "--timeout=3m"}
	for _, file := range v.values {
		args = append(args, "--values="+file)
	}
	for _, value := range set {
		args = append(args, "--set="+value)
	}
	c.mustHelm(t, args...)
}

func (c *cluster) mustHelm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.runHelm(t.Context(), args...)
	if err != nil {
		t.Fatalf("helm %s: %v: %s", args[0], err, out)
	}
	return out
}

func (c *cluster) runHelm(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.helm, append([]string{"--kubeconfig=" + c.kubeconfig, "--namespace=" + system}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
