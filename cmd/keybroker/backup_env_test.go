// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/gobuild"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

const backupAccount = "hosted-bridge-backup"

// TestAScheduledBackupWithTheRightsOfTheChart runs the command as the CronJob does, with its
// account and into a folder.
func TestAScheduledBackupWithTheRightsOfTheChart(t *testing.T) {
	a := administer(t)
	alice := a.bridgeWith("alice", map[string]string{"A": adminCanary})
	a.sharedWith("payments", "PAY_TOKEN", adminCanary)
	newPeople(newDrill(t, a), alice)
	testenv.ExpectInstalled(t, a.client, "../../test/testdata/backup/rbac-backup.yaml", shipped().Namespace)
	identity := must.Value(age.GenerateX25519Identity())(t)
	folder := t.TempDir()
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shipped().Namespace}}
	testenv.ExpectExists(t, a.client, system)
	id := string(system.UID)
	old, newest := filepath.Join(folder, "hosted-bridge-"+id+"-20200101T000000.000Z.tar.gz.age"), filepath.Join(folder, "hosted-bridge-"+id+"-20200102T000000.000Z.tar.gz.age")
	theirs := filepath.Join(folder, "hosted-bridge-5f1d3b1c-8f0a-4b57-a7a0-1b2c3d4e5f60-20200101T000000.000Z.tar.gz.age")
	for _, path := range []string{old, newest, theirs} {
		must.Succeed(t, os.WriteFile(path, nil, 0o600))
	}
	asAccount := *a
	asAccount.kubeconfig = testenv.KubeconfigOf(t, shipped().Namespace, backupAccount)
	out, _ := asAccount.runPlain(0, "backup", "--recipient="+identity.Recipient().String(), "--target="+folder, "--output=json")
	var report struct {
		Name     string
		Bytes    int
		Contents struct {
			Bridges, SharedServers, Envelopes, Salts int
			Ring                                     bool
		}
		Removed []string
	}
	must.Succeed(t, json.Unmarshal([]byte(out), &report))
	if c := report.Contents; c.Bridges != 1 || c.SharedServers != 1 || c.Envelopes != 2 || c.Salts != 2 || !c.Ring || len(report.Removed) != 1 || !strings.HasPrefix(report.Name, "hosted-bridge-"+id+"-") {
		t.Errorf("the report is %+v", report)
	}
	content := must.Value(os.ReadFile(filepath.Join(folder, report.Name)))(t)
	if len(content) != report.Bytes || strings.Contains(string(content), "alice") {
		t.Errorf("the file has %d bytes, or is not encrypted", len(content))
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("an old backup is left: %v", err)
	}
	for _, path := range []string{newest, theirs} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it is deleted: %v", err)
		}
	}
	out, _ = asAccount.runPlain(0, "backup", "--recipient="+identity.Recipient().String(), "--target="+folder, "--ring-secret=")
	a.expect(out, "without the ring", "sha256:", "read back")
	_, errs := asAccount.runPlain(1, "backup", "--recipient="+identity.Recipient().String(), "--target="+folder, "--ring-secret=absent")
	a.expect(errs, "read the ring", "forbidden")
	_, errs = asAccount.runPlain(1, "backup", "--recipient="+identity.Recipient().String(), "--target="+filepath.Join(folder, "absent"))
	a.expect(errs, "open the folder of backups")
}

func TestABackupWithoutHostedBridgesDeletesNothing(t *testing.T) {
	a := administer(t)
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shipped().Namespace}}
	testenv.ExpectExists(t, a.client, system)
	identity, folder := must.Value(age.GenerateX25519Identity())(t), t.TempDir()
	for _, day := range []string{"1", "2", "3"} {
		must.Succeed(t, os.WriteFile(filepath.Join(folder, "hosted-bridge-"+string(system.UID)+"-2020010"+day+"T000000.000Z.tar.gz.age"), nil, 0o600))
	}
	testenv.ExpectInstalled(t, a.client, "../../test/testdata/backup/rbac-backup.yaml", shipped().Namespace)
	a.kubeconfig = testenv.KubeconfigOf(t, shipped().Namespace, backupAccount)
	out, _ := a.runPlain(0, "backup", "--recipient="+identity.Recipient().String(), "--target="+folder)
	a.expect(out, "0 HostedBridges", "old backups are kept")
	if left := must.Value(os.ReadDir(folder))(t); len(left) != 4 {
		t.Errorf("these are left: %v", left)
	}
}

