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
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/repository"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// assetsVariable names the folder of kube-apiserver, etcd and kubectl. It is
// envtest's own variable.
const assetsVariable = "KUBEBUILDER_ASSETS"

// config is the API server of this test binary; Main sets it.
var config *rest.Config

// Main runs a package's tests with an API server that no other package uses meanwhile.
// Call it from TestMain and exit with its result.
func Main(m *testing.M) int {
	end, err := provide()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		return 1
	}
	code := m.Run()
	if err := end(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv: stop:", err)
		return 1
	}
	return code
}

// provide sets config to a shared API server, or to one that it starts. end releases or
// stops it.
func provide() (end func() error, err error) {
	if config, end, err = acquire(); config != nil || err != nil {
		return end, err
	}
	e, err := start()
	if err != nil {
		return nil, err
	}
	config = e.Config
	return e.Stop, nil
}

// MainOfController is Main for the tests of a controller. It is silent of what
// the controller logs, and fails when a goroutine stays.
func MainOfController(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	code := Main(m)
	if err := goleak.Find(
		// The filter of client-go's watches stays behind when a watch is stopped
		// with an event on its way; nothing of ours can end it.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"),
		// Clients keep their connections as long as the API server is there, and one
		// that is shared outlives the package.
		goleak.IgnoreAnyFunction("net/http/internal/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	); err != nil && code == 0 {
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
	c, err := environment.Start()
	if err != nil {
		return nil, fmt.Errorf("start the API server: %w", err)
	}
	// The tests themselves are the load; a client-side limit only slows them.
	c.QPS, c.Burst = -1, -1
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
	return must.Value(client.New(Config(), client.Options{Scheme: Scheme()}))(t)
}
