// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const (
	claimOfBackups  = "backup: {recipients: [age1a, age1pq1b], existingClaim: backups}"
	bucketOfBackups = "backup: {recipients: [age1a], s3: {url: 'https://s3.example.com/a/b', region: eu-1, existingSecret: keys, caConfigMap: ca}}"
)

func TestWithoutATargetThereIsNoBackup(t *testing.T) {
	files := render(t, "")
	for _, file := range []string{"backup.yaml", "rbac-backup.yaml"} {
		if strings.TrimSpace(files[file]) != "" {
			t.Errorf("%s has %s", file, files[file])
		}
	}
	if strings.Contains(files["ingress.yaml"], "backup") || strings.Contains(files["rbac-ingress.yaml"], "cronjobs") {
		t.Error("the ingress knows of a backup")
	}
}

func TestABackupGoesToItsTarget(t *testing.T) {
	for values, want := range map[string]struct {
		args, env []string
		volume    string
	}{
		claimOfBackups: {[]string{"--recipient=age1a,age1pq1b", "--keep=720h", "--ring-secret=hosted-bridge-master-key", "--target=/var/lib/hosted-bridge-backup"}, []string{"POD_NAMESPACE"}, "backups"},
		bucketOfBackups: {
			[]string{"--recipient=age1a", "--target=https://s3.example.com/a/b", "--region=eu-1", "--ca-file=/etc/hosted-bridge/backup/ca.crt"},
			[]string{"POD_NAMESPACE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}, "authorities",
		},
		claimOfBackups + "\nwatchNamespaces: [tenants]\nmasterKey: {existingSecret: ring}": {[]string{"--watch-namespaces=tenants", "--ring-secret=ring"}, []string{"POD_NAMESPACE"}, "backups"},
		"backup: {recipients: [age1a], existingClaim: backups, masterKey: false}":          {[]string{"--ring-secret="}, []string{"POD_NAMESPACE"}, "backups"},
		claimOfBackups + "\ncatalog: {namespace: recipes}":                                 {[]string{"--catalog-namespace=recipes"}, []string{"POD_NAMESPACE"}, "backups"},
	} {
		files := render(t, values)
		var job batchv1.CronJob
		if err := yaml.UnmarshalStrict([]byte(files["backup.yaml"]), &job); err != nil {
			t.Fatalf("%s: %v\n%s", values, err, files["backup.yaml"])
		}
		pod := job.Spec.JobTemplate.Spec.Template.Spec
		var env []string
		for _, e := range pod.Containers[0].Env {
			env = append(env, e.Name)
		}
		for _, arg := range append([]string{"backup", "--namespace=$(POD_NAMESPACE)"}, want.args...) {
			if !slices.Contains(pod.Containers[0].Args, arg) {
				t.Errorf("%s: %s is not among %q", values, arg, pod.Containers[0].Args)
			}
		}
		if !slices.Equal(env, want.env) || len(pod.Volumes) != 1 || pod.Volumes[0].Name != want.volume || pod.Containers[0].VolumeMounts[0].Name != want.volume {
			t.Errorf("%s: it has the variables %q and the volumes %v", values, env, pod.Volumes)
		}
		if pod.ServiceAccountName != "hosted-bridge-backup" || pod.Containers[0].Image != "hosted-bridge/keybroker:"+load(t).chart.Metadata.AppVersion {
			t.Errorf("%s: it runs %s as %s", values, pod.Containers[0].Image, pod.ServiceAccountName)
		}
		if !strings.Contains(files["ingress.yaml"], "- --backup-cronjob=hosted-bridge-backup\n") || !strings.Contains(files["rbac-ingress.yaml"], "resourceNames: [hosted-bridge-backup]") {
			t.Errorf("%s: the ingress does not know of it", values)
		}
	}
}

// TestABackupReadsAndWritesNothingElse is about each rule that its account gets.
func TestABackupReadsAndWritesNothingElse(t *testing.T) {
	const lists, gets = "verbs: [list]", "verbs: [get]"
	for values, want := range map[string]struct {
		lists, gets, roles int
	}{
		claimOfBackups: {5, 2, 2},
		"backup: {recipients: [age1a], existingClaim: backups, masterKey: false}": {5, 1, 2},
		claimOfBackups + "\nwatchNamespaces: [tenants]":                           {6, 2, 2},
		claimOfBackups + "\nwatchNamespaces: [tenants, " + elsewhere + "]":        {7, 2, 3},
		claimOfBackups + "\ncatalog: {namespace: recipes}":                        {5, 2, 3},
		claimOfBackups + "\nrbac: {create: false}":                                {0, 0, 0},
	} {
		rules := render(t, values)["rbac-backup.yaml"]
		if strings.Count(rules, lists) != want.lists || strings.Count(rules, gets) != want.gets || strings.Count(rules, "verbs:") != want.lists+want.gets || strings.Count(rules, "Role\n") != 2*want.roles {
			t.Errorf("%s: its rights are\n%s", values, rules)
		}
		if !strings.Contains(rules, "name: hosted-bridge-backup") || strings.Contains(rules, `"*"`) {
			t.Errorf("%s: its account is\n%s", values, rules)
		}
	}
}

// TestABackupMayListTheCatalogWhereItIs is about the CronJob's account and the keybroker's.
func TestABackupMayListTheCatalogWhereItIs(t *testing.T) {
	for _, file := range []string{"rbac-backup.yaml", "rbac-keybroker.yaml"} {
		component := strings.TrimSuffix(strings.TrimPrefix(file, "rbac-"), ".yaml")
		var found bool
		for document := range strings.SplitSeq(render(t, claimOfBackups+"\ncatalog: {namespace: recipes}")[file], "\n---\n") {
			var role rbacv1.Role
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				if !slices.Contains(rule.Resources, "catalogrecipes") {
					continue
				}
				found = true
				if role.Namespace != "recipes" || role.Name != "hosted-bridge-"+component+"-catalog-of-"+elsewhere ||
					!slices.Equal(rule.Resources, []string{"catalogpublishers", "catalogrecipes"}) || !slices.Equal(rule.Verbs, []string{"list"}) {
					t.Errorf("%s: the right is\n%s", component, document)
				}
			}
		}
		if !found {
			t.Errorf("%s may not list the catalog", component)
		}
	}
}

func TestABackupThatCannotBeTakenIsRefused(t *testing.T) {
	for values, says := range map[string]string{
		"backup: {existingClaim: backups}": "set backup.recipients",
		"backup: {recipients: [age1a]}":    "set backup.existingClaim or backup.s3.url",
		"backup: {recipients: [age1a], existingClaim: backups, s3: {url: 'https://s3.example.com/a', existingSecret: a}}": "leave one of them out",
		"backup: {recipients: [age1a], s3: {url: 'https://s3.example.com/a'}}":                                            "set backup.s3.existingSecret",
		"backup: {recipients: [age1a], existingClaim: backups, s3: {caConfigMap: ca}}":                                    "need backup.s3.url",
		"backup: {recipients: [age1a], s3: {url: 'http://s3.example.com/a', existingSecret: a}}":                          "/backup/s3/url",
		"backup: {recipients: [AGE-SECRET-KEY-1A], existingClaim: backups}":                                               "recipients",
	} {
		if _, err := renderAt(t, nil, values); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", values, err, says)
		}
	}
}
