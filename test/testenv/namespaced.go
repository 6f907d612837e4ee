// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The namespaces of an installation that looks after two, and one that it does not
// look after.
const (
	System    = "hosted-bridge-system"
	Tenants   = "tenants"
	Trials    = "trials"
	Elsewhere = "elsewhere"
)

// InstallNamespaced makes these namespaces, grants one of the processes what the
// chart does in namespaced mode, and returns a kubeconfig with these rights and no
// others. root leads to the repository.
func (p *ControlPlane) InstallNamespaced(root, component string) string {
	p.t.Helper()
	c := p.Client()
	for _, name := range []string{System, Tenants, Trials, Elsewhere} {
		ExpectApplied(p.t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	ExpectInstalled(p.t, c, filepath.Join(root, "test", "testdata", "namespaced", "rbac-"+component+".yaml"), System)
	as := p.ConfigOf(System, "hosted-bridge-"+component).Impersonate
	return writeKubeconfig(p.t, p.config, &clientcmdapi.AuthInfo{Impersonate: as.UserName, ImpersonateGroups: as.Groups})
}