func TestACatalogInAnotherNamespaceIsInTheBackup(t *testing.T) {
	a := administer(t)
	publisher := &v1alpha1.CatalogPublisher{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "elsewhere"}}
	a.keep(publisher)
	// Which rights the chart gives in that namespace is tested in hack/helm.
	a.kubeconfig = testenv.Kubeconfig(t)
	d := &drill{administered: a, folder: t.TempDir()}
	must.Succeed(t, gobuild.Age(t.Context(), "../..", d.folder))
	identity := must.Value(age.GenerateX25519Identity())(t)
	must.Succeed(t, os.WriteFile(filepath.Join(d.folder, "backup-key.txt"), []byte(identity.String()), 0o600))
	for _, c := range []struct {
		flags []string
		found bool
	}{{nil, false}, {[]string{"--catalog-namespace=" + a.namespace}, true}} {
		out, _ := a.runPlain(0, append([]string{"backup", "--recipient=" + identity.Recipient().String()}, c.flags...)...)
		must.Succeed(t, os.WriteFile(filepath.Join(d.folder, "backup.tar.gz.age"), []byte(out), 0o600))
		d.blocks = []string{"./age --decrypt --identity=backup-key.txt backup.tar.gz.age | tar --extract --gzip"}
		d.mustDo(0)
		people := string(must.Value(os.ReadFile(filepath.Join(d.folder, "people.json")))(t))
		patches := string(must.Value(os.ReadFile(filepath.Join(d.folder, "patches.txt")))(t))
		if strings.Contains(people, `"name":"elsewhere"`) != c.found || strings.Contains(patches, "--namespace="+a.namespace+" CatalogPublisher elsewhere ") != c.found {
			t.Errorf("with %q the backup has\n%s\n%s", c.flags, people, patches)
		}
	}
}

func TestTheAccountOfBackupsChangesNothing(t *testing.T) {
	c, system := testenv.Client(t), shipped().Namespace
	installKeybroker(t, c, system)
	testenv.ExpectInstalled(t, c, "../../test/testdata/backup/rbac-backup.yaml", system)
	for name, r := range map[string]struct {
		authorizationv1.ResourceAttributes
		allowed bool
	}{
		"lists envelopes":                 {authorizationv1.ResourceAttributes{Namespace: "default", Resource: "secrets", Verb: "list"}, true},
		"reads the ring":                  {authorizationv1.ResourceAttributes{Namespace: system, Resource: "secrets", Name: adminRing, Verb: "get"}, true},
		"reads its namespace":             {authorizationv1.ResourceAttributes{Namespace: system, Resource: "namespaces", Name: system, Verb: "get"}, true},
		"reads no other namespace":        {authorizationv1.ResourceAttributes{Namespace: "default", Resource: "namespaces", Name: "default", Verb: "get"}, false},
		"gets no other Secret":            {authorizationv1.ResourceAttributes{Namespace: system, Resource: "secrets", Name: "other", Verb: "get"}, false},
		"writes no Secret":                {authorizationv1.ResourceAttributes{Namespace: "default", Resource: "secrets", Verb: "create"}, false},
		"changes no HostedBridge":         {authorizationv1.ResourceAttributes{Namespace: "default", Group: "hostedbridge.dev", Resource: "hostedbridges", Verb: "patch"}, false},
		"lists no people of others":       {authorizationv1.ResourceAttributes{Namespace: "default", Group: "hostedbridge.dev", Resource: "bridgepersons", Verb: "list"}, false},
		"changes no CronJob, not its own": {authorizationv1.ResourceAttributes{Namespace: system, Group: "batch", Resource: "cronjobs", Name: backupAccount, Verb: "patch"}, false},
		"asks for no token":               {authorizationv1.ResourceAttributes{Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create"}, false},
	} {
		review := &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + system + ":" + backupAccount, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: &r.ResourceAttributes,
			},
		}
		must.Succeed(t, c.Create(t.Context(), review))
		if review.Status.Allowed != r.allowed {
			t.Errorf("%s: allowed %v", name, review.Status.Allowed)
		}
	}
}
