// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// Kubeconfig writes how to reach the API server that Main started, for a
// process that runs as its own main does, and returns the file.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	return writeKubeconfig(t, Config(), &clientcmdapi.AuthInfo{})
}

// KubeconfigOf is a Kubeconfig with the rights of a ServiceAccount alone.
func KubeconfigOf(t testing.TB, namespace, account string) string {
	t.Helper()
	return writeKubeconfig(t, Config(), &clientcmdapi.AuthInfo{
		Impersonate:       "system:serviceaccount:" + namespace + ":" + account,
		ImpersonateGroups: []string{"system:serviceaccounts", "system:authenticated"},
	})
}

func writeKubeconfig(t testing.TB, admin *rest.Config, as *clientcmdapi.AuthInfo) string {
	t.Helper()
	as.ClientCertificateData, as.ClientKeyData = admin.CertData, admin.KeyData
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	c.AuthInfos["test"] = as
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	c.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, clientcmd.WriteToFile(*c, path))
	return path
}
