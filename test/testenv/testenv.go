// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv gives tests a real API server with the project's CRDs, and
// the verbs that tests of controllers share. It is only imported by tests.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/repository"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// assetsVariable names the folder of kube-apiserver, etcd and kubectl. It is
// envtest's own variable.
const assetsVariable = "KUBEBUILDER_ASSETS"

// config is the API server of this test binary; Main sets it.
var config *rest.Config

// Main runs a package's tests with an API server of their own. Call it from
// TestMain and exit with its result.
func Main(m *testing.M) int {
	environment, err := start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		return 1
	}
	code := m.Run()
	if err := environment.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv: stop:", err)
		return 1
	}
	return code
}

// MainOfController is Main for the tests of a controller. It is silent of what
// the controller logs, and fails when a goroutine stays.
func MainOfController(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	code := Main(m)
	// The filter of client-go's watches stays behind when a watch is stopped
	// with an event on its way; nothing of ours can end it.
	stray := goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop")
	if err := goleak.Find(stray); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func start() (*envtest.Environment, error) {
	environment, err := newEnvironment()
	if err != nil {
		return nil, err
	}
	if config, err = environment.Start(); err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	// The tests themselves are the load; a client-side limit only slows them.
	config.QPS, config.Burst = -1, -1
	return environment, nil
}

func newEnvironment() (*envtest.Environment, error) {
	if os.Getenv(assetsVariable) == "" {
		return nil, errors.New(assetsVariable + " is not set: run these tests by `make test-env`, " +
			"or set it to a folder with kube-apiserver and etcd")
	}
	definitions, err := repository.Path("config", "crd", "bases")
	if err != nil {
		return nil, err
	}
	return &envtest.Environment{
		CRDDirectoryPaths:        []string{definitions},
		ErrorIfCRDPathMissing:    true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: wait.Limit},
		ControlPlaneStartTimeout: wait.Limit,
	}, nil
}

// Config returns how to reach the API server that Main started.
func Config() *rest.Config { return rest.CopyConfig(config) }

// Scheme returns a scheme with Kubernetes' types and the project's.
func Scheme() *apiruntime.Scheme {
	scheme := apiruntime.NewScheme()
	for _, add := range []func(*apiruntime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // Only a programming error makes two types collide.
		}
	}
	return scheme
}

// Client returns a client without a cache: it reads what it has just written.
func Client(t testing.TB) client.Client {
	t.Helper()
	c, err := client.New(Config(), client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
