// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package privileges_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/privileges"
)

// exceptions are the rights that a run of all end-to-end tests need not use, or
// not more than once.
var exceptions = []privileges.Exception{
	{Account: "hosted-bridge-operator", Kind: privileges.Unused, What: eventAgain, Why: whyAgain},
	{Account: "hosted-bridge-operator", Kind: privileges.WideNames, What: eventAgain, Why: whyAgain},
	{Account: "hosted-bridge-keybroker", Kind: privileges.Unused, What: eventAgain, Why: whyAgain},
	{Account: "hosted-bridge-keybroker", Kind: privileges.WideNames, What: eventAgain, Why: whyAgain},
	{Account: "hosted-bridge-ingress", Kind: privileges.Unused, What: "delete programbundles.hostedbridge.dev", Why: "only a store that lost its volume " +
		"has lost a bundle; TestLostBundlesAreMadeAgainAndOthersKept has one"},
	{Account: "hosted-bridge-operator", Kind: privileges.Unused, What: "delete programbundles.hostedbridge.dev", Why: "a bundle is deleted when nobody has used it " +
		"for 30 days; TestABundleThatNobodyUsesIsDeletedAfterATime moves the clock"},
	{Account: "hosted-bridge-operator", Kind: privileges.Unused, What: "delete bridgeprofiles.hostedbridge.dev onboarding", Why: "only an upgrade to values without onboarding deletes " +
		"the profile of first logins, and TestFirstLoginsFollowTheConfiguration uses the right in the operator's place"},
}

const (
	eventAgain = "patch events.events.k8s.io"
	whyAgain   = "only where a cache shows an object as it was before the process's own write is the same event written again; " +
		"nothing from outside makes a cache late, and TestAnEventThatHappensAgainIsCounted uses the right in the processes' place"
)

// TestEachProcessHasTheRightsThatItUses compares the cluster that HB_KUBECONFIG
// leads to with the audit log of its API server, after the end-to-end tests.
// HB_AUDIT_LOG names the file; those that it was before lie beside it.
func TestEachProcessHasTheRightsThatItUses(t *testing.T) {
	c := privileges.Comparison{
		Namespace: system,
		Accounts:  []string{"hosted-bridge-ingress", "hosted-bridge-keybroker", "hosted-bridge-operator"},
		Grants:    granting(t),
		Log:       logged(t),
	}
	if !c.Log.Created[system] {
		t.Fatalf("the audit log does not begin before the installation of %s, so that it shows nothing of what was never used", system)
	}
	c.Compare(exceptions...)
	for _, e := range exceptions {
		t.Logf("%s of %s may be %q: %s", e.What, e.Account, e.Kind, e.Why)
	}
	var table strings.Builder
	must.Succeed(t, c.WriteUses(&table))
	t.Logf("what was used:\n%s", table.String())
	if len(c.Findings) == 0 {
		return
	}
	table.Reset()
	must.Succeed(t, c.WriteFindings(&table))
	t.Errorf("rights and their use differ; docs/operations/rights.md says what to do about it:\n%s", table.String())
}

// granting returns the cluster's roles and bindings, and those of scheduled backups.
func granting(t *testing.T) (g privileges.Grants) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("HB_KUBECONFIG"))
	if err != nil {
		t.Fatalf("HB_KUBECONFIG: %v", err)
	}
	c := must.Value(client.New(config, client.Options{Scheme: scheme.Scheme}))(t)
	var (
		roles           rbacv1.RoleList
		clusterRoles    rbacv1.ClusterRoleList
		bindings        rbacv1.RoleBindingList
		clusterBindings rbacv1.ClusterRoleBindingList
	)
	for _, list := range []client.ObjectList{&roles, &clusterRoles, &bindings, &clusterBindings} {
		if err := c.List(t.Context(), list); err != nil {
			t.Fatalf("list %T: %v", list, err)
		}
	}
	g = privileges.Grants{
		Roles: roles.Items, ClusterRoles: clusterRoles.Items,
		RoleBindings: bindings.Items, ClusterRoleBindings: clusterBindings.Items,
	}
	// Scheduled backups have an account of their own, only while a test takes one.
	addInstalled(t, &g, "test/testdata/backup/rbac-backup.yaml")
	return g
}

// logged returns the whole of the audit log.
func logged(t *testing.T) (l privileges.Log) {
	t.Helper()
	file := cmp.Or(os.Getenv("HB_AUDIT_LOG"), "HB_AUDIT_LOG is not set")
	files, err := filepath.Glob(strings.TrimSuffix(file, ".log") + "*.log")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no audit log %s (%v)", file, err)
	}
	for _, name := range files {
		f := must.Value(os.Open(name))(t)
		if err := l.Read(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
	}
	return l
}
