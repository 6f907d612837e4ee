// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// root is the repository's, from this folder.
	root = "../.."

	// installTimeout bounds a cluster's start and an installation in it; the
	// two together take about half a minute.
	installTimeout = 5 * time.Minute
)

// backup is what docs/operations/backup.md has one keep, as kubectl printed it.
type backup struct {
	// ring is the Secret with the master key; it is kept apart from the rest.
	ring []byte
	// bridges are the HostedBridges, and sealed the Secrets that hold
	// envelopes and salts.
	bridges, sealed []byte

	// listed is what was said of the secrets then, and token one of them.
	listed userSecrets
	token  string
}

// backedUp makes a tenant with secrets and takes the backup of them.
func backedUp(t *testing.T) (tenant, backup) {
	t.Helper()
	nora := newGuardedTenant(t, "nora", left)
	token := left.token(t)
	mustPut(t, nora, left.secret, token, http.StatusCreated)
	mustPut(t, nora, "credentials.json", `{"key":"value"}`, http.StatusCreated)
	awaitPresented(t, nora, left, token)
	kept := takeBackup(t, nora)
	kept.listed, kept.token = listSecrets(t, nora), token
	return nora, kept
}

// secretsOutliveTheirCluster restores the backup into a cluster that has
// nothing, as docs/operations/backup.md says.
func secretsOutliveTheirCluster(t *testing.T, nora tenant, kept backup) {
	restored := nora
	restored.at = elsewhere(t, nora, kept.ring)
	kubectlAt(t, restored.at, kept.bridges, "apply", "--server-side", "--filename=-")
	ready := []string{"wait", "--for=condition=Ready", "--timeout=90s", "hostedbridge/" + nora.name}
	kubectlAt(t, restored.at, nil, ready...)
	if s := listSecrets(t, restored).Secrets; len(s) != 0 {
		t.Fatalf("before the restoration there are %d secrets", len(s))
	}
	if _, err := whoami(t.Context(), newHTTPClient(false), restored, left); err == nil {
		t.Fatal("the tool answers before its secret is restored")
	}

	t.Log(kubectlAt(t, restored.at, kept.sealed, keybrokerCommand("restore")...))
	awaitPresented(t, restored, left, kept.token)
	if diff := cmp.Diff(kept.listed, listSecrets(t, restored)); diff != "" {
		t.Errorf("what is said of the secrets (-before +restored):\n%s", diff)
	}
	uid := strings.TrimSpace(kubectlAt(t, restored.at, nil, "get", "hb", nora.name, "--output=jsonpath={.metadata.uid}"))
	if uid == string(nora.uid) {
		t.Error("the restored HostedBridge has the UID of the first, so that nothing was shown")
	}
	kubectlAt(t, restored.at, nil, keybrokerCommand("verify")...)
}

// takeBackup takes the backup of one tenant, and of the ring.
func takeBackup(t *testing.T, n tenant) backup {
	t.Helper()
	// The other tenants of the run come and go; each has its own objects.
	return backup{
		ring:    withoutIdentity(t, mustOutput(t, "get", "secret", "hosted-bridge-master-key", "--namespace="+systemNamespace, "--output=json")),
		bridges: withoutIdentity(t, mustOutput(t, "get", "hostedbridge", n.name, "--output=json")),
		sealed:  mustOutput(t, "get", "hostedbridge/"+n.name, "secret/"+n.name+"-envelopes", "secret/"+n.name+"-salt", "--output=json"),
	}
}

// withoutIdentity takes off an object what only its cluster can give it.
func withoutIdentity(t *testing.T, object []byte) []byte {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(object, &content); err != nil {
		t.Fatalf("parse an object: %v", err)
	}
	delete(content, "status")
	metadata := content["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(metadata, field)
	}
	out, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kubectlAt runs kubectl on an installation, in the namespace of the run.
func kubectlAt(t *testing.T, at *installation, stdin []byte, args ...string) string {
	t.Helper()
	out, err := at.runKubectl(t.Context(), string(stdin), args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// elsewhere returns an installation that knows nothing of the tenant, with the
// ring and the guarded servers. Only a local cluster can have another one
// beside it; on any other the tenant is deleted.
func elsewhere(t *testing.T, n tenant, ring []byte) *installation {
	t.Helper()
	if os.Getenv("CLUSTER") != "local" {
		t.Log("the cluster is not local: restored into the same one, once all of the tenant is gone from it")
		mustKubectl(t, "delete", "hb", n.name)
		eventually(t, objectsGone, "the bridge and its objects are gone", func(ctx context.Context) error {
			return errors.Join(gone(ctx, n.name), remains(ctx, n.uid))
		})
		return installed
	}
	at := emptyCluster(t, ring)
	for _, object := range append([]client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installed.namespace}},
	}, installed.guardedObjects()...) {
		if err := at.client.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	return at
}

// emptyCluster starts another local cluster, gives it the ring, installs there
// as `make up` does, and ends it with the test.
func emptyCluster(t *testing.T, ring []byte) *installation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	port := freePort(t)
	folder := filepath.Dir(installed.kubeconfig)
	name := filepath.Base(folder) + "-restored"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		inRoot(ctx, t, nil, "bin/cluster", "down", "--name="+name)
	})
	inRoot(ctx, t, nil, "bin/cluster", "up", "--name="+name, "--port="+port, "--pause=bin/images/pause.tar")

	at := *installed
	at.url, at.kubeconfig = "http://127.0.0.1:"+port, filepath.Join(filepath.Dir(folder), name, "kubeconfig")
	if err := at.connect(); err != nil {
		t.Fatal(err)
	}
	kubectlAt(t, &at, nil, "create", "--filename="+filepath.Join(root, "config/default/namespace.yaml"))
	kubectlAt(t, &at, ring, "create", "--namespace="+systemNamespace, "--filename=-")
	inRoot(ctx, t, []string{"CLUSTER=local", "NAME=" + name, "PORT=" + port}, "hack/up/up.sh")
	return &at
}

// inRoot runs a program in the repository's root. Its standard output may show
// the keys that it makes, and goes nowhere.
func inRoot(ctx context.Context, t *testing.T, environment []string, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "./"+program, args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env = root, append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, said.String())
	}
	t.Logf("%s %s took %s", program, strings.Join(args, " "), time.Since(start).Round(time.Second))
}

// freePort returns a port that nobody listens on at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
