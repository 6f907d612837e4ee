// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build testenv

package testenv_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/testenv"
)

func TestBadStorageIsRefusedWithTheFieldAndTheAcceptedForm(t *testing.T) {
	c := testenv.Client(t)
	namespace := testenv.Namespace(t, c)
	const storage = program + ".storage"
	for _, test := range []struct{ name, fields, message string }{
		{"a size and nothing else", "size: 100Mi", ""},
		{"a path of its own", "size: 1Gi, mountPath: /var/lib/drive, storageClassName: fast, retention: Delete", ""},
		{"no size", "mountPath: /data", storage + ".size"},
		{"a size of nothing", "size: 0Mi", "such as 100Mi or 1Gi"},
		{"a size without a unit", "size: '100'", "such as 100Mi or 1Gi"},
		{"a negative size", "size: -1Gi", "such as 100Mi or 1Gi"},
		{"a relative path", "size: 1Gi, mountPath: data", storage + ".mountPath"},
		{"a path that leaves its folder", "size: 1Gi, mountPath: /data/../etc", storage + ".mountPath"},
		{"the root", "size: 1Gi, mountPath: /", storage + ".mountPath"},
		{"a folder of the system", "size: 1Gi, mountPath: /usr/lib", storage + ".mountPath"},
		{"a folder of the bridge", "size: 1Gi, mountPath: /hosted-bridge", storage + ".mountPath"},
		{"the folder of the socket", "size: 1Gi, mountPath: /var/run/x", storage + ".mountPath"},
		{"another retention", "size: 1Gi, retention: Forever", storage + ".retention"},
		{"a claim's name", "size: 1Gi, claimName: memory.bob-bridge", "unknown field"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := create(t, c, namespace, stdio(memory+", storage: {"+test.fields+"}"))
			if test.message == "" && err != nil || test.message != "" && (err == nil || !strings.Contains(err.Error(), test.message)) {
				t.Errorf("error = %v, want %q", err, test.message)
			}
		})
	}
}

func TestStorageGrowsAndNeitherShrinksNorChangesItsClass(t *testing.T) {
	c := testenv.Client(t)
	b := valid(testenv.Namespace(t, c), "alice")
	b.Spec.Servers = []v1alpha1.Server{{Name: "memory", Transport: v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{
		Image: "memory:1", Command: []string{"/memory"}, Storage: &v1alpha1.StdioStorage{Size: "1Gi"},
	}}}}
	testenv.ExpectApplied(t, c, b)
	for message, change := range map[string]func(*v1alpha1.StdioStorage){
		"a volume never shrinks":         func(s *v1alpha1.StdioStorage) { s.Size = "1023Mi" },
		"storageClassName cannot change": func(s *v1alpha1.StdioStorage) { s.StorageClassName = new("fast") },
		"":                               func(s *v1alpha1.StdioStorage) { s.Size, s.Retention = "1025Mi", v1alpha1.StorageDelete },
	} {
		changed := b.DeepCopy()
		change(changed.Spec.Servers[0].Transport.Stdio.Storage)
		err := c.Patch(t.Context(), changed, client.MergeFrom(b), client.DryRunAll)
		if message == "" && err != nil || message != "" && (err == nil || !strings.Contains(err.Error(), message)) {
			t.Errorf("error = %v, want %q", err, message)
		}
	}
}
