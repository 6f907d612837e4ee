// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// ControlPlane is an API server with the project's CRDs that belongs to one
// test, which may end it and lose what it had.
type ControlPlane struct {
	t           testing.TB
	environment *envtest.Environment
	config      *rest.Config
}

// StartControlPlane starts one, which ends with the test.
func StartControlPlane(t testing.TB) *ControlPlane {
	t.Helper()
	e, err := newEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	// Folders of ours survive a stop, and the API server with them: its address,
	// its certificate and its data.
	e.ControlPlane.APIServer = &envtest.APIServer{CertDir: t.TempDir()}
	e.ControlPlane.Etcd = &envtest.Etcd{DataDir: t.TempDir()}
	// An API server that may end as it likes waits for its watches. It is killed.
	e.ControlPlaneStopTimeout = time.Millisecond
	p := &ControlPlane{t: t, environment: e}
	t.Cleanup(func() {
		p.kill(e.ControlPlane.APIServer, p.apiAddress())
		p.kill(e.ControlPlane.Etcd, p.etcdAddress())
	})
	if p.config, err = e.Start(); err != nil {
		t.Fatal(err)
	}
	p.config.QPS, p.config.Burst = -1, -1
	return p
}

// Config returns how to reach the API server.
func (p *ControlPlane) Config() *rest.Config { return rest.CopyConfig(p.config) }

// ConfigOf is Config with the rights of a ServiceAccount alone.
func (p *ControlPlane) ConfigOf(namespace, account string) *rest.Config {
	c := p.Config()
	c.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + account,
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	return c
}

// Data returns the folder with all of etcd's data.
func (p *ControlPlane) Data() string { return p.environment.ControlPlane.Etcd.DataDir }

// Client returns a client without a cache.
func (p *ControlPlane) Client() client.Client {
	p.t.Helper()
	return must.Value(client.New(p.Config(), client.Options{Scheme: Scheme()}))(p.t)
}

// Kubeconfig is the function of that name for this API server.
func (p *ControlPlane) Kubeconfig() string {
	p.t.Helper()
	return writeKubeconfig(p.t, p.config, &clientcmdapi.AuthInfo{})
}

// Stop kills the API server. Its data stays.
func (p *ControlPlane) Stop() {
	p.t.Helper()
	p.kill(p.environment.ControlPlane.APIServer, p.apiAddress())
}

func (p *ControlPlane) apiAddress() string {
	return p.environment.ControlPlane.APIServer.SecureServing.HostPort()
}

func (p *ControlPlane) etcdAddress() string {
	if u := p.environment.ControlPlane.Etcd.URL; u != nil {
		return u.Host
	}
	return ""
}

// kill ends a program and returns when nothing listens at its address any more.
func (p *ControlPlane) kill(program interface{ Stop() error }, address string) {
	p.t.Helper()
	// That it had to be killed is what the error says.
	if err := program.Stop(); err != nil && !strings.Contains(err.Error(), "timeout waiting for process") {
		p.t.Fatal(err)
	}
	wait.Until(p.t, "the end of the program at "+address, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// Start starts the API server that was stopped, at its former address.
func (p *ControlPlane) Start() {
	p.t.Helper()
	must.Succeed(p.t, p.environment.ControlPlane.APIServer.Start())
}

// Lose removes all data of an API server that is stopped: objects, rights and
// CRDs.
func (p *ControlPlane) Lose() {
	p.t.Helper()
	etcd := p.environment.ControlPlane.Etcd
	p.kill(etcd, p.etcdAddress())
	must.Succeed(p.t, os.RemoveAll(filepath.Join(etcd.DataDir, "member")))
	must.Succeed(p.t, etcd.Start())
}

// InstallCRDs installs the project's CRDs again.
func (p *ControlPlane) InstallCRDs() {
	p.t.Helper()
	must.Value(envtest.InstallCRDs(p.config, p.environment.CRDInstallOptions))(p.t)
}
